# QEMU's board `virt` with a RISC-V processor of 32 bits.
set(RTS_BITS 32)
include(${CMAKE_CURRENT_LIST_DIR}/virt-riscv.cmake)
