"""A hundred kills."""
from daemon_test import main
from kill9 import MIXED, Kill9 as _Kill9


class Kill9(_Kill9):
    def test_hundred_kills(self):
        self.rounds(100, jobs=4, inputs=MIXED)


main()
