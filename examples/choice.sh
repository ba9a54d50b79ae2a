#!/bin/sh
# A team lead: Linux, Linux with PREEMPT_RT, or an RTOS?
#
# All three run on emulated boards (`rtstone lab list`), with the same benches.  They count
# instructions, so the numbers say what each system does, not how long a board would take.
set -eu
for system in linux-6.1 linux-6.1-rt freertos-a64; do
    rtstone run dk.periodic sync.test2 mq.latency --time 0.1 \
        --load none --load syscalls --load heavy/reduced \
        --target "qemu:$system" --name "$system" "$@"
done
rtstone compare linux-6.1 linux-6.1-rt freertos-a64 --all
rtstone report linux-6.1 linux-6.1-rt freertos-a64 -o choice.html
