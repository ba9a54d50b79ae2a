/* What the agent may use of a board with plenty of memory (core/sizes.h). A part of its board.h. */
#define RTS_TABLE_BYTES (64 << 10)
#define RTS_STACK_DEFAULT (8u << 10)
#define RTS_BUDGET_DEFAULT (16 << 20)
#define RTOS_MEASURING_STACK (32u << 10)
#define FREERTOS_AGENT_STACK (32u << 10)
