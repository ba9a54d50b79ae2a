/* The console of boards with a UART PL011, at BOARD_UART. A part of their board.c. */

static inline void pl011_enable(void)
{
    BOARD_REG(BOARD_UART + 0x30) = 0x301; /* UARTCR: both directions */
}

void board_put(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        while (BOARD_REG(BOARD_UART + 0x18) & 1u << 5) /* transmit FIFO full */
            ;
        BOARD_REG(BOARD_UART) = (unsigned char)bytes[i];
    }
}

int board_get(void)
{
    uint32_t empty = BOARD_REG(BOARD_UART + 0x18) & 1u << 4;
    return empty ? -1 : (int)(BOARD_REG(BOARD_UART) & 0xff);
}
