# QEMU's board `mps2-an386`, a Cortex-M4 with single-precision FPU.
set(RTS_BOARD_NAME mps2-an386)
set(RTS_IMAGE freertos-m4f.elf)
include(${CMAKE_CURRENT_LIST_DIR}/mps2.cmake)
