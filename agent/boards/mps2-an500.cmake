# QEMU's board `mps2-an500`, a Cortex-M7 with double-precision FPU.
set(RTS_BOARD_NAME mps2-an500)
set(RTS_IMAGE freertos-m7.elf)
include(${CMAKE_CURRENT_LIST_DIR}/mps2.cmake)
