"""Five kills; test_kill9_slow.py has a hundred."""
from daemon_test import main
from kill9 import QUICK, Kill9 as _Kill9


class Kill9(_Kill9):
    def test_five_kills(self):
        self.rounds(5, jobs=3, inputs=QUICK)


main()
