"""`make bench`: how often trends are wrong and what they find, and their time on a large store.

Series are of 100 runs that are drawn from real ones (tests/stats/noise.py), so nothing but what is
planted changes in them.  docs/guides/trend.md has the figures.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log
from pathlib import Path

import msgspec
import numpy as np
from msgspec import structs

from rtstone.documents.run import Result, Run
from rtstone.documents.trend import Change
from rtstone.results.pool import percentiles
from rtstone.stats.trend.changepoints import LEVEL, SHORTEST, change_points
from rtstone.stats.trend.joint import Finding, History, Joint
from rtstone.store.layout import PLAN, RUN
from tests.bench.store import RTSTONE, _here
from tests.stats.noise import Floats, autoregressive, cycle, drawn, noise, shifted
from tests.stats.observed import followed, observed, only, suite_checked
from tests.stats.oracle import AVAILABLE, LACKING, otava

SERIES = 1000
SHIFTED = 300  # series with a shift
POWER = 100  # series for each entry of the table of power
RUNS = 100
WITHIN = 5  # runs
FACTORS = {"p50": 1.03, "p99": 1.10}
AFTER = (5, 10, 20, 50)  # runs after a change
WIDTHS = (1.0, 1.5, 2.0, 3.0, 4.0)  # shifts, in standard deviations of the noise
ORACLE = 100  # series that are given to Otava, which takes a while
CORRELATIONS = (0.0, 0.3, 0.5, 0.8)
CYCLES = (24, 8)  # runs a day, of a daily cycle of five standard deviations
ALIKE = 200  # series of each kind of noise
HISTORIES = 500
CASES = (1, 10, 45)
SHAPES = ((6, 3), (8, 3), (10, 5), (16, 5), (40, 3), (40, 5))  # runs, and the last of them
TENFOLD = 10  # histories of each suite

STORED = 10_000
TARGETS = 40
VARIANTS = 100
TRIES = 5
GOAL_S = 2.0

Rng = np.random.Generator


def changes(values: Floats) -> list[Change]:
    """Return the changes of a series, as `rtstone trend` finds them."""
    return only(followed(observed(values.tolist()))).changes


def share(events: Iterator[bool]) -> float:
    """Return how often something happens."""
    outcomes = list(events)
    return sum(outcomes) / len(outcomes)


def is_caught(values: Floats, at: int) -> bool:
    """Return whether a change for the worse is found at a place, or so many runs beside it."""
    return any(
        abs(change.at - at) <= WITHIN and change.effect.verdict == "worse"
        for change in changes(values)
    )


# ---- errors of both kinds -----------------------------------------------------------------------


def errors(machine: str, metric: str, factor: float) -> None:
    """Print false alarms, and the share of planted shifts that are found."""
    rng = np.random.default_rng(1)
    values = noise(machine, metric)
    scatter = 1.4826 * float(np.median(np.abs(np.log(values / np.median(values)))))
    draw = [drawn(machine, metric, RUNS, rng) for _ in range(SERIES)]
    alarms = share(bool(changes(series)) for series in draw)
    draw = draw[:SHIFTED]
    places = rng.integers(20, RUNS - 20, SHIFTED).tolist()
    middle = share(
        is_caught(shifted(series, at, factor), at) for series, at in zip(draw, places, strict=True)
    )
    soon = share(
        is_caught(shifted(series, RUNS - WITHIN, factor), RUNS - WITHIN) for series in draw
    )
    print(
        f"{machine:6} {metric}  scatter of runs {scatter:6.1%}  false alarms {alarms:5.1%}  "
        f"{factor - 1:+.0%}: {middle:6.1%} found, {soon:6.1%} in the first {WITHIN} runs after it",
        flush=True,
    )


def as_it_was(machine: str, metric: str) -> None:
    """Print what is found in the real series itself, with its own order."""
    detected = changes(noise(machine, metric))
    print(f"{machine:6} {metric}  {len(noise(machine, metric))} runs in their order: "
          f"{len(detected)} changes")  # fmt: skip


def every_error() -> None:
    """Print the errors of both kinds for each machine and metric."""
    for machine in ("quiet", "busy"):
        for metric, factor in FACTORS.items():
            errors(machine, metric, factor)
            as_it_was(machine, metric)


def power() -> None:
    """Print what share of shifts of normal noise is found, by size and runs after the shift."""
    rng = np.random.default_rng(2)
    print(f"\n{'shift / sd':10}" + "".join(f"{after:>5} runs" for after in AFTER))
    for width in WIDTHS:
        row = []
        for after in AFTER:
            at = RUNS - after
            noises = np.exp(0.01 * rng.normal(size=(POWER, RUNS)))
            row.append(
                share(
                    is_caught(shifted(1e4 * noise, at, np.exp(0.01 * width)), at)
                    for noise in noises
                )
            )
        print(f"{width:10g}" + "".join(f"{cell:10.1%}" for cell in row), flush=True)


# ---- runs that are like those beside them -------------------------------------------------------


def alike() -> None:
    """Print false alarms, and what is found, where neighbouring runs are correlated."""
    rng = np.random.default_rng(4)
    print(f"\n{'noise':20}{'changes':>9}{'if not for correlation':>24}{'+10 sd found':>14}")
    for name, draw in (
        *((f"correlation {r:g}", partial(autoregressive, correlated=r)) for r in CORRELATIONS),
        *((f"cycle of {n} runs", partial(cycle, period=n)) for n in CYCLES),
    ):
        draws = [1e4 * np.exp(0.05 * draw(1, RUNS, rng)[0]) for _ in range(ALIKE)]
        series = [only(followed(observed(draw.tolist()))) for draw in draws]
        alarms = share(bool(series.changes) for series in series)
        share_of_others = share(
            bool(s.changes) or any("wander" in doubt.reason for doubt in s.doubts) for s in series
        )
        places = rng.integers(20, RUNS - 20, ALIKE // 4).tolist()
        seen = share(is_caught(shifted(draw, at, np.exp(0.5)), at)
                     for draw, at in zip(draws, places, strict=False))  # fmt: skip
        print(f"{name:20}{alarms:9.1%}{share_of_others:24.1%}{seen:14.1%}", flush=True)


# ---- the gate -----------------------------------------------------------------------------------


def _judged(values: Floats, last: int) -> set[Finding]:
    """Return what the joint test finds in any of these series."""
    joint = Joint([History(value, 0.0) for value in values], last, LEVEL)
    return {joint.judge(number).finding for number in range(len(values))}


def gates() -> None:
    """Print how often a gate fails without a change, and what it says of ten times the latency."""
    rng = np.random.default_rng(5)
    print(f"\nof {HISTORIES} histories without a change, p50 and p99 of each case: failed")
    for correlated in (0.0, *CORRELATIONS[1:]):
        many = HISTORIES if not correlated else HISTORIES // 2
        for cases in CASES:
            lines = []
            for runs, last in SHAPES if not correlated else SHAPES[1::2]:
                draws = (autoregressive(2 * cases, runs, rng, correlated) for _ in range(many))
                failed = share(Finding.WORSE in _judged(draw, last) for draw in draws)
                lines.append(f"{runs}/{last}: {failed:.1%}")
            print(f"correlation {correlated:g}, {cases:2} cases; runs/last {', '.join(lines)}",
                  flush=True)  # fmt: skip
    print("\nwith all cases, and with one, ten times slower in the last runs, through the gate")
    for cases in CASES:
        for runs, last in ((6, 3), (8, 3), (16, 5)):
            for slower in sorted({1, cases}):
                seen = Counter(_tenfold(cases, slower, runs, last, rng) for _ in range(TENFOLD))
                text = f"{cases:2} cases, {slower:2} slower, {runs} runs, last {last}"
                print(f"{text}: {dict(seen)}", flush=True)


def _tenfold(cases: int, slower: int, runs: int, last: int, rng: Rng) -> str:
    """Return the verdict of the gate on a suite of which some cases become ten times slower."""
    values = 1e4 * np.exp(0.02 * autoregressive(cases, runs, rng))
    values[:slower, -min(last, runs - SHORTEST) :] *= 10
    return suite_checked(values, last).verdict


def oracle() -> None:
    """Print how far the changes agree with those of Apache Otava."""
    if not AVAILABLE:
        print(f"\nno oracle: {LACKING}")
        return
    rng = np.random.default_rng(3)
    for title, factor in (("no shift", 1.0), ("a shift of 3%", 1.03), ("a shift of 6%", 1.06)):
        draw = [drawn("quiet", "p50", RUNS, rng) for _ in range(ORACLE)]
        many = [[log(v) for v in shifted(series, RUNS // 2, factor)] for series in draw]
        ours = [[split.at for split in change_points(series)] for series in many]
        findings = otava(many)
        same = share(mine == finding.original for mine, finding in zip(ours, findings, strict=True))
        any_ = [share(iter(map(bool, points))) for points in (ours, [t.original for t in findings],
                                                         [t.hunter for t in findings])]  # fmt: skip
        print(
            f"Otava, {title}: the same changes in {same:.1%} of {ORACLE}; any change: here "
            f"{any_[0]:.1%}, there {any_[1]:.1%}, by Hunter's t-test {any_[2]:.1%}"
        )


# ---- a large store ------------------------------------------------------------------------------


def _measured(home: Path) -> Path:
    words = [RTSTONE, "run", "dk.periodic", "-p", "period=200us", "--time", "2.5",
             "--out", str(home / "real")]  # fmt: skip
    done = subprocess.run(words, env=_here(home), capture_output=True, text=True, check=False)
    if not (home / "real" / RUN).exists():
        sys.exit(f"cannot measure this machine: {done.stderr}")
    return home / "real"


def _store(home: Path) -> None:
    """Make a store of runs of many targets, with counts that differ from run to run."""
    chance = random.Random(1)
    real = msgspec.json.decode((home / "real" / RUN).read_bytes(), type=Run)
    plan = (home / "real" / PLAN).read_bytes()
    results = [_varied(real.results[0], chance) for _ in range(VARIANTS)]
    for number in range(STORED):
        run = structs.replace(
            real, run_id=f"20261101-{number:06}-dk.periodic", results=[chance.choice(results)],
            target=structs.replace(real.target, name=f"ssh:board{number % TARGETS}"),
        )  # fmt: skip
        path = home / "runs" / run.run_id
        path.mkdir(parents=True)
        (path / PLAN).write_bytes(plan)
        (path / RUN).write_bytes(msgspec.json.encode(run))


def _varied(result: Result, chance: random.Random) -> Result:
    """Return a result with other counts in the same buckets, as of another run of its agent."""
    counts = [(value, count + chance.randrange(3)) for value, count in result.histogram]
    n = sum(count for _, count in counts)
    expected = percentiles(counts, n, 0)
    return structs.replace(result, histogram=counts, n=n, overflow=0, **expected)


def _timed(words: Sequence[str], home: Path) -> tuple[float, float, float]:
    """Return wall-clock time and CPU time of a command in s, and its largest memory in MB."""
    begin = time.monotonic()
    process = subprocess.Popen([RTSTONE, *words], env=_here(home), stdout=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def store() -> bool:
    """Print the time of a trend through a large store; return whether it took too long."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        _measured(home)
        _store(home)
        words = ["trend", "dk.periodic", "--json"]
        wall, cpu, most = _timed(words, home)
        print(f"\ntrend of {STORED} runs, history from nothing: {wall:.1f} s, CPU {cpu:.1f} s, "
              f"{most:.0f} MB")  # fmt: skip
        size = (home / "catalogue.db").stat().st_size / 1e6
        late = False
        for title, options in ((f"{TARGETS} targets, p50 and p99", []),
                           ("one target", ["--target", "ssh:board7"])):  # fmt: skip
            tries = [_timed([*words, *options], home) for _ in range(TRIES)]
            wall, cpu, most = min(tries)
            late |= cpu > GOAL_S
            text = f"of {GOAL_S:g} s" + (" TOO LONG" if cpu > GOAL_S else "")
            print(f"trend of {STORED} runs, {title}: CPU {cpu:.2f} s {text}, on the wall "
                  f"{wall:.2f} s, {most:.0f} MB; catalogue {size:.0f} MB on disk")  # fmt: skip
    return late


def main() -> None:
    """Print all, or the parts named on the command line.  Exit with 1 if one is slow."""
    parts: dict[str, Callable[[], object]] = {
        "errors": every_error, "power": power, "alike": alike, "gates": gates, "oracle": oracle,
        "store": store,
    }  # fmt: skip
    named = sys.argv[1:] or list(parts)
    slow = [name for name in named if parts[name]() is True]
    sys.exit(bool(slow))


if __name__ == "__main__":
    main()
