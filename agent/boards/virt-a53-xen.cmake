# A domain under Xen on the board `virt-a53`: the same but for the addresses of the interrupt
# controller and the UART, the place of the script, the idle task and the end:
# docs/studies/beside.md.
set(RTS_IMAGE freertos-a64-xen.elf)
set(RTS_DEFINITIONS BOARD_XEN)
include(${CMAKE_CURRENT_LIST_DIR}/virt-a53.cmake)
