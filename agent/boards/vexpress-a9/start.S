/*
 * From reset to main(): supervisor mode in secure state, one processor.  Memory is mapped flat, so
 * that it is normal memory, in which unaligned accesses are allowed; what is neither memory nor a
 * device in use is not mapped.
 */
    .syntax unified
    .arm
    .section .start, "ax"
    .global board_start
board_start:
    cps     #0x12                   /* IRQ: two words for each level of nesting */
    ldr     sp, =board_interrupts
    cps     #0x13                   /* supervisor: start-up, afterwards interrupts */
    ldr     sp, =board_stack
    ldr     r0, =board_vectors
    mcr     p15, 0, r0, c12, c0, 0  /* VBAR */
    mrc     p15, 0, r0, c1, c0, 2
    orr     r0, r0, #0xf00000       /* CPACR: no trap of FPU instructions */
    mcr     p15, 0, r0, c1, c0, 2
    isb
    mov     r0, #0x40000000         /* FPEXC: the FPU is on */
    vmsr    fpexc, r0
    ldr     r0, =board_bss
    ldr     r1, =board_bss_end
    mov     r2, #0
1:  cmp     r0, r1
    strlo   r2, [r0], #4
    blo     1b

    ldr     r0, =board_map
    mcr     p15, 0, r0, c2, c0, 0   /* TTBR0 */
    mcr     p15, 0, r2, c2, c0, 2   /* TTBCR: only that */
    mov     r0, #1
    mcr     p15, 0, r0, c3, c0, 0   /* DACR: domain 0, as the map says */
    dsb
    mcr     p15, 0, r2, c8, c7, 0   /* TLBIALL */
    dsb
    isb
    mrc     p15, 0, r0, c1, c0, 0
    ldr     r1, =0x1805             /* SCTLR: MMU, data cache, branch prediction, instruction cache */
    orr     r0, r0, r1
    bic     r0, r0, #2              /* no alignment check */
    mcr     p15, 0, r0, c1, c0, 0
    isb
    bl      main
2:  b       2b
    .ltorg

/* A section of 1 MiB each, for `count` of them from `from` on. */
    .macro  sections from, count, kind
    .set    section, \from
    .rept   \count
    .long   section + \kind
    .set    section, section + 0x100000
    .endr
    .endm

    .set    DEVICE, 0xc16           /* shareable device, no code */
    .set    MEMORY, 0x1c0e          /* normal, write-back, write-allocate */

    .section .rodata
    .balign 0x4000
board_map:
    .fill   0x100, 4, 0
    sections 0x10000000, 1, DEVICE  /* UART */
    .fill   0xdf, 4, 0
    sections 0x1e000000, 1, DEVICE  /* the processor's own */
    .fill   0x41f, 4, 0
    sections 0x60000000, 0x80, MEMORY
    .fill   0x980, 4, 0

    .section .vectors, "ax"
    .balign 32
    .global board_vectors
    .global _freertos_vector_table
board_vectors:
_freertos_vector_table:
    b       board_start
    b       undefined
    ldr     pc, =FreeRTOS_SWI_Handler
    b       prefetch
    b       data
    b       lost                    /* reserved */
    ldr     pc, =FreeRTOS_IRQ_Handler
    b       lost                    /* FIQ */
    .ltorg

/* Exceptions that are the end: what, its status, where, the address that was accessed. */
undefined:
    adr     r0, undefined_text
    mov     r1, #0
    mrs     r3, spsr
    tst     r3, #0x20               /* from Thumb state? */
    subne   r2, lr, #2
    subeq   r2, lr, #4
    mov     r3, #0
    b       fault
prefetch:
    adr     r0, prefetch_text
    mrc     p15, 0, r1, c5, c0, 1   /* IFSR */
    sub     r2, lr, #4
    mrc     p15, 0, r3, c6, c0, 2   /* IFAR */
    b       fault
data:
    adr     r0, data_text
    mrc     p15, 0, r1, c5, c0, 0   /* DFSR */
    sub     r2, lr, #8
    mrc     p15, 0, r3, c6, c0, 0   /* DFAR */
    b       fault
lost:
    adr     r0, lost_text
    mov     r1, #0
    sub     r2, lr, #4
    mov     r3, #0
fault:
    ldr     sp, =board_stack
    b       freertos_fault
    .ltorg
undefined_text: .asciz "undefined instruction"
prefetch_text:  .asciz "prefetch abort"
data_text:      .asciz "data abort"
lost_text:      .asciz "fast interrupt"

    .section .bss.board_interrupts, "aw", %nobits
    .balign 8
    .space  0x1000
board_interrupts:
