"""Draw a figure with matplotlib, at the width of a paper's column, the same bytes each time.

Nothing else imports matplotlib, and only when a figure is drawn.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

from rtstone import units
from rtstone.documents.imported import hiding
from rtstone.documents.origin import origin
from rtstone.documents.plan import NONE
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.plot import bars, data
from rtstone.plot.axes import (
    FILLS,
    LOOKS,
    MARKS,
    Scale,
    empty,
    face,
    logarithmic,
    plain_text,
    scale_of,
)
from rtstone.plot.choose import MOST, WAKE_UPS, Chosen, Curve, choose, experiments, systems
from rtstone.plot.components import components
from rtstone.plot.legend import SIZE, Legend, folded
from rtstone.plot.publication import Panel, Publication, panels
from rtstone.results.omitted import whole
from rtstone.summary import ENOUGH, PERCENTILES, WHOLE, is_supported
from rtstone.units import NS_PER_S, count, counted, quantity

FORMATS = ("svg", "pdf", "png")
OLDEST = 3, 9  # version of matplotlib that draws with numpy 2
PACKAGED = Path("/usr/lib/rtstone")  # where the Debian package has everything

_STYLE = {
    "font.family": "DejaVu Sans", "font.size": 7.5, "axes.labelsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7, "legend.fontsize": SIZE, "legend.title_fontsize": SIZE,
    "legend.frameon": False, "legend.handlelength": 2.4, "legend.handletextpad": 0.5,
    "legend.borderpad": 0.1, "legend.borderaxespad": 0.2, "legend.labelspacing": 0.25,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.0, "lines.markersize": 3.2, "patch.linewidth": 1.0,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#DDDDDD",
    "grid.linewidth": 0.4, "hatch.linewidth": 0.4, "savefig.dpi": 600,
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
    """What to draw: lengths in mm, height None: what suits it; bench None: the wake-up bench.

    ``publication``: what a figure of kind "publication" is of; ``figure``: a part of the title of
    those of its figures that are drawn, None: all.
    """

    kind: str = "histogram"
    bench: str | None = None
    loads: Sequence[str] = ()
    width: float = 84.0
    height: float | None = None
    publication: Publication | None = None
    figure: str | None = None


def plot(runs: Sequence[Run], request: Request) -> Plot:
    """Draw runs.  Raises UsageError without matplotlib or anything to draw, Inconclusive."""
    _require()
    with _styled():
        drawn = KINDS[request.kind](runs, request)
    return drawn._replace(caption=[*drawn.caption, *_origins(runs)])


def _origins(runs: Sequence[Run]) -> list[str]:
    """Return the lines of a caption on where runs come from, those of one system in one line."""
    by_origin: dict[str, list[str]] = {}
    for run in runs:
        by_origin.setdefault(origin(run), []).append(run.run_id)
    return [f"measured: {text}; run {', '.join(ids)}" for text, ids in by_origin.items() if text]


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
    legend = _legend(request, chosen)
    figure, axes = _axes(request, legend)
    results = [curve.result for curve in chosen.curves]
    data.check_distributions(results)
    least, scale, per_decade = data.lowest(results), scale_of(results), data.grid(results)
    tallest = 1.0
    for number, curve in enumerate(chosen.curves):
        steps = data.histogram(curve.result, least, per_decade)
        tallest = max(tallest, *steps.values)
        observed = [value or _GROUND for value in steps.observed]
        edges = [edge / scale.factor for edge in steps.edges]
        if len(chosen.curves) == 1:
            axes.stairs(observed, edges, baseline=_GROUND, fill=True, color=_OBSERVED)
        if steps.observed != steps.values:
            added = [
                total if total > taken else math.nan
                for total, taken in zip(steps.values, steps.observed, strict=True)
            ]
            axes.stairs(
                added, edges, baseline=observed, fill=True, **_COMPUTED,
                edgecolor=LOOKS[number][0],
            )  # fmt: skip
        _stairs(axes, number, observed, edges, baseline=_GROUND)
        _maximum(axes, number, curve.result.max, scale, at=1.0)
    logarithmic(axes.xaxis, least=2.0)
    axes.set_ylim(_GROUND, tallest * 2)
    logarithmic(axes.yaxis)
    axes.set_xlabel(f"{_title(chosen)} ({scale.name})")
    axes.set_ylabel("samples")
    said = f"samples in columns, {per_decade:.3g} a decade; the mark is the maximum"
    if any(map(_has_computed, chosen.curves)):
        said += "; hatched: what was computed for activations that were omitted"
    return _finished(figure, legend, chosen, said)


_GROUND = 0.5  # so that a single sample stands above the axis
# Of areas: samples that were taken, and those computed for activations that were omitted, which are
# no evidence and so have the lighter look.
_OBSERVED = "#9DBBD8"
_COMPUTED = {"facecolor": "#FFFFFF", "hatch": "//////", "linewidth": 0.4}
_ALONE = 0.5  # width in pt of the line of observed samples, beside that of all


def _percentiles(runs: Sequence[Run], request: Request) -> Plot:
    chosen = choose(runs, request.bench, request.loads)
    legend = _legend(request, chosen)
    figure, axes = _axes(request, legend)
    results = [curve.result for curve in chosen.curves]
    data.check_distributions(results)
    least, scale = data.lowest(results), scale_of(results)
    for number, curve in enumerate(chosen.curves):
        steps = data.percentiles(whole(curve.result), least)
        heights = [value / scale.factor for value in steps.values]
        if _has_computed(curve) and curve.result.n > ENOUGH:
            alone = data.percentiles(curve.result, least)
            axes.stairs(
                [value / scale.factor for value in alone.values], alone.edges, baseline=None,
                color=LOOKS[number][0], linewidth=_ALONE,
            )  # fmt: skip
        _stairs(axes, number, heights, steps.edges, baseline=None)
        _maximum(axes, number, curve.result.max, scale, over=float(whole(curve.result).n))
    axes.set_xscale("log")
    logarithmic(axes.yaxis, least=2.0)
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
    if any(map(_has_computed, chosen.curves)):
        said += "; thin: observed samples alone"
    return _finished(figure, legend, chosen, said)


def _timeline(runs: Sequence[Run], request: Request) -> Plot:
    chosen = choose(runs, request.bench, request.loads)
    legend = _legend(request, chosen)
    figure, axes = _axes(request, legend)
    traces = [data.timeline(curve.result) for curve in chosen.curves]
    scale = scale_of([curve.result for curve in chosen.curves])
    least = min((v for trace in traces for v in (*trace.low, *trace.high) if v > 0), default=1.0)
    for number, trace in enumerate(traces):
        times, highs = _over_time(trace, trace.high, least, scale)
        color, dashes = LOOKS[number]
        axes.plot(times, highs, color=color, linestyle=dashes, drawstyle="steps-post")
        if len(traces) == 1:
            _, lows = _over_time(trace, trace.low, least, scale)
            _, means = _over_time(trace, trace.mean, least, scale)
            axes.fill_between(times, lows, highs, step="post", color=_RANGE, lw=0)
            axes.plot(times, means, **_MEAN, drawstyle="steps-post")
    logarithmic(axes.yaxis, least=2.0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"{_title(chosen)} ({scale.name})")
    width = quantity(traces[0].width * NS_PER_S, "ns")
    lines = "maximum" + (" (line), mean (dashed), range (grey)" if len(traces) == 1 else "")
    return _finished(
        figure, legend, chosen, f"{lines} of each {width}; omitted activations left out"
    )


_RANGE = "#E0E0E0"
_MEAN = {"color": "#0072B2", "linestyle": LOOKS[1][1]}


def _over_time(
    trace: data.Windows, values: list[float], least: float, scale: Scale
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
    color, dashes = LOOKS[number]
    axes.stairs(values, edges, baseline=baseline, color=color, linestyle=dashes)


def _maximum(
    axes: Any, number: int, value: float | None, scale: Scale, *,
    at: float | None = None, over: float | None = None,
) -> None:  # fmt: skip
    """Mark a maximum: at a height above the value's axis, or at the place it is ``over``."""
    if value is None or value <= 0:
        return
    place = (value / scale.factor, at) if at is not None else (over, value / scale.factor)
    at_one = ([coordinate] for coordinate in place)
    axes.plot(*at_one, linestyle="", **_mark(number))


