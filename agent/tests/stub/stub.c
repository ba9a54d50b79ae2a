/* The rest of the stub port. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "wire.h"

uint64_t stub_now;

#define STALLS 16
static struct {
    uint64_t start, end;
} stall[STALLS];
static int stalls;

void stub_add_stall(uint64_t start, uint64_t length)
{
    if (stalls == STALLS)
        return;
    stall[stalls].start = start;
    stall[stalls++].end = start + length;
}

void stub_advance_to(uint64_t time)
{
    stub_now = time;
    for (int i = 0; i < stalls; i++)
        if (stub_now >= stall[i].start && stub_now < stall[i].end)
            stub_now = stall[i].end;
}

uint64_t stub_interrupted(uint64_t time)
{
    for (int i = 0; i < stalls; i++)
        if (stall[i].start == stall[i].end && stall[i].start > stub_now && stall[i].start < time)
            time = stall[i].start;
    return time;
}

uint32_t rts_port_caps(void)
{
    return RTS_CAP_EVENT | RTS_CAP_HEAP | RTS_CAP_CHILDREN | RTS_CAP_SOFT_IRQ | RTS_CAP_COLD;
}

const char *rts_port_why_not(uint32_t cap)
{
    (void)cap;
    return "the stub has one task";
}

int rts_port_cold(size_t *bytes)
{
    *bytes = 12345;
    return 0;
}

void rts_port_chill(void)
{
    stub_advance_to(stub_now + STUB_CHILL_NS);
}

uint64_t rts_port_time_resolution_ns(void)
{
    return STUB_READ_NS;
}

int rts_port_clock_init(rts_clock *clock)
{
    clock->source = "stub";
    clock->unit = "ns";
    clock->hz = STUB_COUNTER_PER_NS * RTS_NS_PER_S;
    return 0;
}

int rts_task_create(rts_task *task, const rts_task_attr *attr)
{
    (void)task;
    (void)attr;
    return -ENOSYS;
}

int rts_task_join(rts_task *task)
{
    (void)task;
    return -ENOSYS;
}

int rts_task_set_own_prio(int prio, rts_policy policy)
{
    (void)prio;
    (void)policy;
    return 0;
}

int rts_child_prepare(rts_child *child, int kind, int prio, size_t stack)
{
    (void)kind;
    (void)stack;
    child->state = STUB_PREPARED;
    child->prio = prio;
    return 0;
}

int rts_child_prio(const rts_child *child, int kind)
{
    (void)kind;
    return child->prio;
}

void rts_child_release(rts_child *child)
{
    if (child->state == STUB_ALIVE || child->state == STUB_KILLED)
        abort();
}

int rts_channel_create(rts_channel *channel, int kind, size_t length, size_t size, unsigned slot)
{
    (void)kind;
    (void)length;
    (void)slot;
    if (size > STUB_LARGEST)
        return -ENOSYS;
    channel->size = size;
    channel->held = channel->sent = 0;
    return 0;
}

int rts_channel_destroy(rts_channel *channel, int kind)
{
    (void)kind;
    if (channel->held)
        abort();
    return 0;
}

const char *rts_channel_limits(int kind)
{
    (void)kind;
    return "the limit is the stub's";
}

void rts_sem_prepare(rts_sem *sem, rts_sem_kind kind, unsigned slot)
{
    (void)kind;
    (void)slot;
    sem->value = 0;
}

int rts_event_open(rts_event *event, int source, uint64_t hz, rts_source *properties)
{
    (void)source;
    *properties = (rts_source){
        .name = "stub", .independence = "independent", .stamped = "the handler", .hz = (double)hz};
    *event = (rts_event){.first = stub_now + 1000000, .period = RTS_NS_PER_S / hz};
    return 0;
}

/* Requests during a stall are merged when it ends; the device counts them. */
int rts_event_wait(rts_event *event, rts_tick *stamp, uint64_t *count)
{
    uint64_t due = event->first + event->next * event->period;
    if (due < stub_now) /* already served */
        due = event->first +
              (event->next = (stub_now - event->first) / event->period + 1) * event->period;
    static uint64_t last;
    if (due > stub_now)
        stub_advance_to(due + STUB_WAKE_NS);
    *stamp = stub_now * STUB_COUNTER_PER_NS;
    uint64_t number = (stub_now - event->first) / event->period;
    *count = number - last;
    last = number;
    event->next = number + 1;
    return 0;
}

