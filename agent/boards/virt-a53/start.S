/*
 * From reset to main(): EL1, one processor.  Memory is mapped flat, so that it is normal memory, in
 * which unaligned accesses are allowed; the first GiB is devices.
 */
    .section .start, "ax"
    .global board_start
board_start:
    ldr     x0, =board_stack
    msr     spsel, #1
    mov     sp, x0
    mov     x0, #(3 << 20)          /* CPACR: no trap of FPU instructions */
    msr     cpacr_el1, x0
    ldr     x0, =board_vectors
    msr     vbar_el1, x0
    ldr     x0, =board_bss
    ldr     x1, =board_bss_end
1:  cmp     x0, x1
    b.hs    2f
    stp     xzr, xzr, [x0], #16
    b       1b
2:  ldr     x0, =board_tls - 16     /* after the two words that the ABI reserves */
    msr     tpidr_el0, x0

    ldr     x0, =0xff00             /* MAIR: 0 device nGnRnE, 1 normal write-back */
    msr     mair_el1, x0
    ldr     x0, =0x280803519        /* TCR: 39 bits, 4 KiB, write-back, inner shareable, no TTBR1 */
    msr     tcr_el1, x0
    ldr     x0, =board_map
    msr     ttbr0_el1, x0
    dsb     sy
    isb
    tlbi    vmalle1
    dsb     sy
    isb
    mrs     x0, sctlr_el1
    mov     x1, #0x1005             /* MMU, data cache, instruction cache */
    orr     x0, x0, x1
    bic     x0, x0, #2              /* no alignment check */
    msr     sctlr_el1, x0
    isb
    bl      main
3:  b       3b

    .section .rodata
    .balign 4096
board_map:
    .quad   0x00000000 | 0x401                     /* devices */
    .quad   0x40000000 | 0x401 | 0x300 | (1 << 2)  /* memory, inner shareable */
    .fill   510, 8, 0

    .section .vectors, "ax"
    .macro  vector target
    .balign 0x80
    b       \target
    .endm

    .balign 0x800
    .global board_vectors
    .global _freertos_vector_table
board_vectors:
_freertos_vector_table:
    vector  FreeRTOS_SWI_Handler    /* from tasks, on SP_EL0 */
    vector  FreeRTOS_IRQ_Handler
    vector  board_lost
    vector  board_lost
    vector  board_lost              /* from handlers, on SP_EL1 */
    vector  FreeRTOS_IRQ_Handler
    vector  board_lost
    vector  board_lost
    .rept   8
    vector  board_lost
    .endr

/* Exceptions that the kernel's handler finds not to be system calls, and all others. */
    .global board_abort
board_abort:
board_lost:
    ldr     x3, =board_stack
    mov     sp, x3
    mrs     x0, esr_el1
    mrs     x1, elr_el1
    mrs     x2, far_el1
    b       board_fault
