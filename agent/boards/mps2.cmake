# QEMU's boards MPS2, Cortex-M processors with CMSDK timers and UARTs: what they differ in
# (docs/guides/freertos.md).  RTS_BOARD_NAME says which it is.  Code and RAM are what the image may
# take of them; the software interrupt, 31, is connected to no device of any.
#   board      | processor                                      | C library and arch. | kernel's port
#   | Hz of SysTick and timers | code, bytes | RAM, bytes | timers | UART | interrupt of timer 0 | script
set(MPS2_BOARDS
  "mps2-an385|-mcpu=cortex-m3|v7-m/nofp|armv7m|ARM_CM3\
|25000000|0|0x18000|0x20000000|0x10000|0x40000000|0x40004000|8|0x20300000"
  "mps2-an386|-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard|v7e-m+fp/hard|armv7em|ARM_CM4F\
|25000000|0|0x80000|0x20000000|0x40000|0x40000000|0x40004000|8|0x20300000"
  "mps2-an500|-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard|v7e-m+dp/hard|armv7em|ARM_CM7/r0p1\
|25000000|0|0x80000|0x20000000|0x40000|0x40000000|0x40004000|8|0x20300000"
  "mps2-an505|-mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard|v8-m.main+fp/hard|armv8m|ARM_CM33_NTZ/non_secure\
|20000000|0x10000000|0x80000|0x38000000|0x40000|0x50000000|0x50200000|3|0x80300000")

foreach(row IN LISTS MPS2_BOARDS)
  if(row MATCHES "^${RTS_BOARD_NAME}\\|")
    string(REPLACE "|" ";" FIELDS "${row}")
  endif()
endforeach()
list(POP_FRONT FIELDS NAME PROCESSOR LIBC ARCH KERNEL_PORT HZ CODE CODE_BYTES RAM RAM_BYTES TIMERS
     UART EVENT_IRQ SCRIPT)

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "${PROCESSOR} -mthumb")
set(CMAKE_ASM_FLAGS_INIT "${PROCESSOR} -mthumb")

set(RTS_PORT freertos)
set(RTS_BOARD mps2)
set(RTS_FREERTOS_PORT GCC/${KERNEL_PORT})
set(RTS_LIBC /usr/lib/picolibc/arm-none-eabi) # Debian's picolibc-arm-none-eabi
set(RTS_LIBC_VARIANT lib/release/thumb/${LIBC})
set(RTS_DEFINITIONS
    ${RTS_BOARD_DEFINITIONS}
    RTS_WITHOUT_TEXTS # the host takes them from its own agent
    BOARD_NAME="${NAME}"
    BOARD_ARCH="${ARCH}"
    BOARD_COUNTS=${HZ}
    BOARD_TIMERS=${TIMERS}u
    BOARD_UART=${UART}u
    BOARD_EVENT_IRQ=${EVENT_IRQ}
    BOARD_SCRIPT=${SCRIPT}u)
foreach(symbol code=${CODE} code_bytes=${CODE_BYTES} memory=${RAM} memory_bytes=${RAM_BYTES})
  list(APPEND RTS_LINK_OPTIONS -Wl,--defsym=board_${symbol})
endforeach()