void rts_event_close(rts_event *event)
{
    (void)event;
}

int rts_timer_start(rts_timer *timer, int kind, rts_tick period)
{
    (void)kind;
    *timer = (rts_timer){.first = (stub_now + 10000000) / STUB_TIME_NS, .period = period};
    return 0;
}

void rts_timer_wait(rts_timer *timer, rts_expiry *expiry)
{
    rts_tick due = timer->first + timer->next * timer->period;
    rts_sleep_until(due);
    expiry->stamp = stub_now / STUB_TIME_NS;
    expiry->overruns = expiry->stamp > due ? (expiry->stamp - due - 1) / timer->period : 0;
    expiry->k = timer->next;
    timer->next += 1 + expiry->overruns;
}

void rts_timer_stop(rts_timer *timer)
{
    (void)timer;
}

int rts_irq_open(rts_irq *irq, int form, void (*handler)(void *arg), void *arg)
{
    (void)form;
    *irq = (rts_irq){handler, arg};
    return 0;
}

void rts_irq_close(rts_irq *irq)
{
    (void)irq;
}

int rts_mutex_create(rts_mutex *mutex, rts_protocol protocol, int ceiling)
{
    (void)ceiling;
    (void)protocol;
    mutex->locked = 0;
    return 0;
}

int rts_mutex_destroy(rts_mutex *mutex)
{
    (void)mutex;
    return 0;
}

int rts_queue_create(rts_queue *queue, size_t length, size_t size, unsigned slot)
{
    (void)queue;
    (void)length;
    (void)size;
    (void)slot;
    return -ENOSYS;
}

int rts_queue_destroy(rts_queue *queue)
{
    (void)queue;
    return -ENOSYS;
}

void *rts_port_shared(size_t size)
{
    return calloc(1, size);
}

void rts_port_unshare(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

int rts_port_isolate(rts_job *job, char *why, size_t size)
{
    snprintf(why, size, "nothing");
    stub_now = 0; /* every case begins at the same time, so that stalls can be placed */
    job->evidence.prio = job->prio;
    job->evidence.sched = "fifo";
    job->evidence.locked = true;
    rts_job_run(job);
    return 0;
}

static uint64_t section_start;

void rts_port_section_start(rts_job *job)
{
    (void)job;
    section_start = stub_now;
    stub_advance_to(stub_now + STUB_SECTION_NS);
}

void rts_port_section_end(rts_job *job)
{
    job->evidence.section_ns = (int64_t)(stub_now - section_start);
}

void rts_port_throttling(uint64_t *busy_ns, uint64_t *rest_ns)
{
    *busy_ns = 500000000;
    *rest_ns = 50000000;
}

void rts_port_put(const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, stdout);
}

void rts_port_flush(void)
{
    fflush(stdout);
}

int rts_port_getchar(rts_tick until)
{
    (void)until;
    int byte = getchar();
    return byte == EOF ? RTS_END_OF_INPUT : byte;
}

void rts_port_hello(rts_wire *w)
{
    rts_wire_str(w, "port", "stub");
    rts_wire_str(w, "os", "none");
    rts_wire_str(w, "arch", "none");
}

void rts_port_conditions(rts_wire *w)
{
    (void)w;
}

const char *rts_port_strerror(int error)
{
    return strerror(-error);
}

bool rts_port_is_limit(int error)
{
    return error == -ENOSYS;
}
