/* The contract of ports, on the board. */
#include "../port_test.c"
