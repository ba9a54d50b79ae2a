"""Draw a figure with matplotlib, at the width of a paper's column, the same bytes each time.

Nothing else imports matplotlib, and only when a figure is drawn.
"""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

from rtstone import units
from rtstone.documents.plan import NONE
from rtstone.documents.run import HARTSTONE, Result, Run
from rtstone.errors import UsageError
from rtstone.plot import data
from rtstone.plot.choose import MOST, WAKE_UPS, Chosen, Curve, choose, experiments, systems
from rtstone.printable import line
from rtstone.results.omitted import whole
from rtstone.summary import ENOUGH, PERCENTILES, WHOLE, is_supported
from rtstone.units import NS_PER_S, count, counted, quantity

MM = 25.4  # in an inch
LINE_MM, _HANDLE_MM, _LETTER_MM = 3.4, 11.0, 1.4  # of the legend
FORMATS = ("svg", "pdf", "png")
OLDEST = 3, 9  # version of matplotlib that draws with numpy 2
PACKAGED = Path("/usr/lib/rtstone")  # where the Debian package has everything

# Okabe and Ito's colours, which the colour-blind can distinguish, in an order that alternates
# between dark and light; dashes distinguish them in grey.
_LOOKS = (
    ("#000000", "-"), ("#E69F00", (0, (4, 1.5))), ("#0072B2", (0, (1, 1))),
    ("#009E73", (0, (5, 1.2, 1, 1.2))), ("#CC79A7", "-"), ("#56B4E9", (0, (4, 1.5))),
    ("#D55E00", (0, (1, 1))), ("#7F7F7F", (0, (5, 1.2, 1, 1.2))),
)  # fmt: skip
_MARKS = "osD^vP*X"  # of the maxima, in the same order
_STYLE = {
    "font.family": "DejaVu Sans", "font.size": 7.5, "axes.labelsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "legend.fontsize": 7, "legend.frameon": False, "legend.handlelength": 2.6,
    "legend.borderaxespad": 0.2, "legend.labelspacing": 0.3, "axes.linewidth": 0.6,
    "lines.linewidth": 1.0, "lines.markersize": 3.2, "patch.linewidth": 1.0,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#DDDDDD",
    "grid.linewidth": 0.4, "hatch.linewidth": 0.5, "savefig.dpi": 600,
    # For the same bytes each time, and letters that every viewer has.
    "svg.hashsalt": "rtstone", "svg.fonttype": "path", "pdf.fonttype": 42,
}  # fmt: skip
_UNDATED = {
    "svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {},
}  # fmt: skip


class Plot(NamedTuple):
    """A drawn figure, and the lines that belong in its caption."""

    figure: Any  # matplotlib's
    caption: list[str]


class Request(NamedTuple):
    """What to draw: lengths in mm, height None: what suits it; bench None: the wake-up bench."""

    kind: str = "histogram"
    bench: str | None = None
    loads: Sequence[str] = ()
    width: float = 84.0
    height: float | None = None


def plot(runs: Sequence[Run], request: Request) -> Plot:
    """Draw runs.  Raises UsageError without matplotlib or anything to draw, Inconclusive."""
    _require()
    with _styled():
        return KINDS[request.kind](runs, request)


def _require() -> None:
    """Raise UsageError without a matplotlib that works with the numpy that comes with rtstone."""
    try:
        version = metadata.version("matplotlib")
    except metadata.PackageNotFoundError:
        version = ""
    if version and tuple(map(int, version.split(".")[:2])) >= OLDEST:
        return
    needed = f"matplotlib {'.'.join(map(str, OLDEST))} or newer"
    lack = f"here is {version}" if version else "which is not installed"
    how = "install it with: pip install 'rtstone[plot]'"
    if PACKAGED in Path(__file__).parents:  # pip may not change what Debian's Python uses
        how = (
            "the Debian package cannot use another; install it beside a wheel of rtstone: "
            "python3 -m venv plot && plot/bin/pip install rtstone-*.whl matplotlib"
        )
    raise UsageError(f"a plot needs {needed}, {lack}; {how}")


@contextmanager
def _styled() -> Iterator[None]:
    """Give figures their own look, independent of the user's matplotlibrc."""
    style: Any = import_module("matplotlib.style")
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters without a glyph, of absurd values
        yield