def _mark(number: int) -> dict[str, Any]:
    """Return the look of the marks of a curve or a run."""
    return {
        "color": LOOKS[number][0], "marker": MARKS[number], "markerfacecolor": face(number),
    }  # fmt: skip


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
    scale = scale_of([curve.result for curve in chosen.curves])
    lines: Any = import_module("matplotlib.lines")
    legend = Legend(
        [lines.Line2D([], [], linestyle="", **_mark(number)) for number in range(len(names))],
        list(names.values()), request.width,
    )  # fmt: skip
    figure, axes = empty(request.width, request.height or 14 + legend.height + 4.2 * len(rows))
    for number, run_id in enumerate(names):
        results = [curve.result for curve in chosen.curves if curve.run.run_id == run_id]
        marks = [(r.max / scale.factor, rows.index(r.load)) for r in results if r.max]
        axes.plot(
            [value for value, _ in marks], [row for _, row in marks], linestyle="", **_mark(number)
        )
    axes.set_yticks(
        range(len(rows)), [plain_text("no load" if row == NONE else row) for row in rows]
    )
    axes.set_ylim(len(rows) - 0.5, -0.5)
    logarithmic(axes.xaxis, least=2.0)
    axes.set_xlabel(f"maximum of {_title(chosen)} ({scale.name})")
    legend.add(figure)
    return Plot(figure, [*_caption(chosen), "drawn: the maximum under each load"])


