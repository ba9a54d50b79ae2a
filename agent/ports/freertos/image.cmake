# FreeRTOS, the port and a board as one image.  The toolchain file (boards/BOARD.cmake) says which
# board it is and how it differs; the kernel's sources are external, in FREERTOS_KERNEL_PATH.
enable_language(ASM)

option(RTS_FREERTOS_TIME_SLICING "tasks of equal priority share the CPU by ticks" OFF)
option(RTS_FREERTOS_CHECKS "configASSERT and checks of stacks; for tests, not for measuring" OFF)
set(RTS_FREERTOS_HEAP heap_4 CACHE STRING "scheme of pvPortMalloc: heap_2 or heap_4")
if(NOT RTS_FREERTOS_HEAP MATCHES "^heap_[24]$") # heap_1 never frees; 3 and 5 have no single heap
  message(FATAL_ERROR "RTS_FREERTOS_HEAP may be heap_2 or heap_4, not '${RTS_FREERTOS_HEAP}'")
endif()

if(NOT FREERTOS_KERNEL_PATH)
  set(FREERTOS_KERNEL_PATH $ENV{FREERTOS_KERNEL_PATH})
endif()
if(NOT EXISTS ${FREERTOS_KERNEL_PATH}/tasks.c)
  message(FATAL_ERROR "no FreeRTOS kernel in '${FREERTOS_KERNEL_PATH}': make freertos fetches it, "
                      "or set FREERTOS_KERNEL_PATH to the folder that has its tasks.c")
endif()
set(PORTABLE_KERNEL ${FREERTOS_KERNEL_PATH}/portable)
set(BOARD ${CMAKE_CURRENT_SOURCE_DIR}/boards/${RTS_BOARD})
set(PORT ${CMAKE_CURRENT_SOURCE_DIR}/ports/freertos)
set(LINKER_SCRIPT ${BOARD}/link.ld)
if(NOT EXISTS ${LINKER_SCRIPT})
  set(LINKER_SCRIPT ${CMAKE_CURRENT_SOURCE_DIR}/boards/ram.ld)
endif()

add_compile_options(-ffreestanding -ffunction-sections -fdata-sections)
add_compile_options($<$<COMPILE_LANGUAGE:C>:-isystem> $<$<COMPILE_LANGUAGE:C>:${RTS_LIBC}/include>)
add_compile_definitions(${RTS_DEFINITIONS}
                        configUSE_TIME_SLICING=$<BOOL:${RTS_FREERTOS_TIME_SLICING}>
                        RTS_FREERTOS_CHECKS=$<BOOL:${RTS_FREERTOS_CHECKS}>
                        RTS_FREERTOS_HEAP="${RTS_FREERTOS_HEAP}"
                        RTS_FREERTOS_HEAP_STATISTICS=$<STREQUAL:${RTS_FREERTOS_HEAP},heap_4>)

# The unmodified kernel, without our warnings; its port of AArch64 calls memset() without the header,
# which GCC 14 refuses.
set(KERNEL_INCLUDES ${FREERTOS_KERNEL_PATH}/include ${PORTABLE_KERNEL}/${RTS_FREERTOS_PORT})
foreach(folder IN LISTS RTS_KERNEL_INCLUDES) # in the port's own
  list(APPEND KERNEL_INCLUDES ${PORTABLE_KERNEL}/${RTS_FREERTOS_PORT}/${folder})
endforeach()
file(GLOB KERNEL_PORT ${PORTABLE_KERNEL}/${RTS_FREERTOS_PORT}/*.c
     ${PORTABLE_KERNEL}/${RTS_FREERTOS_PORT}/*.S)
function(add_kernel kernel)
  add_library(
    ${kernel} STATIC
    ${FREERTOS_KERNEL_PATH}/tasks.c ${FREERTOS_KERNEL_PATH}/queue.c ${FREERTOS_KERNEL_PATH}/list.c
    ${FREERTOS_KERNEL_PATH}/stream_buffer.c ${FREERTOS_KERNEL_PATH}/event_groups.c
    ${FREERTOS_KERNEL_PATH}/timers.c ${PORTABLE_KERNEL}/MemMang/${RTS_FREERTOS_HEAP}.c
    ${KERNEL_PORT})
  target_compile_options(${kernel} PRIVATE -w $<$<COMPILE_LANGUAGE:C>:-includestring.h>
                         ${RTS_KERNEL_OPTIONS})
  if(RTS_ASM_PREFIX)
    target_compile_options(${kernel} PRIVATE $<$<COMPILE_LANGUAGE:ASM>:-include${RTS_ASM_PREFIX}>)
  endif()
  target_include_directories(${kernel} PRIVATE ${KERNEL_INCLUDES} ${PORT} ${BOARD})
endfunction()
add_kernel(kernel)

# Code that runs in interrupts is compiled like the kernel.
file(GLOB BOARD_SOURCES ${BOARD}/*.c ${BOARD}/*.S)
set(IN_INTERRUPTS ${BOARD_SOURCES} ${PORT}/interrupt.c)
set_source_files_properties(${IN_INTERRUPTS} PROPERTIES COMPILE_OPTIONS "${RTS_KERNEL_OPTIONS}")

set(OTHER_SOURCES ${BOARD_SOURCES})
add_agent(agent ${RTS_IMAGE} freertos)
target_include_directories(agent PUBLIC ${BOARD})
target_include_directories(agent SYSTEM PUBLIC ${KERNEL_INCLUDES})

function(link_image image kernel)
  target_link_libraries(${image} PRIVATE agent ${kernel} -lm -Wl,--start-group -lc -lgcc
                                         -Wl,--end-group)
  target_link_options(
    ${image} PRIVATE -nostdlib -nostartfiles -static -no-pie -L${RTS_LIBC}/${RTS_LIBC_VARIANT}
    -T${LINKER_SCRIPT} -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,noexecstack
    ${RTS_LINK_OPTIONS} -Wl,--no-warn-rwx-segments -Wl,-Map=${CMAKE_CURRENT_BINARY_DIR}/${image}.map)
  set_property(TARGET ${image} PROPERTY LINK_DEPENDS ${LINKER_SCRIPT})
endfunction()
link_image(${RTS_IMAGE} kernel)

# The contract of ports, and failing cases, as separate images, in which the kernel's count of ticks
# begins anew soon: else it does so after 49.7 days.
set(LATE configINITIAL_TICK_COUNT=0xffffff80u)
add_kernel(late_kernel)
set_target_properties(late_kernel PROPERTIES EXCLUDE_FROM_ALL ON)
target_compile_definitions(late_kernel PRIVATE ${LATE})
foreach(test port_test bad_cases)
  add_executable(${test}.elf EXCLUDE_FROM_ALL tests/freertos/${test}.c tests/freertos/console.c
                             ${PORT}/main.c)
  target_include_directories(${test}.elf PRIVATE tests)
  target_compile_definitions(${test}.elf PRIVATE FREERTOS_RUN=late_main CHECK_MAIN=test_main ${LATE})
  target_link_options(${test}.elf PRIVATE -Wl,--defsym=board_ram=0x60000
                                      -Wl,--defsym=board_flash=0x90000) # it may be larger
  link_image(${test}.elf late_kernel)
endforeach()
