#!/bin/sh
# What ../kernel.sh does, with cyclictest, stress-ng and plot.py: kernel.sh [SECONDS]
set -eu
seconds=${1:-20}
here=$(dirname "$0")
cpu=$(($(nproc) - 1))
for turn in 1 2 3; do
    for setting in idle awake; do
        option=
        [ $setting = awake ] || option=--default-system
        cyclictest -q -m -p 98 -a $cpu --mainaffinity 0 -i 1000 -D "$seconds" $option \
            -h 20000 --histfile $setting-none-$turn.txt
        stress-ng --quiet --cpu 1 --cpu-load 10 --hdd 1 --hdd-bytes 64m --sock 1 --get 1 \
            --malloc 1 --dir 1 --timeout "$((seconds + 1))" &
        cyclictest -q -m -p 98 -a $cpu --mainaffinity 0 -i 1000 -D "$seconds" $option \
            -h 20000 --histfile $setting-heavy-$turn.txt
        wait
    done
done
python3 "$here/plot.py" kernel.svg idle-none-*.txt idle-heavy-*.txt awake-none-*.txt \
    awake-heavy-*.txt
