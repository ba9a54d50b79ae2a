"""What a comparison says: a sentence for each column, and what would settle the rest."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from rtstone.documents.case_key import family
from rtstone.documents.comparison import Cell, Column, Comparison, Effect, Row, Verdict
from rtstone.documents.run import LOCAL, LOST_STATUSES
from rtstone.report.comparison.words import INSTRUCTIONS, TIMES, Judged, by_part, imported
from rtstone.results.estimates import TOO_FEW
from rtstone.results.load_rates import lighter
from rtstone.stats.comparison.effects import NO_FLOOR
from rtstone.units import count, counted, rounded, seconds

LARGEST = 10  # effects that the answers name together, but LEAST for each column
LEAST = 3
_FAMILIES = 6  # families of benches that the answer names
_ORDER: tuple[Verdict, ...] = ("worse", "better", "no difference", "inconclusive")
_SUITE = re.compile(r"\d{8}-\d{6}\.\d{3}-([a-z_]+)-[0-9a-f]{4}$")  # the id of a run
_BEGUN = re.compile(r"\d{8}-\d{6}\.\d{3}(?=-)")  # the start of an id, which is enough of it
_MEASURE = "It is unknown how far runs of one system differ. To know it:"
_MEASURE_AND_IMPORT = (
    "It is unknown how far runs of one system differ. To know it, measure one of them three "
    "times more with its own tool, import the files and name those runs:"
)
_SEEDS = (
    "Seeds are repetitions here: to settle what is inconclusive, run each system with more of them "
    "(`+seed=N` behind the target)."
)
_WHY = 2  # reasons given together
_BENCHES = 3  # named in a command
_MANY = 200  # more pairs of runs than a person takes
_OF_ONE_RUN = frozenset({"--name", "--out"})
_WITHOUT_VALUE = frozenset({"--apart", "--wait", "--yes", "--json", "-q", "--quiet", "--keep-idle"})
_LONGEST_S = 86_400  # of a run that is advised
_IN_PAIRS = frozenset({"--load", "-p", "--time", "--cpus"})  # options of `compare --run`


class Balance(NamedTuple):
    """All verdicts of one column in a sentence, and the largest effect of each row.

    ``column``, ``against``: as of an effect.
    """

    column: str
    against: str | None
    sentence: str
    largest: list[Judged]


def balances(comparison: Comparison, effects: Sequence[Judged]) -> list[Balance]:
    """Return the balance of each column but the first, then of what the first lacks."""
    first = comparison.columns[0].label
    pairs: list[tuple[str, str | None]] = [(c.label, None) for c in comparison.columns[1:]]
    several = dict.fromkeys([*pairs, *((e.effect.column, e.effect.against) for e in effects)])
    most = max(LEAST, LARGEST // max(len(several), 1))
    answered = []
    for label, against in several:
        own = [e for e in effects if (e.effect.column, e.effect.against) == (label, against)]
        differ = [e for e in own if e.effect.verdict in ("better", "worse")]
        foremost: dict[str, Judged] = {}  # of each row
        for entry in sorted(differ, key=lambda entry: -entry.weight):
            foremost.setdefault(str(entry.name), entry)
        other = first if against is None else f"{against} (in what {first} lacks)"
        sentence = f"{label} has no case like {other}"
        if own:
            sentence = f"{label} {_balance(own, other)}"
        largest = list(foremost.values())[:most]
        answered.append(Balance(label, against, f"{sentence}.", largest))
    return answered


def _balance(effects: Sequence[Judged], other: str) -> str:
    """Return how a column compares with another: ``is slower than A in 25 of 27 effects``."""
    total = counted(len(effects), "effect")
    scope = "any of " if len(effects) > 1 else ""
    timed = all(entry.row.unit in TIMES and entry.effect.part != "missed" for entry in effects)
    words: dict[Verdict, str] = {
        "worse": "slower" if timed else "worse",
        "better": "faster" if timed else "better",
    }
    number = Counter(entry.effect.verdict for entry in effects)
    rest = ", ".join(f"{number[v]} {v}" for v in _ORDER[2:] if number[v])
    text = ""
    single = len({family(entry.row.bench) for entry in effects}) == 1
    for verdict, word in words.items():
        side = [entry.row for entry in effects if entry.effect.verdict == verdict]
        if single:  # its name says nothing then
            named = f": {by_part(effects, verdict)}"
        else:
            families = list(dict.fromkeys(family(row.bench) for row in side))
            named = f" ({', '.join(families[:_FAMILIES])}"
            if len(families) > _FAMILIES:
                named += f" and {len(families) - _FAMILIES} more"
            named += ")"
        if side and not text:
            text = f"is {word} than {other} in {len(side)} of {total}{named}"
        elif side:
            text += f"{';' * single} and {word} in {len(side)}{named}"
    if not text and number["no difference"] == len(effects):
        return f"shows no difference from {other} in {scope}{total}"
    if excluded := [e.effect.within for e in effects if e.effect.within is not None]:
        above = f"no difference above {100 * max(excluded):.2g}%"
        if not text and len(excluded) + number["no difference"] == len(effects):
            return f"shows {above} from {other} in {scope}{total}"
        rest += f" ({len(excluded)} of them {above})"  # of the inconclusive, which are named last
    if not text:
        return f"shows no certain difference from {other} in {scope}{total}: {rest}"
    return f"{text}; {rest}" if rest else text


def advice(comparison: Comparison) -> tuple[str, str]:
    """Return what to do about what is not settled, and the command for it; both may be empty."""
    if lost := uncompared(comparison):
        return _again(comparison, lost), ""
    text, command = _longer(comparison)
    if text:
        return text, command
    command = repeating(comparison)
    if INSTRUCTIONS in comparison.units and any(c.seeds for c in comparison.columns):
        effects = (effect for row in comparison.rows for effect in row.effects)
        unsettled = any(e.verdict == "inconclusive" and e.basis for e in effects)
        return (_SEEDS, command) if unsettled else ("", "")
    if command:
        return _MEASURE_AND_IMPORT if imported(comparison) else _MEASURE, command
    return _beside_floor(comparison)


def _longer(comparison: Comparison) -> tuple[str, str]:
    """Return how long runs have to be that are too short for their tail, and the command for it.

    Both are empty if they are long enough, or if it is not known how long they have to be.
    """
    case = next(iter(comparison.main), None)
    if case is None or case.verdict != "inconclusive":
        return "", ""
    labels = {case.column, case.against or comparison.columns[0].label}
    needed, spans = 0.0, list[float]()
    for entry in case.effects:
        effect = entry.effect
        if effect.verdict != "inconclusive" or effect.part == "missed" or effect.ratio is not None:
            continue
        if not effect.missing:
            continue
        for place in set(entry.rows):
            cells = comparison.rows[place].cells
            for column, cell in zip(comparison.columns, cells, strict=True):
                if column.label in labels and cell and cell.n and cell.section_s and cell.runs:
                    n, span = cell.n / cell.runs, cell.section_s / cell.runs
                    spans.append(span)
                    needed = max(needed, span * (1 + effect.missing / n))
    if not needed or any("samples=" in word for column in comparison.columns
                         for word in column.command):  # fmt: skip
        return "", ""
    step = 10 ** (floor(log10(needed)) - 1)
    whole = ceil(ceil(needed / step) * step)  # two digits
    text = f"Runs of {seconds(min(spans))} are too short to decide it; about {seconds(whole)}"
    if whole > _LONGEST_S:
        return f"{text} each would do.", ""
    time = ["--time", str(whole)]
    if command := _in_turn(comparison, len(comparison.rules.pairs) if comparison.rules else 2):
        return f"{text} each would do:", shlex.join([*_untimed(command), *time])
    if imported(comparison):
        return f"{text} each would do.", ""
    again = _recorded(comparison.columns[0]) or f"rtstone run {_subject(comparison)}"
    return f"{text} each would do, several on each side:", shlex.join([*_untimed(again), *time])


def _untimed(command: str) -> list[str]:
    """Return the words of a command without how long it measures."""
    taken: list[str] = []
    rest = iter(shlex.split(command))
    for word in rest:
        if word == "--time":
            next(rest, None)
        elif not word.startswith("--time="):
            taken.append(word)
    return taken


def uncompared(comparison: Comparison) -> list[tuple[Row, Cell]]:
    """Return the cells that were lost if none of the effects could be judged for that reason."""
    rows = [row for row in comparison.rows if row.effects]
    cells = ((row, cell) for row in rows for cell in row.cells)
    lost = [(row, cell) for row, cell in cells if cell and cell.status in LOST_STATUSES]
    judged = any(effect.basis for row in rows for effect in row.effects)
    return [] if judged or len({id(row) for row, _ in lost}) < len(rows) else lost


def _again(comparison: Comparison, lost: Sequence[tuple[Row, Cell]]) -> str:
    """Return what to measure again, and how."""
    columns = comparison.columns
    again = [
        column.label for place, column in enumerate(columns)
        if any(cell is row.cells[place] for row, cell in lost)
    ]  # fmt: skip
    which = ", ".join(again) if len(again) < len(columns) else "all"
    which = "both" if len(again) == len(columns) == 2 else which
    remedy = next(filter(None, (lighter(cell.reason, row.load) for row, cell in lost)), "")
    return f"To compare them, repeat {which}{f' {remedy}' if remedy else ''}."


def cause(effect: Effect) -> str:
    """Return why an effect has no verdict, without what is so of its samples only."""
    reason = effect.reason or ""
    return TOO_FEW if reason.startswith(TOO_FEW) else reason


def _beside_floor(comparison: Comparison) -> tuple[str, str]:
    """Return what settles the main case if the scatter of runs is known, or that nothing does."""
    case = next(iter(comparison.main), None)
    if case is None or case.verdict != "inconclusive":
        return "", ""
    unsettled = [e.effect for e in case.effects if e.effect.verdict == "inconclusive"]
    beside = [effect for effect in unsettled if effect.floor is not None]
    pairs = min((effect.pairs for effect in beside if effect.pairs), default=None)
    if pairs is not None and pairs <= _MANY:
        text = f"To settle it, take about {counted(pairs, 'pair')} of runs in turn"
        if command := _in_turn(comparison, pairs):
            return f"{text}:", command
        return f"{text} (run one, then the other), and join those of each by commas.", ""
    if any(effect.missing for effect in unsettled):  # the verdicts say how many
        return "", ""
    if beside:
        floor = max(effect.floor or 0.0 for effect in beside)
        text = f"More runs of this machine will not decide it: noise floor {rounded(100 * floor)}%"
    elif few := next((e.reason for e in unsettled if (e.reason or "").startswith("too few")), ""):
        return f"More runs as short as these will not decide it, measure for longer: {few}.", ""
    else:
        return "", ""
    return f"{text}{_disturbed(comparison)}.", ""


def _disturbed(comparison: Comparison) -> str:
    """Return why numbers of a virtual machine scatter, empty of any other."""
    stolen = max((c.stolen for c in comparison.columns if c.stolen), default=None)
    if stolen:
        return (
            f", and steal time grew between {100 * stolen:.2g}% of its readings. Its hypervisor is "
            "the likely reason; measure on a machine of its own"
        )
    virtual = comparison.equal.get("virtual machine") == "yes"
    return ", on a virtual machine, the likely reason" if virtual else ""


def _in_turn(comparison: Comparison, pairs: int) -> str:
    """Return the command that takes pairs of two targets in turn; empty if they are not two."""
    targets = [shlex.quote(column.target) for column in comparison.columns]
    if len(set(targets)) != len(targets) or len(targets) != 2 or imported(comparison):
        return ""
    return (
        f"rtstone compare --run {' '.join(targets)} {_subject(comparison)} --pairs {max(2, pairs)}"
    )


def repeating(comparison: Comparison) -> str:
    """Return the command that measures how far runs of one system differ, empty if it is known."""
    if NO_FLOOR not in {effect.reason for row in comparison.rows for effect in row.effects}:
        return ""
    targets = [shlex.quote(column.target) for column in comparison.columns]
    ids = [run for column in comparison.columns for run in column.runs]
    tools = imported(comparison)
    if len(targets) == 2 and targets[0] != targets[1] and not tools:
        return f"rtstone compare --run {' '.join(targets)} {_subject(comparison)}"
    shorts = {run: match[0] if (match := _BEGUN.match(run)) else run for run in ids}
    if len(set(shorts.values())) < len(set(ids)):
        shorts = {}
    # By name, by the start of the id, or by the id.
    runs = " ".join(
        ",".join(shlex.quote(column.names.get(run, shorts.get(run, run))) for run in column.runs)
        for column in comparison.columns
    )
    if tools:
        return f"rtstone compare {runs} --floor RUN,RUN,RUN"
    target = "" if targets[0] == LOCAL else f" --target {targets[0]}"
    again = _recorded(comparison.columns[0]) or f"rtstone run {_subject(comparison)}{target}"
    return f"for i in 1 2 3; do {again}; done; rtstone compare {runs} --floor last~2,last~1,last"


def _recorded(column: Column) -> str:
    """Return the command line that measured a column, empty if it was none of `rtstone run`.

    Without what a repetition must not have: the run's name, which is taken, and its outputs.
    """
    program, *words = column.command or [""]
    if program != "rtstone" or words[:1] != ["run"]:
        return ""
    taken = []
    rest = iter(words)
    for word in rest:
        if word in _OF_ONE_RUN:
            next(rest, None)
        elif word.partition("=")[0] not in _OF_ONE_RUN and word != "--json":
            taken.append(shlex.quote(word))
    return " ".join(["rtstone", *taken])


def _subject(comparison: Comparison) -> str:
    """Return what `compare --run` measures again: as it was recorded, else suite or benches."""
    options = _options(comparison.columns[0])
    if options:
        return options
    ids = [run for column in comparison.columns for run in column.runs]
    suites = {match[1] for run in ids if (match := _SUITE.match(run))}
    names = list(dict.fromkeys(row.bench for row in comparison.rows))
    if len(suites) == 1 and not (suites & set(names)):
        return suites.pop()
    return " ".join(names[:_BENCHES])


def _options(column: Column) -> str:
    """Return what was measured with those options that `compare --run` has too; may be empty."""
    words = shlex.split(_recorded(column))[2:]
    taken: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if not word.startswith("-"):
            taken.append(word)
        elif name in _IN_PAIRS:
            taken += [word] if equals else [word, next(rest, "")]
        elif name not in _WITHOUT_VALUE and not equals:
            next(rest, None)
    return " ".join(map(shlex.quote, taken))


def rules(comparison: Comparison) -> str:
    """Return the basis of the verdicts, empty if there are none."""
    basis = comparison.rules
    if basis is None or not basis.floor:  # nothing could be judged
        return ""
    if not basis.effects:
        return f"Verdicts: noise floor {basis.floor}."
    return (
        f"Verdicts: intervals hold together with {1 - basis.level:.0%} ({basis.correction}, "
        f"{counted(basis.effects, 'test')}); within {basis.margin:.0%}, or the noise floor up to "
        f"10%, is no difference. Noise floor {basis.floor}."
    )


def folded_text(comparison: Comparison) -> str:
    """Return what is not shown without --all."""
    effects = (effect for row in comparison.rows for effect in row.effects)
    why = Counter(cause(e) for e in effects if e.verdict == "inconclusive" and e.reason)
    causes = ", ".join(f"{reason} ({count(n)})" for reason, n in why.most_common(_WHY))
    text = f"{counted(len(comparison.rows), 'row')} in all, shown by --all"
    return f"{text}; inconclusive mostly by: {causes}" if causes else text
