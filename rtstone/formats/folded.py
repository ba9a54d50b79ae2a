"""Export folded stacks, as flamegraph.pl, inferno and speedscope read them: ``a;b;c 12`` a line."""

from __future__ import annotations

import re
from collections import Counter

from rtstone.documents.explanation import Explanation

# flamegraph.pl takes a number behind a blank for a second column.
_NUMBER = re.compile(r"\s+(?=\d+(?:\.\d*)?$)")


def folded(explanation: Explanation) -> bytes:
    """Return the stacks of a sample with their costs, whole numbers in its unit.

    A semicolon in a name, which would part it, becomes a colon.  Stacks whose cost rounds to
    nothing are left out.
    """
    costs: Counter[str] = Counter()
    for stack in explanation.way.stacks:
        names = [_NUMBER.sub("_", frame.replace(";", ":").strip()) or "?" for frame in stack.frames]
        costs[";".join(names)] += round(stack.cost)
    return "".join(f"{frames} {cost}\n" for frames, cost in sorted(costs.items()) if cost).encode()
