# QEMU's board `mps2-an385`, a Cortex-M3 with CMSDK timers and UARTs (docs/freertos.md).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m3 -mthumb")
set(CMAKE_ASM_FLAGS_INIT "-mcpu=cortex-m3 -mthumb")

set(RTS_PORT freertos)
set(RTS_BOARD mps2-an385)
set(RTS_DEFINITIONS RTS_WITHOUT_TEXTS) # the host takes them from its own agent
if(NOT DEFINED RTS_IMAGE)
  set(RTS_IMAGE freertos-m3.elf)
endif()
if(RTS_IMAGE STREQUAL "freertos-m3.elf") # this file is read more than once
  list(APPEND RTS_DEFINITIONS RTS_WITHOUT_REALS)
  set(RTS_WITHOUT_BENCHES "hart|hw_latency") # have a separate image, -hart.cmake
endif()
set(RTS_FREERTOS_PORT GCC/ARM_CM3)
set(RTS_LIBC /usr/lib/picolibc/arm-none-eabi) # Debian's picolibc-arm-none-eabi
set(RTS_LIBC_VARIANT lib/release/thumb/v7-m/nofp)
if(NOT DEFINED RTS_OPTIMISATION)
  # 96 KiB of code: moving invariants out of loops takes registers, which are saved and restored.
  set(RTS_OPTIMISATION "-Os -fno-move-loop-invariants")
endif()
