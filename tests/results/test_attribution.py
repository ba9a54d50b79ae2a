"""Which part of a load causes a worst case: exact intervals, planted causes, false alarms."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from math import exp

import pytest
from msgspec import structs

from rtstone.documents.attribution import AttributedCase, Attribution, Ratio
from rtstone.documents.plan import NONE
from rtstone.documents.run import Result
from rtstone.errors import UsageError
from rtstone.measure.attribution import BLOCKS, PHASES, design
from rtstone.results.attribution import _skipped, attributed
from rtstone.wire.records import Load, Param
from tests.chance import is_fine

PARTS = ["cpu", "disk", "interrupt", "network", "syscall", "memory", "search"]
HEAVY = Load(
    id="heavy",
    params=[
        *(Param(name=part, type="bool", default=True) for part in PARTS),
        Param(name="ram", type="bool", default=False),
        Param(name="dir", type="text", max=99),
    ],
)
LOADS = {"heavy": HEAVY, "copy": Load(id="copy", params=[Param(name="dir", type="text")])}
DESIGN = design(["heavy"], LOADS, "a run")

Causes = Mapping[tuple[str, ...], float]  # what parts add while all of them run


def running(load: str) -> set[str]:
    if load == NONE:
        return set()
    pieces = load.partition(":")[2].split(",")
    return set(PARTS) - {piece.removesuffix("=off") for piece in pieces}


def results(order: list[list[str]], causes: Causes, chance: random.Random | None) -> list[Result]:
    """Return a result for each arrangement; with ``chance`` heavy tails, and blocks that differ."""

    def size() -> float:
        return chance.paretovariate(2) if chance else 1.0

    measured: list[Result] = []
    for block in order:
        level = exp(chance.gauss(0, 0.5)) if chance else 1.0
        for load in block:
            value = 10 * size()
            value += sum(add * size() for parts, add in causes.items() if {*parts} <= running(load))
            number = len(measured) + 1
            measured.append(
                Result(case=number, bench="b", params={}, load=load, status="ok", n=9,
                       max=value * level)
            )  # fmt: skip
    return measured


def evaluated(causes: Causes, chance: random.Random | None = None) -> AttributedCase:
    (case,) = attributed(DESIGN, results(DESIGN.order, causes, chance)).cases
    return case


def verdicts(case: AttributedCase) -> dict[str, str]:
    return {part.part: part.verdict for part in case.parts}


@pytest.mark.parametrize(
    ("m", "n", "tail", "skipped"),
    [  # critical values of tables of the rank-sum statistic
        (8, 8, 0.025, 13), (8, 8, 0.005, 7), (6, 6, 0.025, 5), (5, 8, 0.025, 6), (4, 4, 0.025, 0),
        (10, 10, 0.025, 23), (3, 3, 0.025, None), (3, 3, 0.05, 0), (20, 20, 0.025, 127),
    ],
)  # fmt: skip
def test_as_many_pairs_lie_beyond_an_interval_as_tables_say(
    m: int, n: int, tail: float, skipped: int | None
) -> None:
    assert _skipped(m, n, tail) == skipped
    assert _skipped(n, m, tail) == skipped


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ({("disk",): 40}, {"disk": "causes it alone, not without it"}),
        ({("cpu", "network"): 40}, {"cpu": "in company only", "network": "in company only"}),
        (
            {("disk",): 40, ("memory",): 40, ("disk", "memory"): -40},
            {"disk": "causes it alone", "memory": "causes it alone"},
        ),
        ({("disk",): 40, ("cpu",): 10}, {"disk": "causes it alone, not without it"}),
        # of 60 that are added, 20 are not half, though 3 times of 7 times is more than the root
        ({("disk",): 20, ("cpu", "network"): 40},
         {"cpu": "in company only", "network": "in company only"}),
    ],
)  # fmt: skip
def test_planted_causes_are_named_and_no_other_part(
    causes: Causes, expected: dict[str, str]
) -> None:
    case = evaluated(causes)
    assert verdicts(case) == dict.fromkeys(PARTS, "not its cause") | expected
    assert case.reason == "" and case.lost == 0


def test_a_load_that_raises_nothing_has_no_verdict_on_its_parts() -> None:
    case = evaluated({})
    assert set(verdicts(case).values()) == {"undetermined"}
    assert case.reason == "load heavy as a whole does not raise it beyond doubt"
    assert case.whole is not None and case.whole.value == 1


def test_a_lost_measurement_is_counted_and_no_other_takes_its_place() -> None:
    """Each load's results belong to blocks by their place, whether they are valid or not."""
    measured = results(DESIGN.order, {("disk",): 40}, None)
    failed = [r for r in measured if r.load == "heavy"][2]
    measured[failed.case - 1] = structs.replace(failed, status="incomplete", max=9000.0)
    (case,) = attributed(DESIGN, measured).cases
    assert case.lost == 1
    assert (case.none, case.all) == (10, 50)
    assert verdicts(case)["disk"] == "causes it alone, not without it"
    few = [structs.replace(r, status="failed") if r.case > 2 * 16 else r for r in measured]
    (case,) = attributed(DESIGN, few).cases
    assert case.reason == "too few blocks for 15 comparisons that hold together"
    assert set(verdicts(case).values()) == {"undetermined"}
    (case,) = attributed(DESIGN, [r for r in measured if r.load != NONE]).cases
    assert case.reason == "no valid result without load"