def render(drawn: Plot, form: str) -> bytes:
    """Return the file of a figure, in one of FORMATS."""
    out = io.BytesIO()
    with _styled():
        drawn.figure.savefig(out, format=form, metadata=_UNDATED[form])
    return out.getvalue()


# ---- curves -------------------------------------------------------------------------------------


def _histogram(runs: Sequence[Run], request: Request) -> Plot:
    chosen = choose(runs, request.bench, request.loads)
    figure, axes = _axes(request, chosen)
    results = [curve.result for curve in chosen.curves]
    data.check_distributions(results)
    least, scale, per_decade = data.lowest(results), _scale(results), data.grid(results)
    tallest = 1.0
    for number, curve in enumerate(chosen.curves):
        steps = data.histogram(curve.result, least, per_decade)
        tallest = max(tallest, *steps.values)
        heights = [value or _GROUND for value in steps.values]
        edges = [edge / scale.factor for edge in steps.edges]
        _stairs(axes, number, heights, edges, baseline=_GROUND)
        if len(chosen.curves) == 1:
            axes.stairs(heights, edges, baseline=_GROUND, fill=True, color="#000000", alpha=0.12)
        _maximum(axes, number, curve.result.max, scale, at=1.0)
    _logarithmic(axes.xaxis, least=2.0)
    axes.set_ylim(_GROUND, tallest * 2)
    _logarithmic(axes.yaxis)
    axes.set_xlabel(f"{_title(chosen)} ({scale.name})")
    axes.set_ylabel("samples")
    said = f"samples in columns, {per_decade:.3g} a decade; the mark is the maximum"
    return _finished(figure, request, chosen, said)


_GROUND = 0.5  # so that a single sample stands above the axis


def _percentiles(runs: Sequence[Run], request: Request) -> Plot:
    chosen = choose(runs, request.bench, request.loads)
    figure, axes = _axes(request, chosen)
    results = [curve.result for curve in chosen.curves]
    data.check_distributions(results)
    least, scale = data.lowest(results), _scale(results)
    for number, curve in enumerate(chosen.curves):
        steps = data.percentiles(curve.result, least)
        heights = [value / scale.factor for value in steps.values]
        _stairs(axes, number, heights, steps.edges, baseline=None)
        _maximum(axes, number, curve.result.max, scale, over=float(whole(curve.result).n))
    axes.set_xscale("log")
    _logarithmic(axes.yaxis, least=2.0)
    shares = [
        share for share in PERCENTILES.values()
        if any(is_supported(share, whole(result).n) for result in results)
    ]  # fmt: skip
    axes.set_xticks([WHOLE / (WHOLE - share) for share in shares])
    axes.set_xticklabels([f"{share / 100:g}" for share in shares])
    axes.xaxis.minorticks_off()
    axes.set_xlabel("percentile (%)")
    axes.set_ylabel(f"{_title(chosen)} ({scale.name})")
    said = f"percentiles up to those that {ENOUGH} samples lie beyond; the mark is the maximum"
    return _finished(figure, request, chosen, said)


def _timeline(runs: Sequence[Run], request: Request) -> Plot:
    chosen = choose(runs, request.bench, request.loads)
    figure, axes = _axes(request, chosen)
    traces = [data.timeline(curve.result) for curve in chosen.curves]
    scale = _scale([curve.result for curve in chosen.curves])
    least = min((v for trace in traces for v in (*trace.low, *trace.high) if v > 0), default=1.0)
    for number, trace in enumerate(traces):
        times, highs = _over_time(trace, trace.high, least, scale)
        color, dashes = _LOOKS[number]
        axes.plot(times, highs, color=color, linestyle=dashes, drawstyle="steps-post")
        if len(traces) == 1:
            _, lows = _over_time(trace, trace.low, least, scale)
            _, means = _over_time(trace, trace.mean, least, scale)
            axes.fill_between(times, lows, highs, step="post", color="#000000", alpha=0.12, lw=0)
            axes.plot(times, means, color="#0072B2", linestyle=_LOOKS[1][1], drawstyle="steps-post")
    _logarithmic(axes.yaxis, least=2.0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"{_title(chosen)} ({scale.name})")
    width = quantity(traces[0].width * NS_PER_S, "ns")
    lines = "maximum" + (" (line), mean (dashed), range (grey)" if len(traces) == 1 else "")
    return _finished(
        figure, request, chosen, f"{lines} of each {width}; omitted activations left out"
    )


