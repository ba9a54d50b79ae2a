#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STUB_READ_NS 20       /* cost of reading the clock */
#define STUB_CALL_NS 1000     /* cost of any other call */
#define STUB_KWI_NS 10000     /* cost of a thousand Whetstone instructions */
#define STUB_SECTION_NS 70000 /* cost of recording the evidence before a timed section */
#define STUB_CHILL_NS 7000    /* cost of filling the caches */
#define STUB_WAKE_NS 5000     /* from the end of a sleep to the task's first instruction */

extern uint64_t stub_now; /* ns */

/* Advances the clock to `time` or, if there is a stall, to its end. */
void stub_advance_to(uint64_t time);

/* Returns when a sleep from now to `time` ends: then, or where the test interrupts it. */
uint64_t stub_interrupted(uint64_t time);

/* Adds a stall; up to 16. */
void stub_add_stall(uint64_t start, uint64_t length);

static inline uint64_t stub_read(void)
{
    uint64_t now = stub_now;
    stub_advance_to(now + STUB_READ_NS);
    return now;
}

static inline rts_tick rts_now(void)
{
    return stub_read() * STUB_COUNTER_PER_NS;
}

static inline rts_tick rts_time(void)
{
    return stub_read() / STUB_TIME_NS;
}

static inline rts_tick rts_time_syscall(void)
{
    return rts_time();
}

static inline uint64_t rts_cpu_time(void)
{
    return stub_now;
}

static inline void rts_yield(void)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
}

static inline void rts_sleep_until(rts_tick time)
{
    if (time * STUB_TIME_NS > stub_now)
        stub_advance_to(time * STUB_TIME_NS + STUB_WAKE_NS);
}

static inline int rts_sleep_for(rts_tick duration)
{
    uint64_t end = stub_now + duration * STUB_TIME_NS, woken = stub_interrupted(end);
    stub_advance_to(woken + STUB_WAKE_NS);
    return woken < end ? -EINTR : 0;
}

static inline void rts_worked(rts_work kind, uint64_t amount)
{
    if (kind != RTS_WORK_SET) /* it stands for work that the clock does not notice */
        stub_advance_to(stub_now + amount * (kind == RTS_WORK_KWI ? STUB_KWI_NS : 1));
}

static inline int rts_irq_raise(rts_irq *irq)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    irq->handler(irq->arg);
    return 0;
}

static inline int rts_sem_create(rts_sem *sem, unsigned value)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    sem->value = value;
    return 0;
}

static inline int rts_sem_destroy(rts_sem *sem)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    sem->value = 0;
    return 0;
}

static inline int rts_sem_give(rts_sem *sem)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    sem->value++;
    return 0;
}

static inline int rts_sem_try(rts_sem *sem)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    if (!sem->value)
        return -EAGAIN;
    sem->value--;
    return 0;
}

static inline int rts_sem_take(rts_sem *sem)
{
    if (!sem->value)
        abort(); /* there is no other task to give it */
    return rts_sem_try(sem);
}

static inline int rts_mutex_lock(rts_mutex *mutex)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    mutex->locked++;
    return 0;
}

static inline int rts_mutex_unlock(rts_mutex *mutex)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    mutex->locked--;
    return 0;
}

static inline int rts_queue_send(rts_queue *queue, const void *message)
{
    (void)queue;
    (void)message;
    return -ENOSYS;
}

static inline int rts_queue_receive(rts_queue *queue, void *message)
{
    (void)queue;
    (void)message;
    return -ENOSYS;
}

enum { STUB_PREPARED, STUB_ALIVE, STUB_KILLED, STUB_GONE };

/* Moves a child to its next state; any other order is an error of the bench. */
static inline int stub_child_step(rts_child *child, int from, int to)
{
    if (child->state != from)
        abort();
    stub_advance_to(stub_now + STUB_CALL_NS);
    child->state = to;
    return 0;
}

static inline int rts_child_create(rts_child *child, int kind)
{
    (void)kind;
    if (child->state == STUB_GONE)
        child->state = STUB_PREPARED;
    return stub_child_step(child, STUB_PREPARED, STUB_ALIVE);
}

static inline int rts_child_kill(rts_child *child, int kind)
{
    (void)kind;
    return stub_child_step(child, STUB_ALIVE, STUB_KILLED);
}

static inline int rts_child_reap(rts_child *child, int kind)
{
    (void)kind;
    return stub_child_step(child, STUB_KILLED, STUB_GONE);
}

static inline bool rts_channel_passes_pointer(int kind)
{
    (void)kind;
    return false;
}

static inline int rts_channel_send(rts_channel *channel, int kind, void *message)
{
    if (channel->held)
        abort(); /* it is full, and there is no other task to receive */
    stub_advance_to(stub_now + STUB_CALL_NS);
    if (kind != STUB_REPEATING || channel->sent != 5) /* the sixth finds the fifth still there */
        memcpy(channel->message, message, channel->size);
    channel->held = 1;
    channel->sent++;
    return 0;
}

static inline int rts_channel_receive(rts_channel *channel, int kind, void **message)
{
    if (!channel->held)
        abort(); /* there is no other task to send */
    stub_advance_to(stub_now + STUB_CALL_NS);
    memcpy(*message, channel->message, channel->size);
    if (kind == STUB_DAMAGING && channel->sent == 7)
        ((unsigned char *)*message)[channel->size - 1] ^= 1;
    channel->held = 0;
    return 0;
}

static inline void *rts_malloc(size_t size)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    return malloc(size);
}

static inline void rts_free(void *block)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    free(block);
}

#endif