# ---- components, and figures of publications ----------------------------------------------------


def _components(runs: Sequence[Run], request: Request) -> Plot:
    """Draw the mean of each component of Rhealstone, with its maximum."""
    shown = components(runs, request.loads)
    marked = any(bar.most is not None for group in shown.groups for _, bar in group.drawn)
    legend = bars.legend(shown.series, request.width, maxima=marked)
    tall = request.height or 12 + legend.height + bars.height(shown.groups)
    figure, axes = empty(request.width, tall)
    bars.draw(axes, shown.groups)
    axes.set_xlabel(f"mean ({shown.scale.name})")
    legend.add(figure)
    names = ", ".join(run.run_id for run in runs)
    return Plot(
        figure,
        [
            f"Rhealstone: the mean of each component ({shown.scale.name}); n.e.: not evaluable on "
            f"the system; {counted(len(runs), 'run')}: {names}",
            *(["the mark is the maximum of single samples"] if marked else []),
        ],
    )


def _publication(runs: Sequence[Run], request: Request) -> Plot:
    """Draw the figures of a publication one below the other."""
    assert request.publication is not None
    document = request.publication.document
    drawn_panels, left = panels(request.publication, request.figure)
    names = list(dict.fromkeys(name for panel in drawn_panels for name in panel.systems))
    looks = {name: number for number, name in enumerate(names)}
    legend = bars.legend(
        names, request.width, areas=any(panel.groups for panel in drawn_panels),
        lines=any(panel.lines and not panel.tasks for panel in drawn_panels),
    )  # fmt: skip
    rooms = [bars.height(panel.groups) or 0.5 * request.width for panel in drawn_panels]
    tall = request.height or legend.height + sum(rooms) + 15 * len(drawn_panels)
    figure, several = empty(request.width, tall, [room + 8 for room in rooms])
    for axes, panel in zip(several, drawn_panels, strict=True):
        title = folded(panel.title, 0.65 * request.width * SIZE / _TITLE)
        axes.set_title(title, fontsize=_TITLE, loc="left")
        unit = units.SYMBOLS.get(panel.unit, panel.unit)
        if panel.groups:
            bars.draw(axes, [_by_name(group, panel, names) for group in panel.groups])
            axes.set_xlabel(unit)
            continue
        for drawn in panel.lines:
            look = drawn.number if panel.tasks else looks[panel.systems[drawn.number]]
            color, dashes = LOOKS[look % len(LOOKS)]
            values = [math.nan if y is None else y for y in drawn.ys]
            axes.plot(drawn.xs, values, color=color, linestyle=dashes)
        axes.set_ylabel(unit)
        axes.set_xlabel(panel.over)
        if panel.tasks:
            _of_tasks(axes, panel)
        else:
            logarithmic(axes.yaxis, least=2.0)
    legend.add(figure)
    caption = [f"{document.title}, printed {document.printed}, and today's runs beside it"]
    caption += [f"drawn: {'; '.join(dict.fromkeys(panel.title for panel in drawn_panels))}"]
    caption += [
        f"{column.label} ({column.kind}): {', '.join(column.runs)}" for column in document.columns
    ]
    bare = [drawn.title for table in document.tables for drawn in table.figures
            if all(system.kind != "printed" for system in table.systems)
            and any(panel.title.startswith(drawn.title) for panel in drawn_panels)]  # fmt: skip
    if bare:
        caption.append(f"of today's runs alone, as no printed number is known: {'; '.join(bare)}")
    if left:
        caption.append(f"not drawn: {'; '.join(left)}; see `rtstone reproduce -o page.html`")
    return Plot(figure, caption)


