"""Budgets: TOML files of limits for a run.

    schema = "rtstone.budget/1"
    title = "Motor control"
    baseline = ["6.1/a", "6.1/b"]        # one or more RUN, or directories beside this file
    inconclusive = "inconclusive"        # how to count inconclusive checks; or "pass", "fail"

    [[case]]
    bench = "dk.periodic"                # may contain * and ?
    params = { period = "1ms" }          # as in a suite; parameters not named may be anything
    loads = ["none", "heavy"]            # default: each load of the run
    p999 = "50us"                        # upper limit
    p50 = ["20us", "+10%"]               # both limits hold; +10% is relative to the baseline
    missed = 0                           # or a share of the activations: "0.01%",
                                         # or "2 in 100": of any 100 successive ones
    jitter = "13us"                      # the largest sample less the smallest
    bound = "200us"                      # worst case, as in `rtstone guarantee`,
    exceedance_per_hour = 1e-4           # exceeded at most this often
    figures = { "breakdown utilisation" = ">= 60%" }

A limit is a quantity (``50us``, ``5k instr``), or relative to the baseline (``+10%``, ``1.1x``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from rtstone import toml
from rtstone.documents.check import Policy
from rtstone.errors import UsageError, unknown
from rtstone.results.flags import BY_NAME
from rtstone.summary import ESTIMATED, LABELS
from rtstone.units import CLOCK, INSTRUCTIONS, spelt

SCHEMA = "rtstone.budget/1"

Bound = Literal["<=", ">="]

TIMES = ("min", *ESTIMATED, "max", "jitter", "bound", "slope")
LIMITS = (*TIMES, "missed")
WIDEST = 1000.0  # largest margin, as a share; beyond it a limit means nothing

# name: base unit, and factor
_UNITS = (
    {name: ("ns", float(factor)) for name, factor in spelt(CLOCK).items()}
    | {name: ("instructions", float(factor)) for name, factor in INSTRUCTIONS.items()}
    | {"%": ("%", 1.0), "": ("", 1.0)}
)
# Unambiguous, so that a text that does not match is refused without backtracking.
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"[^\d\s/]+(?:\s+[^\d\s/]+)*"
LIMIT = re.compile(rf"(<=|>=)?\s*([+-]?)({_NUMBER})(?:\s*({_UNIT}))?(?:\s*/\s*(\w+))?")
_WITHIN = re.compile(r"(?:<=)?\s*(\d{1,9})\s+in\s+(\d{1,9})")  # misses in successive activations
_STATED = re.compile(r"(\S+)\s+([^<>=]*[^<>=\s])\s*([<>]=.+)")
_COMPARISON = re.compile(r"[<>=≤≥]+")
_NAMES = {label: name for name, label in LABELS.items()}
_SAMPLES = {"times": '"50us", "5k instr"', "relative": '"+10%", "1.1x"'}


class Limit(NamedTuple):
    """A limit of one number of a result.

    ``statistic`` is a member of LIMITS, or the name of a figure.  The limit is ``value`` in
    ``unit`` ("ns", "instructions", "%" or the unit of a figure), or ``factor`` times the baseline.
    ``per``: the unit that a slope was written per.  ``within``: of so many successive activations,
    any of them, at most ``value`` may be missed.
    """

    statistic: str
    text: str
    value: float | None
    unit: str
    factor: float | None = None
    bound: Bound = "<="
    per: str | None = None
    figure: bool = False
    within: int | None = None

    @property
    def words(self) -> str:
        """Return the limit as one would write it."""
        return f"{self.bound} {self.text.removeprefix(self.bound).strip()}"


class Entry(NamedTuple):
    """The limits of the results it names; ``where`` is its place in the file, for errors.

    ``accept``: flags that would otherwise invalidate a result.  ``predicted_for_n``: the limits of
    mean and percentiles predict the value that a run of at least so many samples shows, so they are
    compared with the value instead of its confidence interval.
    """

    bench: str
    params: dict[str, object]
    series: str | None
    loads: list[str]
    limits: list[Limit]
    accept: frozenset[str]
    exceedance_per_hour: float | None
    where: str
    predicted_for_n: int | None = None


class Budget(NamedTuple):
    """A budget as read from its file; ``path``: None for limits that no file has."""

    path: Path | None
    title: str
    baselines: list[str]
    inconclusive: Policy
    entries: list[Entry]


_KEYS: dict[str, type] = {
    "schema": str, "title": str, "baseline": object, "inconclusive": str, "case": list,
}  # fmt: skip
_ENTRY_KEYS: dict[str, type] = {
    "bench": str, "params": dict, "series": str, "loads": list, "accept": list,
    "exceedance_per_hour": object, "predicted_for_n": int, "figures": dict,
    **dict.fromkeys(LIMITS, object),
}  # fmt: skip


def load(path: Path) -> Budget:
    """Read a budget.  Raises UsageError if the file is not TOML, or not a budget."""
    table = toml.read(path, "budget")
    toml.check_keys(table, _KEYS, str(path))
    if table.get("schema", SCHEMA) != SCHEMA:
        raise UsageError(f"schema is '{table['schema']}', not {SCHEMA}, in {path}")
    policy = table.get("inconclusive", "inconclusive")
    if policy not in get_args(Policy):
        raise unknown("word", policy, get_args(Policy), f"for inconclusive, in {path}")
    cases = table.get("case", [])
    if not cases:
        raise UsageError(f"no cases, in budget {path}; add [[case]] tables")
    entries = [_entry(case, f"{path}, case {place}") for place, case in enumerate(cases, 1)]
    named = table.get("baseline", [])
    baselines = _texts({"baseline": [named] if isinstance(named, str) else named}, "baseline", path)
    return Budget(path, table.get("title", path.stem), baselines, policy, entries)


def stated(texts: Sequence[str], option: str) -> Budget:
    """Return the budget of limits such as ``dk.periodic p999<=100us``.

    ``option``: what stands before such a text where it was written, for errors: ``--limit ``.
    Raises UsageError.
    """
    entries = []
    for text in texts:
        where = f"{option}'{text}'"
        match = _STATED.fullmatch(text.strip())
        if match is None:
            advice = inclusive(text) or "write one such as 'dk.periodic p999<=100us'"
            raise UsageError(f"no limit, in {where}; {advice}")
        name = _NAMES.get(match[2], match[2])
        figure = name not in LIMITS
        limits = {"figures": {name: match[3]}} if figure else {name: match[3]}
        entries.append(_entry({"bench": match[1], **limits}, where))
    return Budget(None, ", ".join(texts), [], "inconclusive", entries)


def inclusive(text: str) -> str | None:
    """Return the advice to write <= or >= for another comparison, None where a text has none."""
    match = _COMPARISON.search(text)
    if match is None or match[0] in {"<=", ">="}:
        return None
    bound = ">=" if match[0][0] in ">≥" else "<="
    written = f"{text[: match.start()]}{bound}{text[match.end() :]}".strip()
    return f"a limit itself is allowed, so write '{bound}': '{written}'"


def margin(text: str) -> float:
    """Parse a margin such as ``20%`` and return it as a share.  Raises UsageError."""
    match = re.fullmatch(rf"({_NUMBER})\s*%", text.strip())
    if match is None:
        raise UsageError(f"bad margin '{text}'; write a share such as 20%")
    share = float(match[1]) / 100
    if share > WIDEST:
        raise UsageError(f"bad margin '{text}'; write a share up to {WIDEST:.0%}, such as 20%")
    return share


def fits(name: str, pattern: str) -> bool:
    """Return whether a name equals the pattern, or matches its * and ?."""
    return name == pattern or fnmatchcase(name, pattern)


def _entry(case: object, where: str) -> Entry:
    if not isinstance(case, dict):
        raise UsageError(f"a case is not a table, in {where}; write [[case]]")
    toml.check_keys(case, _ENTRY_KEYS, where)
    if "bench" not in case:
        raise UsageError(f'no bench named, in {where}; add bench = "…"')
    where = f"{where} ({case['bench']})"
    limits = [limit for name in LIMITS for limit in _limits(name, case.get(name, []), where)]
    for name, texts in case.get("figures", {}).items():
        limits += _limits(name, texts, where, figure=True)
    if not limits:
        raise UsageError(f'no limits, in {where}; add one such as p99 = "50us" or missed = 0')
    if "exceedance_per_hour" in case and "bound" not in case:
        raise UsageError(f"exceedance_per_hour without a bound, in {where}; add bound")
    loads = _texts(case, "loads", where)
    accept = _texts(case, "accept", where)
    for name in accept:
        if name not in BY_NAME:
            raise unknown("flag", name, BY_NAME, f"in accept of {where}")
    rate = case.get("exceedance_per_hour")
    is_number = isinstance(rate, int | Decimal) and 0 < float(rate) < math.inf
    if rate is not None and not is_number:
        raise UsageError(f"bad exceedance_per_hour '{rate}', in {where}; write one such as 1e-3")
    samples = case.get("predicted_for_n")
    if samples is not None and samples < 1:
        raise UsageError(f"bad predicted_for_n '{samples}', in {where}; write a number of samples")
    return Entry(
        bench=case["bench"],
        params=case.get("params", {}),
        series=case.get("series"),
        loads=loads,
        limits=limits,
        accept=frozenset(accept),
        exceedance_per_hour=None if rate is None else float(rate),
        where=where,
        predicted_for_n=samples,
    )


def _texts(case: dict[str, Any], key: str, where: object) -> list[str]:
    items: list[str] = case.get(key, [])
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise UsageError(f"an item of '{key}' is not text, in {where}")
    return items


def _limits(name: str, texts: object, where: str, *, figure: bool = False) -> list[Limit]:
    """Return the limits of one number, all of which must be met."""
    items = texts if isinstance(texts, list) else [texts]
    return [_limit(name, item, where, figure=figure) for item in items]


def _limit(name: str, item: object, where: str, *, figure: bool) -> Limit:
    text = str(item).strip()
    if name == "missed" and not figure and (pair := _WITHIN.fullmatch(text)):
        most, length = int(pair[1]), int(pair[2])
        if most >= length:
            raise UsageError(
                f"the limit '{text}' of missed allows each activation to be missed, in {where}; "
                'write one such as "2 in 100"'
            )
        return Limit(name, text, float(most), "", within=length)
    match = LIMIT.fullmatch(text) if isinstance(item, str | int | Decimal) else None
    if match is None or isinstance(item, bool):
        raise _bad(name, text, where, figure=figure)
    bound: Bound = ">=" if match[1] == ">=" else "<="
    sign, unit, per = match[2], match[4] or "", match[5]
    number = float(sign + match[3])
    if bound == ">=" and not figure:
        raise UsageError(f"'{name}' can have an upper limit only, not '{text}', in {where}")
    limit = Limit(name, text, None, "", bound=bound, per=per, figure=figure)
    if unit == "x" and not sign:
        limit = limit._replace(factor=number)
    elif unit == "%" and sign:
        limit = limit._replace(factor=1 + number / 100)
    elif unit in _UNITS or figure:
        base, times = _UNITS.get(unit, (unit, 1.0))
        if sign == "+" or (sign and base in {"ns", "instructions"}):
            raise UsageError(
                f"the limit '{text}' of {name} has a sign, in {where}; write "
                f"'{text.replace(sign, '', 1)}', or a share of the baseline such as '{sign}10%'"
            )
        limit = limit._replace(value=number * times, unit=base)
    else:
        raise _bad(name, text, where, figure=figure)
    if not math.isfinite((limit.value or 0.0) + (limit.factor or 0.0)):
        raise UsageError(f"the limit '{text:.40}' of {name} is not finite, in {where}")
    name = limit.statistic
    if limit.figure:
        return limit
    if limit.per and name != "slope":
        raise _bad(name, limit.text, where, figure=False)
    if name == "missed":
        share = limit.unit == "%" and limit.value is not None and 0 <= limit.value <= 100
        whole = limit.value is not None and limit.value >= 0 and limit.value == int(limit.value)
        if not share and (limit.unit or not whole):
            raise UsageError(
                f"bad limit '{limit.text}' of missed, in {where}; write a count, a share of the "
                'activations such as "0.01%", or how many of any successive ones, "2 in 100"'
            )
    elif name == "bound" and limit.factor is not None:
        raise UsageError(f"a bound can have an absolute limit only, not '{limit.text}', in {where}")
    elif limit.value is not None and limit.unit not in {"ns", "instructions"}:
        raise _bad(name, limit.text, where, figure=False)
    return limit


def _bad(name: str, text: str, where: str, *, figure: bool) -> UsageError:
    if advice := inclusive(text):
        return UsageError(f"bad limit '{text}' of {name}, in {where}; {advice}")
    if figure:
        return UsageError(f"bad limit '{text}' of {name}, in {where}; write one such as \">= 60%\"")
    return UsageError(
        f"bad limit '{text}' of {name}, in {where}; write a quantity with its unit "
        f"({_SAMPLES['times']}), or relative to the baseline ({_SAMPLES['relative']})"
    )
