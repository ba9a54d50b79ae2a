/*
 * Substitutes for an interrupt that a program can request: a real-time signal to itself, or an
 * eventfd on which a thread of higher priority waits. Neither is an interrupt; results name the
 * form.
 */
#include <string.h>
#include <sys/eventfd.h>

#include "linux.h"

enum { BY_SIGNAL, BY_EVENTFD };

static rts_irq *signalled; /* there is one measuring task in a process */

static void on_signal(int signal)
{
    signalled->handler(signalled->arg);
    (void)signal;
}

static int open_signal(rts_irq *irq)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t own;
    irq->process = getpid();
    irq->task = (pid_t)syscall(SYS_gettid);
    signalled = irq;
    if (sigaction(LINUX_IRQ_SIGNAL, &action, NULL))
        return -errno;
    sigemptyset(&own);
    sigaddset(&own, LINUX_IRQ_SIGNAL);
    return -pthread_sigmask(SIG_UNBLOCK, &own, &irq->mask);
}

static void *wait_for_requests(void *arg)
{
    rts_irq *irq = arg;
    uint64_t requests;
    for (;;) {
        ssize_t n = read(irq->fd, &requests, sizeof requests);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || irq->closing)
            return NULL;
        irq->handler(irq->arg);
    }
}

/*
 * One level above the caller, on its CPU, so that the thread runs before the caller's write
 * returns.
 */
static int open_eventfd(rts_irq *irq)
{
    pthread_attr_t attr;
    struct sched_param own;
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &own);
    if (policy == SCHED_OTHER)
        return -EPERM;
    if (own.sched_priority >= RTS_PRIO_MAX)
        return -EINVAL; /* the next level is the watchdog's */
    irq->fd = eventfd(0, EFD_CLOEXEC);
    if (irq->fd < 0)
        return -errno;
    pthread_attr_init(&attr);
    rts_task_attr above = {.prio = own.sched_priority + 1, .policy = RTS_FIFO, .cpu = -1};
    int err = posix_set_attributes(&attr, &above);
    if (!err)
        err = pthread_create(&irq->thread, &attr, wait_for_requests, irq);
    pthread_attr_destroy(&attr);
    if (err)
        close(irq->fd);
    return -err;
}

int rts_irq_open(rts_irq *irq, int form, void (*handler)(void *arg), void *arg)
{
    memset(irq, 0, sizeof *irq);
    irq->handler = handler;
    irq->arg = arg;
    irq->fd = -1;
    return form == BY_SIGNAL ? open_signal(irq) : open_eventfd(irq);
}

void rts_irq_close(rts_irq *irq)
{
    if (irq->fd < 0) {
        signal(LINUX_IRQ_SIGNAL, SIG_DFL);
        pthread_sigmask(SIG_SETMASK, &irq->mask, NULL);
        return;
    }
    irq->closing = true;
    rts_irq_raise(irq);
    pthread_join(irq->thread, NULL);
    close(irq->fd);
}