def test_what_makes_a_whole_block_slow_decides_nothing() -> None:
    measured = results(DESIGN.order, {("disk",): 40}, None)
    drifting = [
        structs.replace(r, max=(r.max or 0.0) * 2.0 ** ((r.case - 1) // 16)) for r in measured
    ]
    (case,) = attributed(DESIGN, drifting).cases
    assert case.whole is not None
    assert [case.whole.low, case.whole.high] == pytest.approx([5, 5])
    assert verdicts(case) == verdicts(evaluated({("disk",): 40}))


def altered(load: str, values: list[float]) -> AttributedCase:
    """Evaluate planted results of which one arrangement has these values, block by block."""
    measured = results(DESIGN.order, {("disk",): 40}, None)
    places = [r.case - 1 for r in measured if r.load == load]
    for place, value in zip(places, values, strict=True):
        measured[place] = structs.replace(measured[place], max=value)
    (case,) = attributed(DESIGN, measured).cases
    return case


def test_where_the_intervals_do_not_decide_it_is_undetermined() -> None:
    mixed = [500.0] * 5 + [5.0] * 3
    case = altered("heavy", mixed)
    assert case.whole is not None and case.whole.value > 5
    assert case.reason == "load heavy as a whole does not raise it beyond doubt"
    assert set(verdicts(case).values()) == {"undetermined"}
    # Nor is there a verdict on a part that does enough by itself: the whole load may not.
    case = altered("heavy", [50.0] * 5 + [5.0] * 3)
    (disk,) = (part for part in case.parts if part.part == "disk")
    assert disk.alone is not None and disk.alone.low is not None and disk.alone.low > 1
    assert disk.alone.value == pytest.approx(5)
    assert case.reason == "load heavy as a whole does not raise it beyond doubt"
    assert set(verdicts(case).values()) == {"undetermined"}
    case = altered(DESIGN.alone["disk"], mixed)
    assert case.reason == ""
    assert verdicts(case)["disk"] == "not without it"  # and whether it comes alone is not known


def test_the_intervals_of_a_case_hold_together() -> None:
    """Fifteen comparisons share 5%: five pairs are beyond each end, and not the 13 of one."""
    whole = altered("heavy", [50.0 + 10 * block for block in range(8)]).whole
    assert whole is not None
    assert [whole.low, whole.high] == pytest.approx([5, 12])  # each ratio is there eight times


# ---- exact counts --------------------------------------------------------------------------------

EXACT = design(["heavy"], LOADS, "a run", exact=True)


def counts(causes: Causes, factor: Callable[[int], float] = lambda block: 1.0) -> list[Result]:
    """Return a count for each arrangement of each block, in which causes add so much more."""
    measured: list[Result] = []
    for number, block in enumerate(EXACT.order):
        for load in block:
            value = 1000.0 + sum(
                add * factor(number) for parts, add in causes.items() if {*parts} <= running(load)
            )
            measured.append(
                Result(case=len(measured) + 1, bench="b", params={}, load=load, status="ok", n=9,
                       max=value, unit="instructions")
            )  # fmt: skip
    return measured


def exactly(measured: list[Result]) -> AttributedCase:
    (case,) = attributed(EXACT, measured).cases
    assert case.exact
    return case


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ({("disk",): 40_000}, {"disk": "causes it alone, not without it"}),
        (
            {("cpu", "network"): 40_000},
            {"cpu": "in company only", "network": "in company only"},
        ),
        (
            {("disk",): 40_000, ("memory",): 40_000, ("disk", "memory"): -40_000},
            {"disk": "causes it alone", "memory": "causes it alone"},
        ),
        ({("disk",): 40_000, ("cpu",): 10_000}, {"disk": "causes it alone, not without it"}),
    ],
)
def test_planted_causes_of_exact_counts_are_named(causes: Causes, expected: dict[str, str]) -> None:
    """Also where what a cause adds differs by a tenth between the blocks."""
    rest = dict.fromkeys(PARTS, "not its cause")
    for factor in (lambda block: 1.0, lambda block: 1.0 + block / 40):
        case = exactly(counts(causes, factor))
        assert verdicts(case) == rest | expected
        assert (case.reason, case.lost, case.none) == ("", 0, 1000)
    assert case.all == 1000 + 1.075 * sum(causes.values())
    for part in case.parts:
        alone = [r.max or 0 for r in counts(causes, factor) if r.load == EXACT.alone[part.part]]
        without = [r.max or 0 for r in counts(causes, factor) if r.load == EXACT.without[part.part]]
        assert (part.largest_alone, part.largest_without) == (max(alone), max(without))


