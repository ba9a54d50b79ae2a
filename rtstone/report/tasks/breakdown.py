"""A breakdown in words, on a terminal and as a page: the answer, the curve, and its tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.breakdown_curve import BreakdownCurve, BreakPoint, Breakpoint
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model import Chart, Charts, Findings, Page, Section, Table
from rtstone.report.parts.model import Finding as Line
from rtstone.report.parts.model_html import write
from rtstone.report.parts.model_terminal import block_lines
from rtstone.units import count, counted, trimmed

_MANY = 3  # names that are listed in the answer
_METHOD = {
    "Level": "So many times the work, the rates, or the work of one task; the utilisation is what "
    "jobs take on average, on the CPUs of which most is demanded.",
    "Search": "Levels halve the range until the curve exceeds the limit between two that are "
    "neighbours at the resolution, then what lies between surely below and surely above. Tests of "
    "a level have different seeds, so other arrivals and other work where these are drawn.",
    "Share": "Missed of what was due in all tests of a level, as the rising curve nearest to all "
    "of them (Ayer and others 1955).",
    "Bounds": "At each level the tightest that tests of neighbours give together, by Hoeffding's "
    "inequality of 1963, with the jobs counting for as many fewer as tests scatter more than "
    "independent jobs would. They hold together with 95%. A disturbance that is too rare for these "
    "tests is not in them.",
    "Exact": "On a system without noise, a set of which nothing is drawn has one outcome at each "
    "level. Then the search ends at neighbours, of which the lower held and the upper did not; in "
    "between those that were tested the share is taken to rise.",
    "Linear steps": "As many tests as levels at the resolution up to the breakdown take, each "
    "tested as often as here on average.",
}


def breakdown_lines(document: BreakdownCurve, width: int) -> Iterator[RenderableType]:
    """Yield a breakdown on a terminal of a width."""
    yield from sentences(Text(answer(document), "bold"), width, "  ")
    for section in _sections(document):
        yield Text()
        yield Text(section.title, style="bold cyan")
        yield from block_lines(section.blocks, width)


def compose(document: BreakdownCurve) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    curve = Section("curve", "Curve", [Charts([_chart(document)])])
    page = Page(
        title=f"Breakdown of {document.title or document.file} on {document.target}",
        kicker=f"Breakdown, load {document.load}",
        verdict=f"{answer(document)}.",
        sections=[curve, *_sections(document)],
        method=_METHOD,
    )
    return write(page)


# ---- the answer ---------------------------------------------------------------------------------


def answer(document: BreakdownCurve) -> str:
    """Return where the set breaks down, how sure that is, and what the analysis says."""
    early = f"; the search ended early: {document.early}" if document.early else ""
    return f"{_breakdown(document)}{_beside(document)}{early}"


def _breakdown(document: BreakdownCurve) -> str:
    if document.exact:
        return _exact(document)
    limit = _limit(document)
    at, low, high = document.at, document.low, document.high
    if at is None:
        highest = document.points[-1]
        if low is None:
            return f"not known where {limit}: nothing that was tested is surely below it"
        return (
            f"fewer than {limit} up to {_demand(document, low)}, and no test was beyond "
            f"{_percent(highest)}"
        )
    if low is not None and high is not None:
        span = f"{_percent(low)} to {_percent(high)}"
        factors = f", {_factor(document, at)} ({_number(low)} to {_number(high)})"
        return f"{limit} at {_percent(at)} of the CPU ({span}){factors}"
    if high is not None:
        return (
            f"{limit} at {_percent(high)} of the CPU at most, {_factor(document, high)}; "
            "no level that was tested is surely below that"
        )
    least = "no level is surely below that" if low is None else f"surely not at {_percent(low)}"
    return (
        f"{limit} at about {_percent(at)} of the CPU, {_factor(document, at)}; {least}, and none "
        "surely above it"
    )


def _limit(document: BreakdownCurve) -> str:
    return f"{document.limit:.0%} of the {document.counted} miss"


def _exact(document: BreakdownCurve) -> str:
    low, high = document.low, document.high
    if high is None:
        highest = document.points[-1]
        return f"all needs held in every test, up to {_demand(document, highest)}"
    first = _names(document.first) or "its needs"
    verb = "miss" if len(document.first) > 1 else "misses"
    misses = f"{first} {verb}" if document.first else "its needs do not hold"
    if low is None:
        return f"no level that was tested holds: with {_factor(document, high)} {misses}"
    return (
        f"all needs hold up to {_percent(low)} of the CPU, {_factor(document, low)}; with "
        f"{_number(high)} {misses}"
    )


def _beside(document: BreakdownCurve) -> str:
    analysed = document.analysed
    if analysed is None:
        return ""
    if analysed.at is None:
        return "; by analysis they hold at no level, or at any"
    return f"; by analysis they hold up to {_number(analysed.at)}"


def _names(names: list[str]) -> str:
    *most, last = names[:_MANY] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _demand(document: BreakdownCurve, at: Breakpoint | BreakPoint) -> str:
    return f"{_percent(at)} of the CPU, {_factor(document, at)}"


def _factor(document: BreakdownCurve, at: Breakpoint | BreakPoint) -> str:
    """Return what a level is: ``1.22 times the work``, ``test 12``."""
    if not document.scale:
        return f"test {_number(at)}"
    scaled = {"work": "the work", "rates": "the rates"}.get(
        document.scale, f"the work of {document.scale}"
    )
    return f"{_number(at)} times {scaled}"


def _number(at: Breakpoint | BreakPoint) -> str:
    return f"{at.factor:.4f}".rstrip("0").rstrip(".")


def _percent(at: Breakpoint | BreakPoint) -> str:
    return f"{100 * at.utilisation:.1f}%"


def _share(share: float) -> str:
    """Return a share; 0% and 100% are exact."""
    if share in (0, 1):
        return f"{share:.0%}"
    return f"{100 * share:.3g}%"


# ---- the rest -----------------------------------------------------------------------------------


def _sections(document: BreakdownCurve) -> list[Section]:
    return [
        Section("levels", "Levels", [_levels(document)]),
        Section("search", "Search", [Findings(list(_facts(document)))]),
    ]


def _levels(document: BreakdownCurve) -> Table:
    rows = [
        [
            _percent(point), _number(point), _share(point.share),
            *([] if document.exact else [f"{_share(point.low)} to {_share(point.high)}"]),
            count(sum(test.missed for test in point.tests)),
            count(sum(test.due for test in point.tests)), count(len(point.tests)),
            _names(sorted({name for test in point.tests for name in test.names})),
        ]
        for point in document.points
    ]  # fmt: skip
    factor = "factor" if document.scale else "test"
    bounds = [] if document.exact else ["bounds"]
    columns = ["CPU", factor, "share", *bounds, "missed", document.counted, "tests", "late"]
    return Table(columns, rows, texts=(len(columns) - 1,))


def _facts(document: BreakdownCurve) -> Iterator[Line]:
    times = document.linear_tests / document.tests
    yield Line(
        f"{counted(document.tests, 'test')} of {trimmed(document.duration_ns, 'ns')}, at "
        f"{counted(len(document.points), 'level')}; linear steps take "
        f"{count(document.linear_tests)}, {times:.1f} times as many"
    )
    runs = [test.run for point in document.points for test in point.tests if test.run]
    if runs:
        yield Line(f"runs {min(runs)} to {max(runs)}")
    if document.analysed and document.analysed.at:
        first = _names(document.analysed.first)
        yield Line(
            f"analysis, on a system without costs: {_demand(document, document.analysed.at)}; "
            f"{first} first to miss beyond it"
        )


def _chart(document: BreakdownCurve) -> Chart:
    """Return the curve with its bounds, over utilisation."""
    series: list[tuple[str, str]] = [(f"{document.counted} that missed", "share")]
    if not document.exact:
        series += [("lower bound", "low"), ("upper bound", "high")]
    data: dict[str, Any] = {
        "kind": "curves", "over": "utilisation of the CPU, %", "unit": "%", "log": False,
        "most": 100, **_marks(document),
        "names": [_demand(document, point) for point in document.points],
        "series": [
            {
                "name": name,
                "points": [
                    [round(100 * point.utilisation, 3), round(100 * getattr(point, member), 4)]
                    for point in document.points
                ],
                **({} if member == "share" else {"bare": True}),
            }
            for name, member in series
        ],
    }  # fmt: skip
    words = f"Share of {document.counted} that missed over utilisation: {answer(document)}"
    return Chart("breakdown", words, data, "Missed over utilisation")


def _marks(document: BreakdownCurve) -> dict[str, Any]:
    """Return the analysis' own breakdown as a mark above the curve, if it is within it."""
    shares = [point.utilisation for point in document.points]
    at = document.analysed.at if document.analysed else None
    if at is None or not min(shares) <= at.utilisation <= max(shares):
        return {}
    return {"above": [[round(100 * at.utilisation, 3), "analysis"]]}
