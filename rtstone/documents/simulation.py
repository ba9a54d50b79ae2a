"""The document of a simulation, schema rtstone.simulation/1.

It holds no time of day and no number of workers, so that equal requests give equal documents, byte
for byte.  Unknown is ``None``.  Times are nanoseconds.
"""

from __future__ import annotations

import msgspec

SCHEMA = "rtstone.simulation/1"
EXACT = "nominal"  # execution times of jobs that take what their tasks declare


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """All task sets of one size at one utilisation under one policy.

    ``schedulable``: share of the sets without a miss, with its 95% interval (Wilson).  ``jobs``:
    those whose deadline is within the simulated time; the lateness of a job that was not completed
    is counted up to the end.  ``response_…``: of the aperiodic requests that were served.
    ``value_ratio``: value of the jobs that met their deadline, divided by the value of all.
    """

    policy: str
    tasks: int
    utilisation: float
    sets: int
    schedulable: float
    schedulable_ci95: tuple[float, float]
    jobs: int
    missed: int
    miss_ratio: float | None
    lateness_mean_ns: float | None
    lateness_max_ns: int | None
    requests: int
    served: int
    response_mean_ns: float | None
    response_max_ns: int | None
    preemptions_per_job: float | None
    value_ratio: float | None
    switches: int
    events: int


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """Utilisation up to which sets miss no deadline, all execution times scaled by one factor."""

    policy: str
    tasks: int
    sets: int
    min: float
    mean: float
    max: float


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of the system.

    ``rt_runtime_ns`` in every ``rt_period_ns``: what the kernel leaves to real-time tasks; 0: all.
    ``from_run``: id of the run they were taken from, None if given.  ``sources``: where each comes
    from in that run.
    """

    switch_ns: int = 0
    tick_ns: int = 0
    tick_cost_ns: int = 0
    rt_runtime_ns: int = 0
    rt_period_ns: int = 0
    from_run: str | None = None
    sources: list[str] = []


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What was requested."""

    policies: list[str]
    tasks: list[int]
    utilisation: list[float]
    sets: int
    seed: int
    time_ns: int
    execution: str
    deadlines: str
    aperiodic_load: float
    server: str
    server_budget_ns: int | None
    server_period_ns: int | None
    protocol: str | None
    quantum_ns: int
    costs: Cost


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """The simulation document.  ``numpy``: its version, as another might draw different sets."""

    schema: str = SCHEMA
    version: str
    numpy: str
    request: Request
    points: list[Point]
    breakdown: list[Breakdown]


class Test(msgspec.Struct, frozen=True, kw_only=True):
    """One test of a Hartstone experiment.  ``utilisation``: in percent of the raw speed."""

    utilisation: float
    activations: int
    met: int
    missed: int
    skipped: int
    late_mean_ns: float | None


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment under one policy.

    ``form``: of the server, None without one.  ``duration_ns``: of each test.  ``stop_misses``:
    number of missed or skipped deadlines that ends the experiment.
    ``breakdown``: utilisation, in percent, of the last test before the first with a miss or a skip,
    with the costs; None if there was none.  ``breakdown_free``: the same without any costs.
    ``first_miss``: utilisation of the first test with a miss or skip; None: the breakdown is a
    lower limit.
    ``ended``: why it ended (misses, utilisation, tests).
    ``measured``, ``measured_first_miss``: the same of the real run.  ``gap``: what the operating
    system took beyond the costs, in percentage points; None if no breakdown was measured, or
    something outside the system disturbed it: ``disturbed``, flags of the result.
    """

    experiment: str
    set: str
    policy: str
    form: str | None
    raw_kwips: int
    factor: int
    duration_ns: int
    stop_misses: int
    breakdown_free: float | None
    breakdown: float | None
    first_miss: float | None
    ended: str
    measured: float | None
    measured_first_miss: float | None
    disturbed: list[str] = []
    gap: float | None
    tests: list[Test]


class Hartstone(msgspec.Struct, frozen=True, kw_only=True):
    """Simulated Hartstone.  ``left_out``: what the run measured but cannot be simulated."""

    schema: str = "rtstone.simulated-hartstone/1"
    version: str
    costs: Cost
    left_out: list[str]
    experiments: list[Experiment]
