#!/bin/sh
# What ../paper.sh does, with cyclictest and plot.py: paper.sh [SECONDS]
set -eu
seconds=${1:-20}
here=$(dirname "$0")
cpu=$(($(nproc) - 1))
cyclictest -q -v -m -p 98 -a $cpu --mainaffinity 0 -i 1000 -D "$seconds" >samples.txt
awk -F: 'NF == 3 { print $3 + 0 }' samples.txt | sort -n | uniq -c | awk '{ print $2, $1 }' >paper.txt
python3 "$here/plot.py" figure.pdf paper.txt
{
    uname -a
    lscpu
    cyclictest --help 2>&1 | head -1
    cat /proc/cmdline /proc/sys/kernel/sched_rt_runtime_us \
        /sys/devices/system/clocksource/clocksource0/current_clocksource
} >conditions.txt