def test_what_differs_between_blocks_is_undetermined() -> None:
    """A part reaches half alone in three blocks of four; a load that one block does not raise."""
    alone = [r.case for r in counts({}) if r.load == EXACT.alone["disk"]]
    measured = counts({("disk",): 40_000})
    measured[alone[2] - 1] = structs.replace(measured[alone[2] - 1], max=9000.0)
    assert verdicts(exactly(measured))["disk"] == "not without it"
    whole = [r.case for r in counts({}) if r.load == "heavy"]
    measured[whole[1] - 1] = structs.replace(measured[whole[1] - 1], max=1000.0)
    case = exactly(measured)
    assert case.reason == "load heavy as a whole does not raise it in every block"
    assert set(verdicts(case).values()) == {"undetermined"}


def test_an_exact_verdict_is_that_of_any_blocks() -> None:
    """Brute force: what all choices of a block for each arrangement agree on."""
    chance = random.Random(5)
    decided = 0
    for _ in range(300):
        size = chance.choice([1.0, 1.2, 3.0])
        values = {
            load: [base * chance.uniform(1, size) for _ in range(EXACT.blocks)]
            for load in arrangements(EXACT)
            for base in [chance.choice([10.0, 50.0, 100.0])]
        }
        taken = {load: iter(series) for load, series in values.items()}
        case = exactly([structs.replace(r, max=next(taken[r.load])) for r in counts({})])
        none, every = values[NONE], values["heavy"]
        raised = all(a > n for a in every for n in none)
        for part in case.parts:
            halves = [(a + n) / 2 for a in every for n in none]
            alone = {p >= half for p in values[EXACT.alone[part.part]] for half in halves}
            falls = {w <= half for w in values[EXACT.without[part.part]] for half in halves}
            flags = agreed(alone), agreed(falls)
            assert part.verdict == (OF_FLAGS[flags] if raised else "undetermined")
            decided += raised and None not in flags
    assert decided > 300


def agreed(answers: set[bool]) -> bool | None:
    return answers.pop() if len(answers) == 1 else None


OF_FLAGS = {
    (True, True): "causes it alone, not without it", (True, False): "causes it alone",
    (True, None): "causes it alone", (None, True): "not without it",
    (False, True): "in company only", (False, False): "not its cause",
    (False, None): "undetermined", (None, False): "undetermined", (None, None): "undetermined",
}  # fmt: skip


def test_an_exact_ratio_spans_those_of_any_two_blocks() -> None:
    case = exactly(counts({("disk",): 4000}, lambda block: 1.0 + block / 4))
    assert case.whole == Ratio(value=8.0, low=5.0, high=8.0)
    (disk,) = (part for part in case.parts if part.part == "disk")
    assert disk.alone == disk.needed == case.whole


def test_a_single_block_has_no_exact_verdict() -> None:
    measured = counts({("disk",): 40_000})
    few = [structs.replace(r, status="failed") if r.load == "heavy" and r.case > 16 else r
           for r in measured]  # fmt: skip
    case = exactly(few)
    assert case.lost == 3
    assert case.reason == "fewer than 2 valid results under load heavy"
    alone = EXACT.alone["disk"]
    few = [structs.replace(r, status="failed", unit="ns") if r.load == alone and r.case > 16 else r
           for r in measured]  # fmt: skip
    assert verdicts(exactly(few))["disk"] == "not without it"


