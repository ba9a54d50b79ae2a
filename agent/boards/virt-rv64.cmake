# QEMU's board `virt` with a RISC-V processor of 64 bits.
set(RTS_BITS 64)
include(${CMAKE_CURRENT_LIST_DIR}/virt-riscv.cmake)
