/*
 * A kernel module whose thread alternates between two sections of 10,000 instructions: one with
 * interrupts masked, one with preemption off.  It is built without the kernel's headers: what it
 * has of them is taken from modules of the same kernel (planted_linux.py): THIS_MODULE, the bytes
 * of its `struct module`, INIT, where that has the address of `init_module`, COUNT, where a task
 * has its preempt count, VERMAGIC, and CHECKSUMS of what is used of the kernel, if it has any.
 */
typedef unsigned long ulong;

void *kthread_create_on_node(int (*code)(void *), void *data, int node, const char *name, ...);
int wake_up_process(void *task);
long schedule_timeout_uninterruptible(long jiffies);
int init_module(void);

#define SECTION(name) __attribute__((section(name), used))

#if defined(__aarch64__)

#define LOOP "mov %w0, #4999\n1:\tsubs %w0, %w0, #1\n\tb.ne 1b\n\tnop\n\t"

/* What the kernel puts jumps into; it wants all of them to be there. */
__asm__(".section .plt,\"ax\"\n\t.byte 0\n\t.section .init.plt,\"ax\"\n\t.byte 0\n\t"
        ".section .text.ftrace_trampoline,\"ax\"\n\t.byte 0\n\t.text");

static __attribute__((noinline)) void planted_masked(void)
{
    ulong left;
    __asm__ volatile("msr daifset, #3\n\t" LOOP "msr daifclr, #3" : "=&r"(left) : : "cc", "memory");
}

static __attribute__((noinline)) void planted_unpreempted(void)
{
    ulong left, task;
    __asm__ volatile("mrs %1, sp_el0\n\t"
                     "ldr %w0, [%1, %2]\n\tadd %w0, %w0, #1\n\tstr %w0, [%1, %2]\n\t" LOOP
                     "ldr %w0, [%1, %2]\n\tsub %w0, %w0, #1\n\tstr %w0, [%1, %2]"
                     : "=&r"(left), "=&r"(task)
                     : "i"(COUNT)
                     : "cc", "memory");
}

#elif defined(__riscv)

#define LOOP "li %0, 4998\n1:\taddi %0, %0, -1\n\tbnez %0, 1b\n\tnop\n\tnop\n\t" /* li: 2 */

static __attribute__((noinline)) void planted_masked(void)
{
    ulong left;
    __asm__ volatile("csrci sstatus, 2\n\t" LOOP "csrsi sstatus, 2" : "=&r"(left) : : "memory");
}

static __attribute__((noinline)) void planted_unpreempted(void)
{
    ulong left;
    __asm__ volatile("lw %0, %1(tp)\n\taddi %0, %0, 1\n\tsw %0, %1(tp)\n\t" LOOP
                     "lw %0, %1(tp)\n\taddi %0, %0, -1\n\tsw %0, %1(tp)"
                     : "=&r"(left)
                     : "i"(COUNT)
                     : "memory");
}

#else

#define LOOP "movl $4999, %k0\n1:\tdecl %k0\n\tjne 1b\n\tnop\n\t"

extern int __preempt_count; /* of a processor, behind GS */

static __attribute__((noinline)) void planted_masked(void)
{
    ulong left;
    __asm__ volatile("cli\n\t" LOOP "sti" : "=&r"(left) : : "cc", "memory");
}

static __attribute__((noinline)) void planted_unpreempted(void)
{
    ulong left;
    __asm__ volatile("incl %%gs:%1\n\t" LOOP "decl %%gs:%1"
                     : "=&r"(left), "+m"(__preempt_count)
                     :
                     : "cc", "memory");
}

#endif

static int planted_thread(void *data)
{
    (void)data;
    for (;;) {
        schedule_timeout_uninterruptible(1);
        planted_masked();
        schedule_timeout_uninterruptible(1);
        planted_unpreempted();
    }
    return 0;
}

int init_module(void)
{
    void *task = kthread_create_on_node(planted_thread, 0, -1, "planted");
    wake_up_process(task);
    return 0;
}

struct module {
    char state[24], name[56];
    char until[INIT - 80];
    int (*init)(void);
    char rest[THIS_MODULE - INIT - 8];
};

SECTION(".gnu.linkonce.this_module")
struct module __this_module __attribute__((aligned(64))) = {.name = "planted", .init = init_module};

SECTION(".modinfo")
static const char information[] = "license=GPL\0depends=\0name=planted\0vermagic=" VERMAGIC;

#ifdef CHECKSUMS
SECTION("__versions") static const struct {
    ulong checksum;
    char name[64 - sizeof(ulong)];
} versions[] = {CHECKSUMS};
#endif
