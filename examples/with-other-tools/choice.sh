#!/bin/sh
# What can be had of ../choice.sh with the tests of rt-tests and stress-ng: choice.sh [SECONDS]
#
# They run on the Linux that is running.  For the column of PREEMPT_RT boot that kernel and run this
# again; for that of FreeRTOS write the tests.
set -eu
seconds=${1:-20}
cpu=$(($(nproc) - 1))
for load in none heavy; do
    if [ $load = heavy ]; then
        stress-ng --quiet --cpu 1 --cpu-load 10 --hdd 1 --hdd-bytes 64m --sock 1 --get 1 \
            --malloc 1 --dir 1 --timeout "$((3 * seconds + 2))" &
    fi
    echo "$(uname -r), load $load:"
    cyclictest -q -m -p 98 -a $cpu --mainaffinity 0 -i 1000 -D "$seconds" | grep '^T:'
    ptsematest -q -a $cpu -p 98 -D "$seconds"
    pmqtest -q -a $cpu -p 98 -D "$seconds"
done
wait
