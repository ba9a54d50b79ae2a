"""Checks of the features of the operating system, and of its known times."""

from __future__ import annotations

from collections.abc import Callable

from rtstone.documents.doctor import Verdict
from rtstone.documents.pauses import kernel_version
from rtstone.documents.run import Slope
from rtstone.system.facts import chosen, whole
from rtstone.system.findings import Finding, Seen
from rtstone.units import count, quantity, seconds

NICE_LEVELS = 40
MODELS: dict[str, Verdict] = {"full": "warn", "lazy": "warn", "voluntary": "bad", "none": "bad"}
LAZY_SINCE = (6, 13)  # a kernel of that model calls itself PREEMPT, too
USER_DRIVERS = ("sys/class/uio", "sys/class/vfio-dev", "dev/vfio")
READ = (
    "proc/sys/kernel/version", "sys/kernel/realtime", "sys/kernel/debug/sched/preempt",
    "proc/timer_list", *(f"{folder}/" for folder in USER_DRIVERS),
)  # fmt: skip


# ---- the operating system -----------------------------------------------------------------------


def preemption(seen: Seen) -> Finding:
    """Return PREEMPT_RT, or the active preemption model, or else the one of the boot options."""
    system = seen.system
    version = (system.read("proc/sys/kernel/version") or "").split()
    if system.number("sys/kernel/realtime") == 1 or "PREEMPT_RT" in version:
        return Finding("good", "PREEMPT_RT")
    if model := chosen(system.read("sys/kernel/debug/sched/preempt")):
        return Finding(MODELS.get(model, "unknown"), f"{model} (PREEMPT_DYNAMIC)")
    options = system.configuration or frozenset()
    if "PREEMPT_DYNAMIC" in version or "PREEMPT_DYNAMIC" in options:
        start = system.command_line.get("preempt") or _built(options) or "unknown"
        return Finding("unknown", f"PREEMPT_DYNAMIC, started as {start}; not reported now")
    if not version and not options:
        return Finding("unknown", "the kernel does not report its version")
    built = _built(options)  # of a kernel that has only one model
    release = kernel_version(system.read("proc/sys/kernel/osrelease"))
    if built is None and "PREEMPT" in version:
        if release is None or release >= LAZY_SINCE:
            return Finding("unknown", "full or lazy; the kernel's configuration is not available")
        built = "full"
    if built is None:
        return Finding("unknown", "the kernel's configuration is not available")
    return Finding(MODELS[built], built)


def _built(options: frozenset[str]) -> str | None:
    """Return the model of a configuration; PREEMPT alone is the full one."""
    names = {"PREEMPT_NONE": "none", "PREEMPT_VOLUNTARY": "voluntary", "PREEMPT_LAZY": "lazy"}
    return next((model for option, model in names.items() if option in options), None) or (
        "full" if "PREEMPT" in options else None
    )


def tried(name: str, failed: Verdict = "warn") -> Callable[[Seen], Finding]:
    """Return the outcome of a functional probe."""

    def probe(seen: Seen) -> Finding:
        outcome = seen.system.probe(name)
        verdict: Verdict = "unknown" if outcome.works is None else "good"
        return Finding(failed if outcome.works is False else verdict, outcome.text)

    return probe


def priorities(seen: Seen) -> Finding:
    """Check the number of priority levels, of which Dankwardt requires more than 100."""
    levels = seen.system.probe("levels")
    if not levels.works:
        return Finding("unknown", levels.text)
    total = int(levels.text) + NICE_LEVELS
    text = f"{levels.text} real-time and {NICE_LEVELS} nice levels"
    return Finding("good" if total > 100 else "warn", text)


def timer_resolution(seen: Seen) -> Finding:
    """Check the resolution of timers, in µs; it is a tick's length where they wait for ticks."""
    outcome = seen.system.probe("timers")
    if outcome.works is not None:
        text = f"{outcome.text} µs"
        return Finding("good" if outcome.works else "bad", text)
    base = seen.system.fields("proc/timer_list").get(".resolution", "")
    nanoseconds = whole(base.removesuffix(" nsecs"))
    if nanoseconds is None:
        return Finding("unknown", outcome.text)
    return Finding("good" if nanoseconds < 1000 else "bad", f"{nanoseconds / 1000:g} µs")


def user_interrupts(seen: Seen) -> Finding:
    """Check for devices that are bound to UIO or VFIO."""
    devices = [name for folder in USER_DRIVERS for name in seen.system.names(folder)]
    devices = [name for name in devices if name != "vfio"]
    return (
        Finding("good", ", ".join(devices)) if devices else Finding("yours", "no device so bound")
    )


# ---- known quantities ---------------------------------------------------------------------------


def scaling(seen: Seen) -> Finding:
    """Return whether the cost of a context switch grows with the number of tasks."""
    for run in seen.system.past("ctx.ballast"):
        if slopes := [slope for slope in run.slopes if slope.bench == "ctx.ballast"]:
            grows = any(slope.slope > 0 and not slope.constant for slope in slopes)
            growth = "; ".join(dict.fromkeys(map(_growth, slopes)))
            return Finding("warn" if grows else "good", growth)
    return Finding("unknown", "not measured")


def _growth(slope: Slope) -> str:
    if slope.constant:
        return "no growth seen"
    rate, per = slope.slope, "waiting task"
    if slope.doubling is not None:
        rate, per = slope.doubling, "doubling of the waiting tasks"
    change = quantity(abs(rate), slope.unit.partition(" per ")[0])
    return f"{change} {'more' if rate > 0 else 'less'} per {per}"


def measured(*benches: str) -> Callable[[Seen], Finding]:
    """Return the maximum in the newest measurement of the first of these benches that has one.

    A name with a dot at its end is that of a family.  What was seen is known, not judged.
    """

    def probe(seen: Seen) -> Finding:
        for bench in benches:
            family = bench.endswith(".")
            for run in seen.system.past(bench):
                results = [
                    result
                    for result in run.results
                    if (result.bench == bench or (family and result.bench.startswith(bench)))
                    and result.status == "ok"
                    and result.max is not None
                ]
                if not results:
                    continue
                worst = max(results, key=lambda result: result.max or 0)
                over = "" if worst.section_s is None else f" in {seconds(worst.section_s)}"
                return Finding(
                    "seen",
                    f"max {quantity(worst.max, worst.unit)}{over}, "
                    f"p50 {quantity(worst.p50, worst.unit)}, n {count(worst.n)}, {worst.bench}, "
                    f"load {worst.load}, run {run.run_id}",
                )
        return Finding("unknown", "not measured")

    return probe
