# QEMU's board `virt` with a RISC-V processor: machine mode, CLINT, PLIC, no firmware
# (docs/guides/freertos.md).  RTS_BITS is 32 or 64.  Tasks have no FPU context, which the
# kernel's port does not save; the compiler gets no FPU.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_ASM_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(RTS_BITS EQUAL 64)
  set(ABI lp64)
else()
  set(ABI ilp32)
endif()
# By version 2.2 the CSRs are a part of I, as gcc's own libraries have it.
set(CMAKE_C_FLAGS_INIT
    "-march=rv${RTS_BITS}imac -misa-spec=2.2 -mabi=${ABI} -mcmodel=medany -fno-pic -fno-pie")
set(CMAKE_ASM_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

set(RTS_PORT freertos)
set(RTS_BOARD virt-riscv)
set(RTS_IMAGE freertos-rv${RTS_BITS}.elf)
set(RTS_DEFINITIONS RTS_WITHOUT_TEXTS) # the host takes them from its own agent
set(RTS_FREERTOS_PORT GCC/RISC-V)
# What is special about the chip: nothing, it has mtime.
set(RTS_KERNEL_INCLUDES chip_specific_extensions/RISCV_MTIME_CLINT_no_extensions)
# Debian's picolibc-riscv64-unknown-elf: a C library for bare metal.
set(RTS_LIBC /usr/lib/picolibc/riscv64-unknown-elf)
set(RTS_LIBC_VARIANT lib/release/rv${RTS_BITS}imac/${ABI})
set(RTS_LINK_OPTIONS -Wl,--defsym=board_memory=0x80000000
    -Wl,--defsym=board_memory_bytes=0x07000000)
