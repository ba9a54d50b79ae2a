"""Speed against determinism in a reproduction: sentences, and charts of today's systems."""

from __future__ import annotations

from collections.abc import Iterator

from rtstone.documents.reproduction import Contrast, Reproduction
from rtstone.report.comparison import axes
from rtstone.report.comparison.axes import Pair, Point
from rtstone.report.parts.model import Block, Notes, Section

KEY = "axes"
_PRINTED = ("ratio of means", "ratio of maxima less means")
_TODAY = (
    "Systems of today beside each other: the ratio of medians, and of spreads from the median to "
    "p99.9 (p99 of fewer than 10 000 samples)."
)
_BESIDE = (
    "Beside what is printed: the ratio of means (of p50, beside what is printed as typical), and "
    "of what maxima exceed means by. Printed numbers have no interval: means differ certainly "
    "from a factor of 4 on, and maxima, single samples, decide nothing."
)


def section(reproduction: Reproduction) -> Section | None:
    """Return the sentences of all pairs of systems, without charts; None if there are none."""
    pairs = [(contrast, _pair(reproduction, contrast)) for contrast in reproduction.contrasts]
    if not pairs:
        return None
    printed = [contrast.printed is not None for contrast, _ in pairs]
    basis = [text for text, used in ((_TODAY, not all(printed)), (_BESIDE, any(printed))) if used]
    sentences = Notes([axes.sentence(pair) for _, pair in pairs], "list")
    return Section(KEY, axes.TITLE, [sentences], " ".join(basis), short="Determinism")


def drawn(reproduction: Reproduction) -> Iterator[Block]:
    """Yield a chart of each two systems of today, and one of each beside all that is printed."""
    number = 0
    blocks: list[Block] = []
    for contrast in reproduction.contrasts:
        if contrast.printed is None:
            pair = _pair(reproduction, contrast)
            caption = f"{pair.system} beside {pair.other}"
            blocks += axes.blocks(pair, f"{KEY}-{number}", caption)
            number += 1
    for column in range(len(reproduction.columns)):
        beside = [
            (contrast.printed, _pair(reproduction, contrast))
            for contrast in reproduction.contrasts
            if contrast.printed is not None and contrast.column == column
        ]
        if not beside:
            continue
        points = [
            point._replace(label=f"{point.label}, beside {printed}")
            for printed, pair in beside
            for point in pair.points
        ]
        pair = Pair(beside[0][1].system, "what is printed", points, _PRINTED)
        caption = f"{pair.system} beside what is printed"
        blocks += axes.blocks(pair, f"{KEY}-{number}", caption)
        number += 1
    if blocks:
        yield Notes([axes.READING])
        yield from blocks


def _pair(reproduction: Reproduction, contrast: Contrast) -> Pair:
    columns = reproduction.columns
    points = [
        Point(case.label, f"#t{case.table}", case.unit, case.speed, case.spread)
        for case in contrast.cases
    ]
    label = columns[contrast.column].label
    if contrast.against is None:
        return Pair(label, f"{contrast.printed} (printed)", points, _PRINTED)
    return Pair(label, columns[contrast.against].label, points)