def _of_tasks(axes: Any, panel: Panel) -> None:
    """Add what belongs to a panel of the tasks of one system: marks, legend, second axis."""
    for line in axes.lines:
        line.set(marker=".", markersize=3)
    axes.set_ylim(bottom=0)
    if len(panel.tasks) > 1:
        axes.legend(axes.lines, [plain_text(task) for task in panel.tasks], fontsize=6)
    step = math.ceil(len(panel.above) / _TICKS)
    ticks = panel.above[::step]
    top = axes.secondary_xaxis("top")
    top.set_xticks([at for at, _ in ticks], [plain_text(text) for _, text in ticks], fontsize=6)


_TITLE = 7.5  # of the letters of a panel's title, in pt
_TICKS = 6  # of a second axis, between which there is room for their texts


def _by_name(group: bars.Group, panel: Panel, names: Sequence[str]) -> bars.Group:
    """Return the group with its bars in the places of all systems of the figure."""
    own = dict(zip(panel.systems, group.bars, strict=True))
    return group._replace(bars=[own.get(name) for name in names])


# ---- breakdown ----------------------------------------------------------------------------------


def _breakdown(runs: Sequence[Run], request: Request) -> Plot:
    named = experiments(runs)
    reached = [(name, data.breakdowns(results)) for name, results in named]
    labels = list(dict.fromkeys(bar.label for _, own in reached for bar in own))
    thickness = 0.8 / len(reached)
    legend = bars.legend([name for name, _ in named] if len(named) > 1 else [], request.width)
    room = request.height or 14 + legend.height + len(labels) * max(4.0, 3.1 * len(reached))
    figure, axes = empty(request.width, room)
    for number, (_, own) in enumerate(reached):
        fill, hatch = FILLS[number % len(FILLS)]
        for bar in own:
            at = labels.index(bar.label) + (number - (len(reached) - 1) / 2) * thickness
            _bar(axes, bar, at, thickness, {"color": fill, "hatch": hatch, "edgecolor": "#000000"})
    axes.set_yticks(range(len(labels)), [plain_text(label) for label in labels])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(
        0,
        max(
            100.0,
            *(max(bar.at.held, bar.at.again or 0) for _, own in reached for bar in own if bar.at),
        )
        * 1.12,
    )
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("breakdown utilisation (% of raw speed)")
    legend.add(figure)
    title = f"Hartstone: {', '.join(name for name, _ in named)}; {len(labels)} experiments"
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


def _axes(request: Request, legend: Legend) -> tuple[Any, Any]:
    """Return a figure of the requested size, and its axes."""
    return empty(request.width, request.height or 0.62 * request.width + legend.height)


def _legend(request: Request, chosen: Chosen) -> Legend:
    """Return the legend of curves: above it what all have in common, of one curve all its facts."""
    lines: Any = import_module("matplotlib.lines")
    omitted = request.kind != "timeline"
    samples = [_samples(curve, omitted=omitted) for curve in chosen.curves]
    handles: list[Any] = []
    texts: list[str] = []
    if len(chosen.curves) == 1:
        common = [chosen.common, samples[0]]
    else:
        sizes = {whole(curve.result).n if omitted else curve.result.n for curve in chosen.curves}
        common = [chosen.common, *(f"n = {count(n)} each" for n in sizes if len(sizes) == 1)]
        for number, curve in enumerate(chosen.curves):
            look = _mark(number) if omitted else {"color": LOOKS[number][0]}
            handles.append(lines.Line2D([], [], linestyle=LOOKS[number][1], **look))
            own = _remarks(curve, omitted=omitted) if len(sizes) == 1 else [samples[number]]
            texts.append(", ".join([curve.name, *own]))
    for handle, text in _kinds_of_samples(request, chosen):
        handles.append(handle)
        texts.append(text)
    return Legend(handles, texts, request.width, ", ".join(filter(None, common)))


