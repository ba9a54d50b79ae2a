/* Between the files of the port. */
#ifndef RTS_TEMPLATE_H
#define RTS_TEMPLATE_H

#include "clock.h"
#include "port.h"

/* The newest task there is, and the end of all that are newer than `mark`. */
rts_task *template_newest_task(void);
void template_kill_tasks(const rts_task *mark);

/* Looks at the serial line while a case runs: true once the host asked for its end. */
bool template_stop_asked(void);

#endif
