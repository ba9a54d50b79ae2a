# The board `mps2-an385` with Hartstone and hw.latency, which do not fit beside the others: the same
# kernel, port, core and options.
set(RTS_IMAGE freertos-m3-hart.elf)
set(RTS_BENCHES "hart|clk|det_bintime|hw_latency")
include(${CMAKE_CURRENT_LIST_DIR}/mps2-an385.cmake)
