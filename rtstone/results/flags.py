"""The flags of a result: a closed list, each with its cause and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from rtstone.documents import capacity
from rtstone.documents.breakdown import HELD_AGAIN
from rtstone.documents.pauses import Pause, pauses
from rtstone.documents.run import BREAKDOWN, INTERRUPTED, STOPPED, UNREACHED
from rtstone.results.load_rates import lacking
from rtstone.units import NS_PER_S, count
from rtstone.wire.records import Rate, Result

BURST_NS = 100_000_000  # from one burst of a load to the next
BURSTS = 5  # that a case has to see

LASTING = "lasting"
TRACED = "traced"


class Seen(NamedTuple):
    """The input of a flag: one series, the evidence of its case, and the system."""

    result: Result
    evidence: Mapping[str, Any]
    conditions: Mapping[str, Any]
    clock: str
    granule: int = 1  # smallest step of the clock, ticks
    median: float | None = None  # of the series, ticks
    params: Mapping[str, Any] = MappingProxyType({})
    load: Sequence[Rate] = ()  # what the load did while the case ran

    def total(self, *names: str) -> float:
        """Return the sum of counts in the evidence; unknown ones, and non-numbers, count as 0."""
        counts = (self.evidence.get(name) for name in names)
        return sum(count for count in counts if isinstance(count, int | float))

    def figure(self, name: str, unknown: float = 0) -> float:
        """Return a figure of the case."""
        figures = {key: value for key, value, _ in self.result.figures if value is not None}
        return figures.get(name, unknown)

    def condition(self, name: str) -> float:
        """Return a numeric condition, also if given as text; 0 if unknown."""
        try:
            return float(self.conditions.get(name) or 0)
        except ValueError:
            return 0

    def cpus(self) -> int:
        """Return the number of measured CPUs, 0 if unknown."""
        cpus = self.evidence.get("cpus")
        return len(cpus) if isinstance(cpus, list) else 0

    def kinds(self) -> list[capacity.Kind]:
        """Return the kinds of the CPUs that the series was measured on, as far as known."""
        places = capacity.places(self.result.series, self.evidence)
        return capacity.measured(capacity.recorded(self.conditions), places)

    def config(self) -> object:
        """Return where the tasks ran."""
        return self.params.get("config", "bound")

    def shielded(self) -> bool:
        """Return whether CPUs are kept free of other tasks: at boot, or by `rtstone tune`."""
        tuned = str(self.conditions.get("tune") or "").split()
        return bool(self.conditions.get("cpu.isolated")) or {"cpuset", "interrupts"} <= set(tuned)

    def rt(self) -> bool:
        """Return whether the measuring task ran under a real-time policy."""
        return self.evidence.get("sched") in ("fifo", "rr", "deadline")  # a damaged one: a list


# What may be said of a system by a result: that it is fit, as a gate passes it; that it is not, by
# activations it missed; a bound of what was not seen.
Judgement = Literal["fit", "not fit", "worst case"]
ALL: tuple[Judgement, ...] = ("fit", "not fit", "worst case")
# Of conditions under which a system did worse than it can: what it failed in them, it failed.
NOT_ITS_BEST: tuple[Judgement, ...] = ("fit", "worst case")


class Flag(NamedTuple):
    """A flag, set on a result if ``when`` holds.

    ``voids``: judgements that the result then does not allow (docs/reference/measuring.md has a
    table);
    ``spoils``: why not.  Both are empty if the flag is only a warning.
    """

    name: str
    cause: str
    advice: str
    when: Callable[[Seen], bool]
    spoils: str = ""
    voids: tuple[Judgement, ...] = ()


def _paused(by: str) -> Callable[[Seen], bool]:
    """Return whether CPU use is at a limit for busy tasks, with a gap as long as its pause.

    For the length of such a gap the task must have been without the CPU: what firmware or a
    hypervisor takes counts as its own time.
    """

    def fits(seen: Seen, pause: Pause) -> bool:
        section, cpu = seen.total("section_ns"), seen.total("cpu_ns")
        longest_ns = (seen.result.max or 0) / seen.result.hz * NS_PER_S
        return (
            cpu / section >= 0.95 * (1 - pause.length_ns / pause.period_ns)
            and 0.5 < longest_ns / pause.length_ns < 2
            and section * max(seen.cpus(), 1) - cpu >= longest_ns / 2
        )

    def when(seen: Seen) -> bool:
        if not seen.rt() or not seen.total("section_ns"):
            return False
        cpus = seen.evidence.get("cpus")
        possible = pauses(seen.conditions, cpus if isinstance(cpus, list) else None)
        return any(pause.by == by and fits(seen, pause) for pause in possible)

    return when


def _dependent(seen: Seen) -> bool:
    """Return whether its source of interrupts is a timer of the system, as the agent says."""
    rows = [
        dict(zip(table.columns, row, strict=True))
        for table in seen.result.tables
        for row in table.rows
    ]
    return any(row.get("independence", "").startswith("dependent") for row in rows)


def _coarse(seen: Seen) -> bool:
    """Return whether the median interval, net, is under 10 steps of the clock."""
    result = seen.result
    if result.batch > 1 or not result.overhead:  # lateness, or the clock itself
        return False
    return seen.median is not None and seen.median - result.overhead < 10 * seen.granule


FLAGS = (
    Flag(
        "no_rt",
        "ran without real-time scheduling",
        "run as root, or give the agent CAP_SYS_NICE or an rtprio limit",
        # A bench that was asked for time sharing has no privileges to miss.
        lambda s: s.evidence.get("sched") == "other" and s.params.get("policy") != "other",
        spoils="measured without real-time privileges",
        voids=NOT_ITS_BEST,
    ),
    Flag(
        "no_mlock",
        "ran without locked memory",
        "run as root, or give the agent CAP_IPC_LOCK or a memlock limit",
        lambda s: s.evidence.get("locked") is False,
    ),
    Flag(
        "other_run",
        "another rtstone measured on this machine at the same time",
        "repeat when no other one is running",
        lambda s: s.total("others") > 0,
        spoils="measured beside another run of rtstone",
        voids=NOT_ITS_BEST,
    ),
    Flag(
        TRACED,
        "its CPU was traced, which makes system calls, interrupts and wake-ups slower",
        "its figures say by how much; measure without --trace for numbers to judge by",
        lambda s: s.evidence.get("snapshots") is not None,
        spoils="measured while its CPU was traced",
        voids=ALL,
    ),
    Flag(
        "page_faults",
        "the timed section took page faults, without locked memory",
        "lock memory; see no_mlock",
        lambda s: s.rt() and s.total("minflt", "majflt") > 0 and not s.evidence.get("locked"),
        spoils="measured without locked memory, with page faults",
        voids=NOT_ITS_BEST,
    ),
    Flag(
        "faults_locked",
        "the timed section took page faults, with locked memory",
        "expected if the work itself allocates, maps or forks; otherwise find out what does",
        lambda s: s.rt() and s.total("minflt", "majflt") > 0 and bool(s.evidence.get("locked")),
    ),
    Flag(
        "preempted",
        "the only task of the case was preempted",
        "raise -p prio, or keep other real-time tasks and interrupts off the CPU",
        lambda s: s.total("nivcsw") > 0 and s.evidence.get("tasks") == 1,
    ),
    Flag(
        "migrated",
        "a task of the case moved to another CPU",
        "bind it with --cpus",
        lambda s: s.total("migrations") > 0 and s.config() != "2cpu",
    ),
    Flag(
        "steal",
        "the hypervisor took the CPU away",
        "measure on bare metal, or give the guest dedicated CPUs",
        lambda s: s.total("steal_ns") > 0,
        spoils="measured while a hypervisor took the CPU away",
        voids=("worst case",),
    ),
    Flag(
        "quota",
        "the CPU quota of its control group held tasks back",
        "remove the quota (cpu.max, CPUQuota= of systemd, --cpus of docker); it does not bind "
        "real-time tasks, but the load and the agent",
        lambda s: s.total("quota_periods") > 0,
        spoils="measured under a CPU quota that held tasks back",
        voids=NOT_ITS_BEST,
    ),
    Flag(
        "smi",
        "the firmware interrupted the CPU (SMI)",
        "check USB legacy support, power and error handling in the firmware set-up",
        lambda s: s.total("smi") > 0,
    ),
    Flag(
        "suspended",
        "the system was suspended, or the measuring process stopped, while it measured",
        "repeat it; a suspended system is no system at work",
        lambda s: s.total("suspended_ns", "stops") > 0,
        spoils="measured while the system or the measurement was suspended",
        voids=ALL,
    ),
    Flag(
        "throttled",
        "a busy real-time task was paused for as long as RT throttling does it at its limit",
        "raise sched_rt_runtime_us, or set it to -1 at your own risk",
        _paused("throttling"),
        spoils="measured under RT throttling",
        voids=NOT_ITS_BEST,
    ),
    Flag(
        "server",
        "a busy real-time task was paused for as long as a deadline server runs other tasks",
        "have no other task on that CPU, or turn the server off at your own risk: `rtstone tune "
        "apply --only fair_server`; sched_rt_runtime_us has no part in it",
        _paused("server"),
        spoils="measured under a deadline server that took the CPU",
        voids=NOT_ITS_BEST,
    ),
    Flag(
        "shared_cpu",
        "the agent's own threads ran on the measured CPU",
        "give the agent a second CPU",
        lambda s: (
            s.evidence.get("shared") is True
            and s.cpus() < 2
            and s.config() != "1cpu"
            and str(s.conditions.get("cpu.online"))
            != "0"  # with only one CPU there is no alternative
        ),
    ),
    Flag(
        "no_spare_cpu",
        "all CPUs were measured on, so the agent's own threads ran on one of them",
        "leave one of them out of --cpus",
        lambda s: s.evidence.get("shared") is True and s.cpus() > 1 and s.config() != "2cpu",
    ),
    Flag(
        "cpus_online",
        "config=1cpu, but the system has other CPUs online, which ran other work",
        "boot with maxcpus=1, or take the others offline in /sys/devices/system/cpu",
        lambda s: s.config() == "1cpu" and str(s.conditions.get("cpu.online", "0")) != "0",
    ),
    Flag(
        "unshielded",
        "config=1rt, but the kernel may run other work and interrupts on the measured CPU",
        "use `rtstone tune apply`, or boot with isolcpus= and irqaffinity=",
        lambda s: s.config() == "1rt" and not s.shielded(),
    ),
    Flag(
        "smaller_cpu",
        "measured on a CPU of a smaller kind than the largest of this system",
        "`rtstone doctor` tells kinds apart; --cpus names the CPUs to measure on",
        lambda s: len(s.kinds()) == 1 and s.kinds() != capacity.recorded(s.conditions)[:1],
    ),
    Flag(
        "mixed_cpus",
        "samples of CPUs of different kinds are in one distribution",
        "measure each kind by itself: `rtstone doctor` tells them apart, --cpus names CPUs",
        lambda s: len(s.kinds()) > 1,
    ),
    Flag(
        "cut_short",
        "the time limit ended it before all samples or tests were taken",
        "use a longer --time; --time 0 gives a publication's suite its full length",
        lambda s: (
            (s.result.ended == "time" and bool(s.params.get("samples")))
            or s.figure("tests that the time did not allow") > 0
        ),
    ),
    Flag(
        INTERRUPTED,
        "it was interrupted, and has the samples it had taken until then",
        "`rtstone run --resume RUN` takes the others",
        lambda s: (
            s.result.ended == STOPPED and bool(s.params.get("samples") or s.params.get("time"))
        ),
    ),
    Flag(
        "wide",
        "the time limit ended it before its interval was as narrow as --until requested",
        "give more time, as in --until ci=2%,time=10min; the result has the width reached",
        lambda s: False,  # of no single round; see results/rounds.py
    ),
    Flag(
        "scaled",
        "its tests were shorter than the publication's, to fit into the time limit",
        "use --time 0 for the publication's durations",
        lambda s: s.figure("time scale", 1) < 1,
    ),
    Flag(
        "load_starved",
        "before the first miss its tasks left the load less CPU time than it needs for its rate",
        "that is a result: deadlines held because the load did not; its rates say how far it got",
        lambda s: (
            max(s.figure(BREAKDOWN, -1), s.figure(UNREACHED, -1)) >= 0
            and bool(s.load)
            and lacking(s.load) is not None
        ),
    ),
    Flag(
        "brief_load",
        "it was over before its load had been through a few bursts, ten a second",
        "measure it for longer: --time 2, or a longer time in the suite",
        lambda s: bool(s.load) and 0 < s.total("section_ns") < BURSTS * BURST_NS,
        spoils="measured for less than a few bursts of its load",
        voids=("worst case",),
    ),
    Flag(
        "differing_runs",
        "its runs differ by more than the tenth that their source saw",
        "something disturbed them; repeat it on a quiet system",
        lambda s: s.figure("highest of 3") > 1.1 * s.figure("lowest of 3", inf),
    ),
    Flag(
        "not_monotone",
        "tests of an experiment above the first that missed a deadline missed none",
        "the breakdown lies between; what disturbed it may be in other flags: repeat it",
        lambda s: s.figure(HELD_AGAIN) > 0,
    ),
    Flag(
        "dependent_source",
        "its interrupts are requested by a timer of the system itself, in step with what it does",
        "a maximum may be missing what such a timer never meets; use a device that the system has "
        "no use for: source=hpet, or a second board",
        _dependent,
    ),
    Flag(
        "missed",
        "activations never happened because the one before was too late",
        "use the corrected percentiles, which include them",
        lambda s: (s.result.missed or 0) > 0,
    ),
    Flag(
        "negative",
        "samples were negative: shorter than the overhead that is subtracted, or wake-ups that "
        "came before their time",
        "harmless if within a step of the clock; a larger batch makes the former rarer",
        lambda s: s.result.negative > 0,
    ),
    Flag(
        "overflow",
        "samples were too large for the histogram; they count in n, mean and max",
        "check for a suspended machine or a stopped virtual CPU",
        lambda s: s.result.overflow > 0,
    ),
    Flag(
        "batched",
        "several operations per sample: the statistics are those of means, without a maximum",
        "for that see its single calls, timed one by one at the clock's resolution",
        lambda s: s.result.batch > 1,
    ),
    Flag(
        "coarse",
        "samples are shorter than 10 steps of the clock, which two time stamps resolve poorly",
        "use the mean rather than percentiles, or measure on a system with a finer clock",
        _coarse,
    ),
    Flag(
        "vdso_clock",
        "timed by the system's clock, because no invariant cycle counter was found",
        "check whether the kernel marked the TSC unstable, or on ARMv7 keeps CNTVCT from programs",
        lambda s: s.clock == "vdso",
    ),
    Flag(
        "clock_backwards",
        "the clock stepped backwards",
        "do not trust this result; bind the case to one CPU, or use another clock source",
        lambda s: (s.result.max or 0) >= 1 << 63,
        spoils="measured with a clock that stepped backwards",
        voids=ALL,
    ),
    Flag(
        "clock_set",
        "the wall clock was set during the measurement",
        "stop what sets it (a time service that steps it), or use clock=monotonic",
        lambda s: s.figure("wake-ups at which the clock was set") > 0,
        spoils="measured by a wall clock that was set meanwhile",
        voids=ALL,
    ),
    Flag(
        "derived",
        "computed from the results of other benches",
        "`rtstone list BENCH` says from which and how",
        lambda s: False,  # of no series that was measured; see results/derived.py
    ),
    Flag(
        "partial",
        "computed from fewer components than it should have",
        "do not compare it with a complete one; its table of components says what is n.e., and why",
        lambda s: False,  # of no series that was measured; see results/rhealstone.py
        spoils="computed from fewer components than it should have",
        voids=ALL,
    ),
    Flag(
        "imported",
        "measured by another tool with its own procedure, and stored as reported",
        "compare it only with imports of the same tool; see its file for further details",
        lambda s: False,  # this and the following: of results of other tools; see rtstone/formats
    ),
    Flag(
        "buckets",
        "values are known to the width of the tool's buckets, and are placed at their lower edge",
        "evidence.bucket_ns is that width; use narrower buckets if values are only a few times it",
        lambda s: False,
    ),
    Flag(
        "beyond",
        "samples were beyond the tool's histogram: percentiles among them are unknown",
        "measure again with a histogram that includes the maximum",
        lambda s: False,
    ),
    Flag(
        "omission",
        "the tool continues from a late wake-up and does not count the activations that it hid",
        "one bad sample may stand for many; dk.periodic of rtstone counts them",
        lambda s: False,
    ),
    Flag(
        "samples_lost",
        "the tool lost samples: n and the statistics are those of the others",
        "give the tool room for all samples; its notes say how many there were",
        lambda s: False,
    ),
    Flag(
        "statistics_only",
        "the file has the tool's own statistics but no distribution",
        "have the tool write its histogram, if it can",
        lambda s: False,
    ),
    Flag(
        "unit_assumed",
        "the file does not give its unit; microseconds were assumed, the tool's default",
        "if the tool was run in nanoseconds, all values are 1000 times too large",
        lambda s: False,
    ),
    Flag(
        "wall_clock",
        "timed by the wall clock, which may be set during the measurement",
        "check whether a time service stepped the clock, or use a monotonic clock",
        lambda s: s.params.get("clock") == "realtime",
    ),
    Flag(
        LASTING,
        "samples depend on each other for longer than the run can show, so that its intervals are "
        "wide: they reach as far as eight parts of the run differ",
        "measure longer, or several times; look for what changes meanwhile (frequency, load)",
        lambda s: False,  # of a series as it was assembled; see results/series.py
    ),
)

BY_NAME = {flag.name: flag for flag in FLAGS}
INVALIDATING = frozenset(flag.name for flag in FLAGS if "fit" in flag.voids)


def spoilt(
    names: Iterable[str], accepted: Collection[str] = (), judgement: Judgement = "fit"
) -> Flag | None:
    """Return the first of these flags that voids a judgement, None if none does.

    The one rule for everything that judges a result: the headline of a run, its page, a gate, the
    API, a bound.
    """
    flags = (BY_NAME[name] for name in names if name in BY_NAME and name not in accepted)
    return next((flag for flag in flags if judgement in flag.voids), None)


def unfit(names: Iterable[str], n: int, missed: int | None) -> str:
    """Return what proves by a result with these flags that a system is not fit, "" if nothing."""
    if not missed or spoilt(names, judgement="not fit"):
        return ""
    return f"{count(missed)} of {count(n + missed)} activations missed"


def flags(seen: Seen) -> list[str]:
    """Return the names of the flags of a series, in the order of the list."""
    return [flag.name for flag in FLAGS if flag.when(seen)]
