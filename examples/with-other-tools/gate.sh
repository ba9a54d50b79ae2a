#!/bin/sh
# What ../gate.sh does, with cyclictest, stress-ng and gate.py: gate.sh [SECONDS]
set -eu
seconds=${1:-20}
here=$(dirname "$0")
cpu=$(($(nproc) - 1))
for turn in 1 2 3 4 5 now; do
    cyclictest -q -m -p 98 -a $cpu --mainaffinity 0 -i 1000 -D "$seconds" -h 20000 \
        --json none-$turn.json >none-$turn.txt
    stress-ng --quiet --cpu 1 --cpu-load 10 --hdd 1 --hdd-bytes 64m --sock 1 --get 1 \
        --malloc 1 --dir 1 --timeout "$((seconds + 1))" &
    cyclictest -q -m -p 98 -a $cpu --mainaffinity 0 -i 1000 -D "$seconds" -h 20000 \
        --json heavy-$turn.json >heavy-$turn.txt
    wait
done
python3 "$here/gate.py"