def _over_time(
    trace: data.Windows, values: list[float], least: float, scale: _Scale
) -> tuple[list[float], list[float]]:
    """Return steps, with a gap where no sample was taken."""
    times: list[float] = []
    heights: list[float] = []
    for start, value in zip(trace.starts, values, strict=True):
        if times and start - times[-1] > trace.width / 2:
            times.append(times[-1])
            heights.append(float("nan"))
        times += [start, start + trace.width]
        heights += [max(value, least) / scale.factor] * 2
    return times, heights


def _stairs(
    axes: Any, number: int, values: list[float], edges: list[float], baseline: float | None
) -> None:
    color, dashes = _LOOKS[number]
    axes.stairs(values, edges, baseline=baseline, color=color, linestyle=dashes)


def _maximum(
    axes: Any, number: int, value: float | None, scale: _Scale, *,
    at: float | None = None, over: float | None = None,
) -> None:  # fmt: skip
    """Mark a maximum: at a height above the value's axis, or at the place it is ``over``."""
    if value is None or value <= 0:
        return
    place = (value / scale.factor, at) if at is not None else (over, value / scale.factor)
    at_one = ([coordinate] for coordinate in place)
    axes.plot(*at_one, _MARKS[number], color=_LOOKS[number][0], markerfacecolor=_face(number))


def _face(number: int) -> str:
    """Return the inside of a mark: every other one is hollow, for marks often lie on each other."""
    return "#FFFFFF" if number % 2 else _LOOKS[number][0]


# ---- maxima by load -----------------------------------------------------------------------------


