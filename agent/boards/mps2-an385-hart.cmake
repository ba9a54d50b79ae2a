# The board `mps2-an385` with Hartstone, det.bintime, dk.latencytest, hw.latency, posix.metrics,
# sched.bg50, sync.irqthread and the loads provoke and actions, which do not fit into the image of the
# other benches, and with dk.periodic, beside which these are; the kernel, port, core and options are
# the same.
set(RTS_IMAGE freertos-m3-hart.elf)
set(RTS_BENCHES "hart|clk|det_bintime|dk_latencytest|dk_periodic|hw_latency|posix_metrics|sched_bg50|sync_irqthread")
include(${CMAKE_CURRENT_LIST_DIR}/mps2-an385.cmake)
