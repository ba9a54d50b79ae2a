# QEMU's board `virt` with a Cortex-A53: AArch64, EL1, GICv2, PL011 (docs/guides/freertos.md).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-a53 -fno-pic -fno-pie")
set(CMAKE_ASM_FLAGS_INIT "-mcpu=cortex-a53 -fno-pic -fno-pie")

set(RTS_PORT freertos)
set(RTS_BOARD virt-a53)
if(NOT DEFINED RTS_IMAGE)
  set(RTS_IMAGE freertos-a64.elf)
endif()
set(RTS_FREERTOS_PORT GCC/ARM_AARCH64)
list(APPEND RTS_DEFINITIONS GUEST QEMU) # the kernel is called with SVC, which EL1 handles
# The kernel, and all other code that runs in interrupts, must not use FPU registers.
set(RTS_KERNEL_OPTIONS -mgeneral-regs-only)
# Debian's picolibc-aarch64-linux-gnu: a C library for bare metal.
set(RTS_LIBC /usr/lib/picolibc/aarch64-linux-gnu)
set(RTS_LIBC_VARIANT lib/release)
set(RTS_LINK_OPTIONS -Wl,--defsym=board_memory=0x40080000
    -Wl,--defsym=board_memory_bytes=0x06f80000)
set(RTS_ASM_PREFIX ${CMAKE_CURRENT_LIST_DIR}/virt-a53/abort.inc)
