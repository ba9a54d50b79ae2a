#!/bin/sh
# A tester: does this release stay as fast as the last one?  The exit status is the answer:
# 0 it does, 1 it does not, 3 the run is inconclusive.
#
# The budget is drafted once, from five runs of what is good; a CI job has the last two commands.
# A run ends with 3 if a load fell short in some case: the check says so, too.
set -eu
for turn in 1 2 3 4 5; do
    rtstone run dk.periodic --load none --load heavy --time 20 "$@" || [ $? = 3 ]
done
rtstone check last~4 last~3 last~2 last~1 last --write-budget budget.toml
rtstone run dk.periodic --load none --load heavy --time 20 "$@" || [ $? = 3 ]
rtstone check last --budget budget.toml --junit gate.xml --markdown gate.md
