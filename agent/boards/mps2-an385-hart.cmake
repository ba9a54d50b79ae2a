# The board `mps2-an385` with Hartstone, det.bintime, dk.latencytest, hw.latency, posix.metrics,
# sched.bg50 and sync.irqthread, which do not fit into the image of the other benches; the kernel, port, core and
# options are the same.
set(RTS_IMAGE freertos-m3-hart.elf)
set(RTS_BENCHES "hart|clk|det_bintime|dk_latencytest|hw_latency|posix_metrics|sched_bg50|sync_irqthread")
include(${CMAKE_CURRENT_LIST_DIR}/mps2-an385.cmake)