def test_counts_are_exact_whatever_the_first_measurement_came_to() -> None:
    """What failed has no unit of its own."""
    measured = counts({("disk",): 40_000})
    failed = [structs.replace(r, status="failed", n=0, unit="ns") for r in measured[:1]]
    case = exactly(failed + measured[1:])
    assert (case.unit, case.lost) == ("instructions", 1)
    assert verdicts(case)["disk"] == "causes it alone, not without it"


def test_exact_counts_are_of_few_blocks_in_an_order_that_repeats() -> None:
    assert EXACT.blocks == len(EXACT.order) == PHASES == 4
    assert design(["heavy"], LOADS, "another", exact=True) == EXACT
    assert design(["heavy:cpu=off"], LOADS, "a run", exact=True).order != EXACT.order
    assert len({tuple(block) for block in EXACT.order}) == PHASES


def test_values_that_have_no_ratio_are_named() -> None:
    measured = results(DESIGN.order, {}, None)
    measured[0] = structs.replace(measured[0], max=0.0)
    (case,) = attributed(DESIGN, measured).cases
    assert case.reason == "a value is not above 0, so that there are no ratios"


BLAMED = {"causes it alone", "causes it alone, not without it", "not without it", "in company only"}


def blames(causes: Causes, seed: int) -> Iterator[bool]:
    """Yield whether a part that adds nothing is called a cause, or one that does is not."""
    chance = random.Random(seed)
    guilty = {part for parts in causes for part in parts}
    while True:
        said = verdicts(evaluated(causes, chance))
        yield any(
            said[part] in BLAMED if part not in guilty else said[part] == "not its cause"
            for part in PARTS
        )


@pytest.mark.simulation
@pytest.mark.parametrize(
    "causes", [{}, {("disk",): 20.0}, {("disk",): 100.0}, {("cpu", "network"): 100.0}]
)
def test_false_alarms_are_as_rare_as_stated(causes: Causes) -> None:
    assert is_fine(blames(causes, 1), 0.05, 0.12)


@pytest.mark.simulation
def test_a_cause_of_ten_times_the_rest_is_seen() -> None:
    chance = random.Random(2)
    seen = (
        verdicts(evaluated({("disk",): 100.0}, chance))["disk"] not in BLAMED for _ in range(9999)
    )
    assert is_fine(seen, 0.05, 0.12)


# ---- the design ----------------------------------------------------------------------------------


def arrangements(laid: Attribution) -> set[str]:
    return {NONE, laid.load, *laid.alone.values(), *laid.without.values()}


def test_each_block_has_each_arrangement_once_in_an_order_of_its_own() -> None:
    assert len(DESIGN.order) == DESIGN.blocks == BLOCKS
    for block in DESIGN.order:
        assert len(block) == 16
        assert set(block) == arrangements(DESIGN)
    assert len({tuple(block) for block in DESIGN.order}) == BLOCKS
    assert running(DESIGN.alone["disk"]) == {"disk"}
    assert running(DESIGN.without["disk"]) == set(PARTS) - {"disk"}
    assert design(["heavy"], LOADS, "a run") == DESIGN
    assert design(["heavy"], LOADS, "another").order != DESIGN.order


def test_parts_that_are_off_are_not_taken_apart() -> None:
    off = "heavy:dir=/tmp,cpu=off,disk=off,interrupt=off,network=off,syscall=off"
    laid = design([off], LOADS, "a run")
    assert laid.parts == ["memory", "search"]
    assert laid.alone["memory"] == laid.without["search"] == f"{off},search=off"
    assert [len(block) for block in laid.order] == [4] * BLOCKS


@pytest.mark.parametrize(
    ("loads", "says"),
    [
        ([], "--apart takes one load to pieces; give it with --load, heavy for example"),
        (["heavy", "copy"], "--apart takes one load to pieces"),
        (["none"], "--apart takes one load to pieces"),
        (["havy"], "unknown load 'havy', on this target; did you mean 'heavy'"),
        (["copy"], "load 'copy' has no parts to take it to, in --apart; loads with several parts "
                   "here are heavy"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_apart_is_refused(loads: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=f"^{says}"):
        design(loads, LOADS, "a run")
