# QEMU's board `vexpress-a9`: Cortex-A9 in Arm state with its own timers and interrupt controller,
# PL011 (docs/guides/freertos.md).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-a9 -mfpu=neon -mfloat-abi=hard -marm")
set(CMAKE_ASM_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

set(RTS_PORT freertos)
set(RTS_BOARD vexpress-a9)
set(RTS_IMAGE freertos-a9.elf)
set(RTS_DEFINITIONS RTS_WITHOUT_TEXTS) # the host takes them from its own agent
set(RTS_FREERTOS_PORT GCC/ARM_CA9)
# The kernel, and all other code that runs in interrupts, must not use FPU registers.
set(RTS_KERNEL_OPTIONS -mgeneral-regs-only)
# Debian's picolibc-arm-none-eabi: a C library for bare metal, here in Thumb state.
set(RTS_LIBC /usr/lib/picolibc/arm-none-eabi)
set(RTS_LIBC_VARIANT lib/release/thumb/v7-a+simd/hard)
set(RTS_LINK_OPTIONS -Wl,--defsym=board_memory=0x60000000
    -Wl,--defsym=board_memory_bytes=0x07000000)
