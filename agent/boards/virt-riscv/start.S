/* From reset to main(): machine mode, one processor, interrupts off until the scheduler starts. */
    .section .start, "ax"
    .global board_start
board_start:
    .option push
    .option norelax                 /* gp is what relaxing needs */
    la      gp, __global_pointer$
    .option pop
    la      sp, board_stack
    la      tp, board_tls
    la      t0, freertos_risc_v_trap_handler
    csrw    mtvec, t0
    la      t0, board_bss
    la      t1, board_bss_end
1:  bgeu    t0, t1, 2f
    sw      zero, 0(t0)
    addi    t0, t0, 4
    j       1b
2:  call    main
3:  j       3b