def _title(chosen: Chosen) -> str:
    """Return what is measured, as an axis says it."""
    benches = {curve.result.bench for curve in chosen.curves}
    if benches <= {*WAKE_UPS}:
        return "wake-up latency"
    titles = {
        table.title for curve in chosen.curves for table in curve.run.benches if table.id in benches
    }
    title = titles.pop() if len(titles) == 1 else ""
    return plain_text(title) if 0 < len(title) <= _LONGEST else ", ".join(sorted(benches))


_LONGEST = 40  # letters of an axis's title at 84 mm


def _finished(figure: Any, legend: Legend, chosen: Chosen, content: str) -> Plot:
    """Add the legend, and return the figure with its caption."""
    legend.add(figure)
    return Plot(figure, [*_caption(chosen), f"drawn: {content}"])


def _has_computed(curve: Curve) -> bool:
    return whole(curve.result).n > curve.result.n


def _kinds_of_samples(request: Request, chosen: Chosen) -> list[tuple[Any, str]]:
    """Return the entries of the legend that say what areas, thin lines and a single mark are."""
    lines: Any = import_module("matplotlib.lines")
    patches: Any = import_module("matplotlib.patches")
    alone = len(chosen.curves) == 1
    if request.kind == "timeline":
        return [
            (lines.Line2D([], [], color=LOOKS[0][0]), "maximum"),
            (lines.Line2D([], [], **_MEAN), "mean"), (patches.Patch(color=_RANGE), "range"),
        ] if alone else []  # fmt: skip
    entries: list[tuple[Any, str]] = []
    if any(map(_has_computed, chosen.curves)):
        if request.kind == "percentiles":
            thin = lines.Line2D([], [], color=LOOKS[0][0], linewidth=_ALONE)
            thick = lines.Line2D([], [], color=LOOKS[0][0])
            entries += [(thick, "omitted included")] if alone else []
            entries.append((thin, "observed alone"))
        else:
            area = patches.Patch(**_COMPUTED, edgecolor=LOOKS[0][0])
            entries += [(patches.Patch(color=_OBSERVED), "observed")] if alone else []
            entries.append((area, "omitted, computed"))
    if alone and chosen.curves[0].result.max:
        entries.append((lines.Line2D([], [], linestyle="", **_mark(0)), "maximum"))
    return entries


def _entry(curve: Curve) -> str:
    """Return the name of a curve, its number of samples, and what was added to them."""
    return f"{curve.name}, {_samples(curve)}"


def _samples(curve: Curve, *, omitted: bool = True) -> str:
    """Return the number of samples of a curve, and of those that are not drawn as they are."""
    added = whole(curve.result).n - curve.result.n
    beyond = data.beyond(curve.result)
    remarks = f" + {count(added)} omitted" if added and omitted else ""
    remarks += f", {count(beyond)} beyond" if beyond else ""
    return f"n = {count(curve.result.n)}{remarks}"


def _remarks(curve: Curve, *, omitted: bool) -> list[str]:
    """Return how many of a curve's activations were omitted, and how many are not drawn."""
    added = whole(curve.result).n - curve.result.n if omitted else 0
    numbers = {"omitted": added, "beyond": data.beyond(curve.result)}
    return [f"{count(number)} {word}" for word, number in numbers.items() if number]


def _caption(chosen: Chosen) -> list[str]:
    lines = [*map(_facts, chosen.curves), *_unlike(chosen)]
    if chosen.smaller:
        smaller = counted(chosen.smaller, "result")
        lines.append(f"left out: {smaller} with smaller maxima; choose with --load")
    if chosen.invalid:
        lines.append(f"left out: {counted(chosen.invalid, 'result')} not valid, see `rtstone show`")
    return lines


def _unlike(chosen: Chosen) -> list[str]:
    """Return what keeps curves from being like against like: what one of them lacks alone."""
    lines = []
    if any(map(_has_computed, chosen.curves)):
        lines += [
            f"not like the others: {curve.name} lacks the activations that late wake-ups hid, "
            "which its tool does not count; the others include them"
            for curve in chosen.curves
            if hiding([curve.result])
        ]
    for curve in chosen.curves:
        beyond, largest = data.beyond(curve.result), curve.result.max
        if beyond and curve.result.trace is None and largest is not None:
            top = quantity(largest, curve.result.unit)
            samples = counted(beyond, "sample")
            lines.append(f"not drawn: {samples} of {curve.name} beyond its histogram, up to {top}")
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
    "maxima": _maxima, "breakdown": _breakdown, "components": _components,
    "publication": _publication,
}  # fmt: skip
