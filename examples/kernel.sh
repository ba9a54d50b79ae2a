#!/bin/sh
# A kernel engineer: does this setting make late wake-ups rarer, idle and under load?
#
# The setting here is whether the CPU may enter deep idle states: put your own in its place (a sysctl
# before each run, or another kernel: then the runs of each, one boot after the other).  The turns
# alternate, so that a machine that changes meanwhile favours neither.
set -u
for turn in 1 2 3; do
    rtstone run dk.periodic --load none --load heavy --time 20 --name "idle-$turn" --keep-idle "$@"
    rtstone run dk.periodic --load none --load heavy --time 20 --name "awake-$turn" "$@"
done
rtstone compare idle-1,idle-2,idle-3 awake-1,awake-2,awake-3
rtstone show awake-3 --worst-case
rtstone report idle-1,idle-2,idle-3 awake-1,awake-2,awake-3 -o kernel.html
