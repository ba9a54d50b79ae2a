# QEMU's board `mps2-an505`, a Cortex-M33 with single-precision FPU, in the secure state in which it starts.
set(RTS_BOARD_NAME mps2-an505)
set(RTS_IMAGE freertos-m33.elf)
include(${CMAKE_CURRENT_LIST_DIR}/mps2.cmake)
