#!/usr/bin/env bash
# Searches the whole state space of the budget's protocol (budget.pml), and that of every fault in it: the protocol has to
# hold, and each fault has to be found.
set -euo pipefail
for tool in spin gcc; do
    command -v $tool >/dev/null && continue
    echo "skipped: $tool is not installed"
    exit $([ -n "${CUZK_NO_SKIP-}" ] && echo 1 || echo 77)
done
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search NAME [-DFAULT…]: errors found, and states
search() {
    local name=$1
    shift
    mkdir "$name"
    (
        cd "$name"
        spin "$@" -a "$here/budget.pml" >spin.log
        gcc -O1 -w -DSAFETY -o pan pan.c
        ./pan -m100000 >pan.log
        grep -q 'Search not completed\|max search depth too small' pan.log && ! grep -q 'errors: 1' pan.log &&
            { cat pan.log >&2; exit 1; }
        sed -n 's/.*errors: \([0-9]*\).*/\1/p; s/^ *\([0-9e.+]*\) states, stored.*/\1/p' pan.log | tr '\n' ' '
        sed -n 's/^pan:[0-9]*: \(.*\) (at depth.*/\1/p' pan.log
    )
}

failed=0
expect() { # errors NAME DEFINES…
    local wanted=$1 found errors
    shift
    found=$(search "$@")
    errors=${found%% *}
    if [ "$errors" = "$wanted" ]; then
        echo "ok: $1: $found"
    else
        echo "NOT OK: $1: expected $wanted errors, found: $found"
        failed=1
    fi
}

expect 0 protocol
expect 0 low-work-holds-on -DLOW_HOLDS
expect 1 lost-wakeup -DLOST_WAKEUP
expect 1 silent-unuse -DSILENT_UNUSE
expect 1 keep-key -DKEEP_KEY
expect 1 no-share -DNO_SHARE -DLOW_HOLDS
expect 1 no-own-worker -DNO_OWN_WORKER -DLOW_HOLDS
expect 1 self-wake -DSELF_WAKE
expect 1 any-change -DANY_CHANGE
exit $failed
