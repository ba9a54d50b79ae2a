# The board `virt-a53` with time slicing, for round robin: the same but for the kernel's configuration
# (ports/freertos/FreeRTOSConfig.h), which also counts the CPU time of tasks.
set(RTS_IMAGE freertos-a64-rr.elf)
set(RTS_FREERTOS_TIME_SLICING ON)
include(${CMAKE_CURRENT_LIST_DIR}/virt-a53.cmake)
