"""Arrange the parts of a load for `--apart`: each alone, each left out, all, and none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from zlib import crc32

from rtstone.documents.attribution import Attribution
from rtstone.documents.plan import NONE, load_name
from rtstone.errors import UsageError
from rtstone.measure.loads import parse
from rtstone.wire.records import Load

# With 8 values on each side an interval of the 15 comparisons of seven parts excludes up to five
# pairs of values at either end (results/attribution.py).
BLOCKS = 8
# Counts of instructions repeat: no interval is needed, but several phases of load and releases.
PHASES = 4


def design(
    loads: Sequence[str], here: Mapping[str, Load], name: str, *, exact: bool = False
) -> Attribution:
    """Return the arrangements of a load's parts and the order in which they run.

    ``here``: the loads of the target.  ``name``: of the run, from which the order is drawn.
    ``exact``: the target counts instructions, and the order is drawn from the load instead.  Raises
    UsageError for anything but one load of several parts.
    """
    if len(loads) != 1 or load_name(loads[0]) == NONE:
        raise UsageError("--apart takes one load to pieces; give it with --load, heavy for example")
    (spec,) = loads
    call = parse(spec, here, "on this target")
    table = here[call.name]
    switches = [param.name for param in table.params if param.type == "bool" and param.default]
    parts = [name for name in switches if call.params.get(name, True)]
    if len(parts) < 2:
        several = [
            load.id for load in here.values()
            if sum(p.type == "bool" and bool(p.default) for p in load.params) > 1
        ]  # fmt: skip
        raise UsageError(
            f"load '{spec}' has no parts to take it to, in --apart; loads with several parts here "
            f"are {', '.join(several) or 'none'}"
        )

    def but(off: Sequence[str]) -> str:
        pieces = [*filter(None, [spec.partition(":")[2]]), *(f"{part}=off" for part in off)]
        return f"{call.name}:{','.join(pieces)}"

    alone = {part: but([name for name in parts if name != part]) for part in parts}
    without = {part: but([part]) for part in parts}
    arrangements = list(dict.fromkeys([NONE, spec, *alone.values(), *without.values()]))
    seed = crc32((spec if exact else name).encode())  # the same again: a count repeats then
    random = Random(seed)
    blocks = PHASES if exact else BLOCKS
    order = [random.sample(arrangements, len(arrangements)) for _ in range(blocks)]
    return Attribution(
        load=spec, parts=parts, alone=alone, without=without, blocks=blocks, seed=seed, order=order
    )
