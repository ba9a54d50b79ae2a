#!/bin/sh
# All publications, each beside this machine, three systems of the lab and the models made after it:
#
#     docs/reproduce-all.sh DIRECTORY [SECONDS]
#
# DIRECTORY gets a page of each, and the runs.  SECONDS limits every case that is measured; models
# take their suite's time, for theirs costs little.
set -u
pages=${1:?name a directory for the pages}
seconds=${2:-1}
rtstone=${RTSTONE:-rtstone}
status=0
mkdir -p "$pages" || exit 2

# reproduce SOURCE [MODEL]...
reproduce() {
    source=$1
    shift
    for model in "$@"; do
        run="$pages/runs/$source-$model"
        [ -d "$run" ] || "$rtstone" run "$source" --target "sim:$model" --out "$run" || status=$?
        shift
        set -- "$@" "$run"
    done
    "$rtstone" reproduce "$source" "$@" --target local --target qemu:linux-6.1 \
        --target qemu:linux-6.1-rt --target qemu:freertos-a64 --time "$seconds" \
        -o "$pages/$source.html" || status=$?
}

reproduce sjoblom ose-like
reproduce gutsalov linux-2.2.15 rtai-22.2.4 rtai-24.1.8
reproduce obenland lynxos-3.0.1 solaris-8-1cpu solaris-8-2cpu solaris-8-1rt
reproduce golatowski rmos3-pc1 rmos3-windows lynx-486 sorix
reproduce dankwardt
exit "$status"