def _maxima(runs: Sequence[Run], request: Request) -> Plot:
    """Draw a row for each load, with a mark for each run."""
    if len(runs) > MOST:
        raise UsageError(
            f"{len(runs)} runs are too many to distinguish in a figure: {MOST} at most"
        )
    chosen = choose(runs, request.bench, request.loads, most=None)
    rows = list(dict.fromkeys(curve.result.load for curve in chosen.curves))
    names = dict(zip((run.run_id for run in runs), systems(runs), strict=True))
    scale = _scale([curve.result for curve in chosen.curves])
    columns = max(1, int(request.width / (_HANDLE_MM + _LETTER_MM * max(map(len, names.values())))))
    legend = LINE_MM * math.ceil(len(names) / columns)
    figure, axes = _empty(request.width, request.height or 14 + legend + 4.2 * len(rows))
    for number, (run_id, name) in enumerate(names.items()):
        results = [curve.result for curve in chosen.curves if curve.run.run_id == run_id]
        marks = [(r.max / scale.factor, rows.index(r.load)) for r in results if r.max]
        axes.plot(
            [value for value, _ in marks], [row for _, row in marks], _MARKS[number],
            linestyle="", color=_LOOKS[number][0], markerfacecolor=_face(number), label=_text(name),
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [_text("no load" if row == NONE else row) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    _logarithmic(axes.xaxis, least=2.0)
    axes.set_xlabel(f"maximum of {_title(chosen)} ({scale.name})")
    figure.legend(loc="outside upper left", ncols=columns)
    return Plot(figure, [*_caption(chosen), "drawn: the maximum under each load"])


# ---- breakdown ----------------------------------------------------------------------------------


def _breakdown(runs: Sequence[Run], request: Request) -> Plot:
    named = experiments(runs)
    reached = [(name, data.breakdowns(results)) for name, results in named]
    benches = list(dict.fromkeys(bar.bench for _, bars in reached for bar in bars))
    thickness = 0.8 / len(reached)
    names = LINE_MM * len(reached) if len(reached) > 1 else 0
    room = request.height or 14 + names + len(benches) * max(4.0, 3.1 * len(reached))
    figure, axes = _empty(request.width, room)
    for number, (name, bars) in enumerate(reached):
        fill = ("#444444", "#FFFFFF", "#AAAAAA", "#DDDDDD")[number % 4]
        hatch = ("", "//////", "", "......")[number % 4]
        for bar in bars:
            at = benches.index(bar.bench) + (number - (len(reached) - 1) / 2) * thickness
            _bar(axes, bar, at, thickness, {"color": fill, "hatch": hatch, "edgecolor": "#000000"})
        axes.barh(
            [-9], [0], color=fill, hatch=hatch, edgecolor="#000000", lw=0.5, label=_text(name)
        )
    axes.set_yticks(range(len(benches)), [bench.removeprefix(HARTSTONE) for bench in benches])
    axes.set_ylim(len(benches) - 0.4, -0.6)
    axes.set_xlim(
        0,
        max(
            100.0,
            *(max(bar.at.held, bar.at.again or 0) for _, bars in reached for bar in bars if bar.at),
        )
        * 1.12,
    )
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("breakdown utilisation (% of raw speed)")
    if len(reached) > 1:
        figure.legend(loc="outside upper left")
    title = f"Hartstone: {', '.join(name for name, _ in named)}; {len(benches)} experiments"
    return Plot(
        figure,
        [
            f"{title}; > and dashed: no deadline missed up to there; ?: not measured; "
            "a line: tests above the first miss held again"
        ],
    )


def _bar(axes: Any, reached: data.Reached, at: float, height: float, look: dict[str, str]) -> None:
    """Draw one bar with its value; one without an end is dashed, and says so."""
    if reached.at is None:
        axes.text(1, at, "?", va="center", fontsize=7)
        return
    held, again = reached.at.held, reached.at.again
    if reached.at.broke:
        axes.barh([at], [held], height, lw=0.5, **look)
    else:
        axes.barh([at], [held], height, fill=False, linestyle="--", lw=0.5)
    if again is not None:
        axes.plot([held, again], [at, at], color="#000000", lw=0.8, marker="|", markersize=4)
    text = f"{held:.3g}" if again is None else f"{held:.3g} to {again:.3g}"
    sign = "" if reached.at.broke else "> "
    axes.text(max(held, again or 0) + 1, at, f"{sign}{text}", va="center", fontsize=7)


# ---- what all have in common --------------------------------------------------------------------


class _Scale(NamedTuple):
    """The unit of an axis, and how many of the results' it is."""

    name: str
    factor: float


def _scale(results: Sequence[Result]) -> _Scale:
    """Return the unit that suits the medians.  Raises UsageError if the results' units differ."""
    kinds = {result.unit for result in results}
    if len(kinds) > 1:
        raise UsageError(f"results in {' and '.join(sorted(kinds))} have no axis in common")
    unit = kinds.pop()
    middles = [value for r in results if (value := r.p50 or r.mean or r.max)]
    middle = max(middles, default=1.0)
    steps = units.UNITS.get(unit, [(unit, 1)])
    name, factor = next((step for step in steps if middle >= step[1]), steps[-1])
    return _Scale(name, float(factor))


class _Legend(NamedTuple):
    """The entries of a legend, folded to fit, in so many columns, and their height in mm."""

    entries: list[str]
    columns: int
    height: float


def _legend(request: Request, chosen: Chosen) -> _Legend:
    entries = [_entry(curve, omitted=request.kind != "timeline") for curve in chosen.curves]
    room = request.width - _HANDLE_MM
    folded = [
        textwrap.fill(_text(entry), max(int(room / _LETTER_MM), 12)) for entry in entries
    ]  # fmt: skip
    longest = _HANDLE_MM + _LETTER_MM * max(map(len, entries))
    columns = max(1, min(3, len(entries), int(request.width / longest)))
    lines = sum(entry.count("\n") + 1 for entry in folded)
    return _Legend(folded, columns, LINE_MM * math.ceil(lines / columns))


def _axes(request: Request, chosen: Chosen) -> tuple[Any, Any]:
    """Return a figure of the requested size, and its axes."""
    return _empty(
        request.width, request.height or 0.66 * request.width + _legend(request, chosen).height
    )


def _empty(width: float, height: float) -> tuple[Any, Any]:
    module: Any = import_module("matplotlib.figure")
    figure = module.Figure(figsize=(width / MM, height / MM), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02)
    return figure, figure.add_subplot()


def _logarithmic(axis: Any, least: float = 1.0) -> None:
    """Make an axis logarithmic, with ticks that read as numbers as long as they are short.

    ``least``: how many times its low end its high end is at least.
    """
    ticker: Any = import_module("matplotlib.ticker")
    name = axis.axis_name
    axis.axes.set(**{f"{name}scale": "log"})
    low, high = getattr(axis.axes, f"get_{name}lim")()
    if high < low * least:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(least), middle * math.sqrt(least)
        axis.axes.set(**{f"{name}lim": (low, high)})

    def tick(value: float, _: object) -> str:
        plain = 1e-3 < value < 2e3 or high < low * _DECADES
        return f"{value:g}" if plain else f"$10^{{{round(math.log10(value))}}}$"

    if high < low * _NARROW:
        steps = ticker.MaxNLocator(5).tick_values(low, high)
        axis.set_major_locator(ticker.FixedLocator([at for at in steps if low <= at <= high]))
        axis.set_minor_locator(ticker.NullLocator())
    elif high < low * _DECADES:
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(tick))
    axis.set_minor_formatter(ticker.NullFormatter())


# High over low, from which on 1, 2 and 5, and from which on powers of ten are ticks enough.
_NARROW, _DECADES = 5, 20


def _title(chosen: Chosen) -> str:
    """Return what is measured, as an axis says it."""
    benches = {curve.result.bench for curve in chosen.curves}
    if benches <= {*WAKE_UPS}:
        return "wake-up latency"
    titles = {
        table.title for curve in chosen.curves for table in curve.run.benches if table.id in benches
    }
    title = titles.pop() if len(titles) == 1 else ""
    return _text(title) if 0 < len(title) <= _LONGEST else ", ".join(sorted(benches))


_LONGEST = 40  # letters of an axis's title at 84 mm


def _text(text: str) -> str:
    """Return a text that matplotlib takes for one, and not for mathematics."""
    return line(text).replace("$", r"\$")


def _finished(figure: Any, request: Request, chosen: Chosen, content: str) -> Plot:
    """Add the legend, and return the figure with its caption."""
    lines: Any = import_module("matplotlib.lines")
    marked = request.kind != "timeline"
    legend = _legend(request, chosen)
    handles = [
        lines.Line2D(
            [], [], color=_LOOKS[number][0], linestyle=_LOOKS[number][1],
            marker=_MARKS[number] if marked else "", markerfacecolor=_face(number), label=entry,
        )
        for number, entry in enumerate(legend.entries)
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper left", ncols=legend.columns)
    return Plot(figure, [*_caption(chosen), f"drawn: {content}"])


def _entry(curve: Curve, *, omitted: bool = True) -> str:
    """Return a line of the legend: name, number of samples, and what was added to them."""
    added = whole(curve.result).n - curve.result.n
    beyond = data.beyond(curve.result)
    remarks = f" + {count(added)} omitted" if added and omitted else ""
    remarks += f", {count(beyond)} beyond" if beyond else ""
    return f"{curve.name}, n = {count(curve.result.n)}{remarks}"


def _caption(chosen: Chosen) -> list[str]:
    lines = [_facts(curve) for curve in chosen.curves]
    if chosen.smaller:
        smaller = counted(chosen.smaller, "result")
        lines.append(f"left out: {smaller} with smaller maxima; choose with --load")
    if chosen.invalid:
        lines.append(f"left out: {counted(chosen.invalid, 'result')} not valid, see `rtstone show`")
    return lines


def _facts(curve: Curve) -> str:
    """Return what belongs beside a curve: a maximum says nothing without its n, time and load."""
    r = curve.result
    corrected_result = whole(r)
    statistics = {"p50": corrected_result.p50, "p99.9": corrected_result.p999, "max": r.max}
    values = [f"{name} {quantity(v, r.unit)}" for name, v in statistics.items() if v is not None]
    time = [] if r.section_s is None else [f"over {units.seconds(r.section_s)}"]
    corrected = ["omitted activations counted in"] if corrected_result.n > r.n else []
    flags = [f"flags {' '.join(r.flags)}"] if r.flags else []
    facts = [r.bench, f"load {r.load}", *time, *values, *corrected, *flags]
    return f"{_entry(curve)}: {', '.join(facts)}; run {curve.run.run_id}"


KINDS: dict[str, Callable[[Sequence[Run], Request], Plot]] = {
    "histogram": _histogram, "percentiles": _percentiles, "timeline": _timeline,
    "maxima": _maxima, "breakdown": _breakdown,
}  # fmt: skip
