#!/bin/sh
# What ../container.sh does, without rtstone: container.sh [SECONDS]
#
# cyclictest 2.4 ends without the right to real-time priorities, with --policy=other too, and
# stress-ng --cyclic likewise; so the loop is written here.
seconds=${1:-20}
here=$(dirname "$0")
cyclictest -q --policy=other -i 1000 -D "$seconds"
python3 "$here/late.py" "$seconds"
stress-ng --quiet --cpu 1 --cpu-load 10 --get 1 --malloc 1 --timeout "$((seconds + 1))" &
python3 "$here/late.py" "$seconds"
wait
