"""Check whether the needs of a task set hold: every task, chain and CPU, and by what margin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from rtstone import __version__
from rtstone.cpus import cpu_list
from rtstone.documents.tasks import (
    Chain,
    ChainCheck,
    Costs,
    CpuLoad,
    Need,
    NeedCheck,
    Schedulability,
    Server,
    Task,
    TaskCheck,
    TaskSet,
    Verdict,
    overall,
)
from rtstone.tasks.analysis import several
from rtstone.tasks.analysis.assumptions import assumptions
from rtstone.tasks.analysis.blocking import User, deadlock
from rtstone.tasks.analysis.chains import Part, bounds
from rtstone.tasks.analysis.problem import (
    OTHER,
    RESERVED,
    Item,
    Place,
    Problem,
    pose,
    shared_resources,
)
from rtstone.tasks.analysis.single import Cpu, Extra, Response, without_bound
from rtstone.tasks.analysis.streams import requested, utilisation

ROUNDS = 200  # of jitters along chains, which grow until they are bounds
DIVERGED = 1000  # periods: a jitter above has no bound
PARTS = 10_000  # of the factor: its resolution
MOST_FACTOR = 1000 * PARTS  # a larger one is not looked for

State = tuple[list[TaskCheck], list[ChainCheck], list[CpuLoad]]


def check(tasks: TaskSet, costs: Costs, file: str = "") -> Schedulability:
    """Return whether the needs of a task set hold on a system with these costs.

    The times of all work have to be known.
    """
    state = at(tasks, costs, Fraction(1))
    factor, first = margin(lambda scale: at(tasks, costs, scale), _holds(state))
    return Schedulability(
        version=__version__, file=file, set=tasks, costs=costs, verdict=_verdict(state),
        factor=factor, first=first, tasks=state[0], chains=state[1], cpus=state[2],
        assumptions=assumptions(tasks, costs),
    )  # fmt: skip


def at(tasks: TaskSet, costs: Costs, scale: Fraction) -> State:
    """Return what is known of all tasks, chains and CPUs if all work takes ``scale`` times it."""
    problem = pose(tasks, costs, scale)
    answers, extra = responses(problem)
    checks = [_task_check(item, answers[item.name], problem) for item in problem.items]
    by_name = {check.task: check for check in checks}
    chains = [_chain_check(chain, tasks, by_name) for chain in tasks.chains]
    return checks, chains, [_cpu_load(place, problem, extra) for place in problem.places]


def margin(state: Callable[[Fraction], State], holds: bool) -> tuple[float | None, list[str]]:
    """Return up to which factor of all work everything holds, and what fails first beyond it.

    ``holds``: at 1.  What holds at a factor holds below it.  None: at no factor, or at any.
    """
    low, high = (PARTS, 2 * PARTS) if holds else (0, PARTS)
    while holds and _holds(state(Fraction(high, PARTS))):
        low, high = high, 2 * high
        if high > MOST_FACTOR:
            return None, []
    while high - low > 1:
        middle = (low + high) // 2
        if _holds(state(Fraction(middle, PARTS))):
            low = middle
        else:
            high = middle
    tasks, chains, loads = state(Fraction(high, PARTS))
    names = [task.task for task in tasks if task.verdict != "holds"]
    names += [chain.chain for chain in chains if chain.verdict != "holds"]
    cpus = [f"CPU {cpu_list(load.cpus)}" for load in loads if load.verdict != "holds"]
    return (low / PARTS if low else None), names or cpus


def _verdict(state: State) -> Verdict:
    return overall([item.verdict for part in state for item in part])


def _holds(state: State) -> bool:
    return _verdict(state) == "holds"


# ---- responses ----------------------------------------------------------------------------------


def responses(problem: Problem) -> tuple[dict[str, Response], Extra]:
    """Return the responses of all tasks, and what chains add to the jitter of woken ones.

    A task is woken at the earliest once all before it took their least time, and at the latest when
    they took their bound: that is its jitter, on which bounds depend (Tindell and Clark 1994).
    """
    woken = [item for item in problem.items if item.task.arrival == "woken"]
    extra: dict[str, int | None] = {item.name: 0 for item in woken}
    foreign = _foreign(problem)
    for _ in range(ROUNDS):
        answers: dict[str, Response] = {}
        for place in problem.places:
            answers |= _of_place(place, problem, extra, foreign)
        later = {item.name: _spread(item, problem, answers, extra) for item in woken}
        if later == extra:
            return answers, extra
        extra = later
    return answers, dict.fromkeys(extra)


def _of_place(
    place: Place, problem: Problem, extra: Extra, foreign: Mapping[str, str]
) -> dict[str, Response]:
    reason = next((foreign[item.name] for item in place.items if item.name in foreign), None)
    if reason:
        return {item.name: without_bound(item, reason) for item in place.items}
    if len(place.cpus) > 1:
        answers = several.responses(place, problem.ticks, extra)
    else:
        answers = Cpu(
            place,
            problem.resources,
            problem.ticks,
            problem.set.quantum_ns,
            problem.costs.switch_ns,
            extra,
        ).responses()
    return answers | {
        item.name: _served(item, place, problem) for item in place.items if item.task.server
    }


def _spread(
    item: Item, problem: Problem, answers: Mapping[str, Response], extra: Extra
) -> int | None:
    """Return how much later than the earliest a task may be woken; None: there is no bound."""
    waker = item.waker or ""
    before = answers[waker]
    if before.bound is None or extra.get(waker, 0) is None:
        return None
    spread = before.bound - next(other.least for other in problem.items if other.name == waker)
    return spread if spread <= DIVERGED * item.period else None


def _foreign(problem: Problem) -> dict[str, str]:
    """Return why no method covers tasks: they share some of their CPUs, resources of other CPUs, or
    take resources in a circle."""
    places = {item.name: place.cpus for place in problem.places for item in place.items}
    reasons: dict[str, str] = {}
    for place in problem.places:
        for other in problem.places:
            if place is not other and set(place.cpus) & set(other.cpus):
                why = (
                    f"no method covers tasks of CPU {cpu_list(place.cpus)} beside those of CPU "
                    f"{cpu_list(other.cpus)}"
                )
                reasons |= {item.name: why for item in place.items}
    for name in sorted(shared_resources(problem.set)):
        users = [task.name for task in problem.set.tasks if name in {u.resource for u in task.uses}]
        if len({places[user] for user in users}) > 1:
            reason = f"no method covers resource '{name}', which tasks of different CPUs use"
            reasons |= dict.fromkeys(users, reason)
    circle = deadlock([User(i.level, i.sections) for i in problem.items], problem.resources)
    if circle:
        names = " and ".join(f"'{name}'" for name in circle)
        users = [i.name for i in problem.items if any(s.resource in circle for s in i.sections)]
        reason = f"a deadlock: {names} are taken in a circle; take them in one order"
        reasons |= dict.fromkeys(users, reason)
    return reasons


def _served(item: Item, place: Place, problem: Problem) -> Response:
    """Return the response of a task that a server serves.

    Its request waits at most a period for the next budget, and then takes as many as it needs, the
    last of which the server has used when its own response is over: if it waits for no other.
    """
    server, level = next(
        (server, level)
        for server, level in zip(place.servers, place.server_levels, strict=True)
        if server.name == item.task.server
    )
    method = f"budgets of server '{server.name}'"
    clients = [other for other in place.items if other.task.server == server.name]
    if not item.bounded:
        return without_bound(item, "its arrivals have no least distance", method)
    if len(clients) > 1 or server.kind == "sporadic":
        return without_bound(
            item, f"no method covers what server '{server.name}' has to do", method
        )
    if not _keeps_up(server, level, place, problem):
        return without_bound(item, f"server '{server.name}' may not get its budget", method)
    bound = (-(-item.work // server.budget_ns) + 1) * server.period_ns
    if bound + item.jitter > item.period:
        reason = "a request may come before the one before it is served"
        return without_bound(item, reason, method)
    attained = item.bare + item.task.jitter_ns
    return Response(attained, method, bound + item.jitter, bound)


def _keeps_up(server: Server, level: int, place: Place, problem: Problem) -> bool:
    """Return whether a server gets its budget in each period."""
    task = Task(
        name=f"server {server.name}", arrival="sporadic", period_ns=server.period_ns,
        work=problem.set.tasks[0].work, cpus=list(place.cpus), priority=level,
    )  # fmt: skip
    item = Item(
        task=task, level=level, work=server.budget_ns, bare=server.budget_ns,
        least=server.budget_ns, period=server.period_ns, jitter=0, deadline=server.period_ns,
        source=task, sections=[],
    )  # fmt: skip
    index = place.servers.index(server)
    alone = Place(
        place.cpus, (*place.items, item),
        place.servers[:index] + place.servers[index + 1 :],
        place.server_levels[:index] + place.server_levels[index + 1 :], place.scale,
    )  # fmt: skip
    cpu = Cpu(
        alone, problem.resources, problem.ticks, problem.set.quantum_ns, problem.costs.switch_ns, {}
    )
    bound = cpu.responses()[task.name].bound
    return bound is not None and bound <= server.period_ns


# ---- verdicts -----------------------------------------------------------------------------------


def needs(tasks: TaskSet, task: Task) -> list[Need]:
    """Return what a task needs; whoever says how often it may miss does not need every deadline."""
    lenient = any(need.measure in {"missed", "weakly_hard"} for need in task.needs)
    deadline = tasks.deadline_ns(task)
    if task.policy == "other" and task.deadline_ns is None and not lenient:
        deadline = None
    if deadline is None or lenient:
        return list(task.needs)
    return [Need(measure="deadline", text="met", limit=float(deadline)), *task.needs]


def _task_check(item: Item, answer: Response, problem: Problem) -> TaskCheck:
    local = answer.bound if item.task.arrival != "woken" else answer.local
    checks = [_need_check(need, item, answer, local) for need in needs(problem.set, item.task)]
    deadline = item.deadline
    from_source = None
    if item.task.arrival == "woken" and answer.bound is not None:
        earliest = _earliest(item, problem)
        from_source = answer.bound + earliest
    return TaskCheck(
        task=item.name,
        cpus=item.task.cpus,
        verdict=overall(check.verdict for check in checks),
        response_ns=local,
        exact=local is not None and local == answer.attained,
        method=answer.method,
        from_source_ns=answer.bound if item.task.arrival != "woken" else from_source,
        best_ns=item.least,
        blocking_ns=answer.blocking,
        deadline_ns=deadline,
        slack_ns=None if local is None or deadline is None else deadline - local,
        needs=checks,
        reason=answer.reason,
    )


def _earliest(item: Item, problem: Problem) -> int:
    """Return the least time from the arrival at the source to the release of a woken task."""
    if item.waker is None:
        return 0
    waker = next(other for other in problem.items if other.name == item.waker)
    return waker.least + _earliest(waker, problem)


def _need_check(need: Need, item: Item, answer: Response, local: int | None) -> NeedCheck:
    deadline = item.deadline
    measure, limit = need.measure, need.limit
    if measure in {"deadline", "missed", "weakly_hard"}:
        hard = measure == "deadline" or limit == 0
        if deadline is None:
            return NeedCheck(need=need, verdict="unknown", reason="it has no deadline")
        if local is not None and local <= deadline:
            return NeedCheck(need=need, verdict="holds", bound=_bound_of(need, local))
        late = answer.overload or answer.attained > deadline
        return NeedCheck(
            need=need, verdict="fails" if hard and late else "unknown",
            bound=None if local is None else _bound_of(need, local),
            reason=answer.reason if hard else "how often it misses is not known to the analysis",
        )  # fmt: skip
    if measure == "jitter":
        spread = None if local is None else local - item.least
        holds = spread is not None and spread <= limit
        return NeedCheck(need=need, verdict="holds" if holds else "unknown", bound=spread,
                         reason=None if holds else answer.reason or "not shown")  # fmt: skip
    if local is not None and local <= limit:
        return NeedCheck(need=need, verdict="holds", bound=local)
    if measure == "response.max" and (answer.overload or answer.attained > limit):
        return NeedCheck(need=need, verdict="fails", bound=local, reason=answer.reason)
    reason = answer.reason or "the analysis knows the longest response alone"
    return NeedCheck(need=need, verdict="unknown", bound=local, reason=reason)


def _bound_of(need: Need, response: int) -> float | None:
    """Return what is known of what a need limits, if its deadline holds: misses are none."""
    return float(response) if need.measure == "deadline" else None


def _chain_check(chain: Chain, tasks: TaskSet, checks: Mapping[str, TaskCheck]) -> ChainCheck:
    deadline = chain.deadline_ns
    unbounded = next((n for n in chain.path if checks[n].from_source_ns is None), None)
    if unbounded is not None:
        why = f"the response of '{unbounded}' has no bound"
        verdict: Verdict = "holds" if deadline is None else "unknown"
        return ChainCheck(chain=chain.name, verdict=verdict, deadline_ns=deadline, reason=why)
    answer = bounds(_parts(chain, tasks, checks))
    reason = None
    verdict = "holds"
    if deadline is not None and (answer.reaction is None or answer.reaction > deadline):
        verdict = "unknown"
        reason = "its bound is above its deadline"
        if answer.reaction is None:
            reason = "a sporadic task in it may read as late as it likes"
    return ChainCheck(
        chain=chain.name, verdict=verdict, latency_ns=answer.latency, reaction_ns=answer.reaction,
        age_ns=answer.age, deadline_ns=deadline, reason=reason,
    )  # fmt: skip


def _parts(chain: Chain, tasks: TaskSet, checks: Mapping[str, TaskCheck]) -> list[Part]:
    """Return the parts of a chain: tasks that arrive by themselves, each with those it wakes."""
    groups: list[list[Task]] = []
    for name in chain.path:
        task = tasks.task(name)
        if groups and task.arrival == "woken":
            groups[-1].append(task)
        else:
            groups.append([task])
    parts = []
    for group in groups:
        source = tasks.source(group[0].name)
        period = source.period_ns if source.arrival == "periodic" else None
        parts.append(Part(period, checks[group[-1].name].from_source_ns or 0))
    return parts


def _cpu_load(place: Place, problem: Problem, extra: Extra) -> CpuLoad:
    costs, count = problem.costs, len(place.cpus)
    bounded = [item for item in place.items if item.bounded and item.task.server is None]
    own = [item for item in bounded if item.level > OTHER]
    streams = [item.stream() for item in own] + place.server_streams(OTHER) + list(problem.ticks)
    share = utilisation(streams)
    reserved = utilisation(
        [item.stream() for item in own if item.level == RESERVED]
        + [s for s, level in zip(place.server_streams(OTHER), place.server_levels, strict=True)
           if level == RESERVED]
    )  # fmt: skip
    verdict: Verdict = "holds"
    reason = None
    sure = utilisation(item.raw() for item in own)
    if sure > count:
        verdict, reason = "fails", f"{float(sure):.0%} of {_number(count)} is asked for"
    elif reserved > Fraction(costs.admitted).limit_denominator(PARTS) * count:
        verdict = "fails"
        reason = (
            f"reservations ask for {float(reserved / count):.1%}, and the kernel admits "
            f"{costs.admitted:.0%}"
        )
    elif costs.rt_runtime_ns and _throttled(own, costs, extra):
        verdict = "unknown"
        reason = (
            f"the kernel may throttle real-time tasks, which get {costs.rt_runtime_ns / 1e6:g} ms "
            f"of each {costs.rt_period_ns / 1e6:g} ms"
        )
    return CpuLoad(cpus=list(place.cpus), utilisation=float(share), reserved=float(reserved),
                   verdict=verdict, reason=reason)  # fmt: skip


def _throttled(items: Sequence[Item], costs: Costs, extra: Extra) -> bool:
    """Return whether real-time tasks may use up what the kernel leaves them in one period."""
    fixed = [item for item in items if item.level < RESERVED]
    streams = [item.stream(extra.get(item.name) or 0) for item in fixed]
    return requested(streams, costs.rt_period_ns) > costs.rt_runtime_ns


def _number(count: int) -> str:
    return "the CPU" if count == 1 else f"{count} CPUs"
