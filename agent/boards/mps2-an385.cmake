# QEMU's board `mps2-an385`, a Cortex-M3, with the memory of a small microcontroller.
set(RTS_BOARD_NAME mps2-an385)
set(RTS_BOARD_DEFINITIONS BOARD_SMALL)
if(NOT DEFINED RTS_IMAGE)
  set(RTS_IMAGE freertos-m3.elf)
endif()
if(RTS_IMAGE STREQUAL "freertos-m3.elf") # this file is read more than once
  list(APPEND RTS_BOARD_DEFINITIONS RTS_WITHOUT_REALS)
  # have a separate image, -hart.cmake
  set(RTS_WITHOUT_BENCHES "det_bintime|dk_latencytest|hart|hw_latency|posix_metrics|sched_bg50|sync_irqthread")
  set(RTS_WITHOUT_LOADS "provoke|provoke_actions")
endif()
if(NOT DEFINED RTS_OPTIMISATION)
  # 96 KiB of code: moving invariants out of loops takes registers, which are saved and restored.
  set(RTS_OPTIMISATION "-Os -fno-move-loop-invariants")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/mps2.cmake)
