#!/bin/sh
# All publications, each beside this machine, three systems of the lab and the models made after it:
#
#     docs/reproduce-all.sh DIRECTORY [SECONDS]
#
# DIRECTORY gets a page of each, and the runs; one that is there already is not measured again, so
# what was interrupted goes on.  SECONDS limits every case that is measured; models take their
# suite's time, for theirs costs little.
set -u
pages=${1:?name a directory for the pages}
seconds=${2:-1}
rtstone=${RTSTONE:-rtstone}
status=0
mkdir -p "$pages/runs" || exit 2

# measured SOURCE TARGET OPTION...: its directory is the answer
measured() {
    source=$1 target=$2 suites=$1
    shift 2
    [ "$source" != golatowski ] || suites="golatowski hartstone"
    run="$pages/runs/$source-$target"
    # shellcheck disable=SC2086 # a word for each suite
    [ -d "$run" ] || "$rtstone" run $suites --target "$target" --out "$run" "$@" || status=$?
}

# reproduce SOURCE [MODEL]...
reproduce() {
    source=$1
    shift
    for model in "$@"; do
        measured "$source" "sim:$model"
        shift
        set -- "$@" "$run"
    done
    for target in local qemu:linux-6.1 qemu:linux-6.1-rt qemu:freertos-a64; do
        measured "$source" "$target" --time "$seconds"
        set -- "$@" "$run"
    done
    "$rtstone" reproduce "$source" "$@" -o "$pages/$source.html" || status=$?
}

reproduce sjoblom ose-like
reproduce gutsalov linux-2.2.15 rtai-22.2.4 rtai-24.1.8
reproduce obenland lynxos-3.0.1 solaris-8-1cpu solaris-8-2cpu solaris-8-1rt
reproduce golatowski rmos3-pc1 rmos3-windows lynx-486 sorix
reproduce dankwardt
exit "$status"
