"""Parse `--trace`: of which samples to keep what the system did meanwhile."""

from __future__ import annotations

from rtstone.documents.plan import Trace
from rtstone.documents.run import Requirement
from rtstone.errors import UsageError
from rtstone.wire.parameters import duration

KEEP = 4  # snapshots of a case, of up to 90 kB each on the wire
WORST = "worst"
STACKS = ",stacks"
_SHAPE = "write above=50us, or worst; with ,stacks also what interrupts came into"


def parse(text: str, required: Requirement | None = None) -> Trace:
    """Parse the value of --trace.  Raises UsageError.

    The worst sample of a run that ends above a latency is the one that ends it: the others are not
    traced, so that none of them occupies the tracer when it comes.
    """
    limit = text.strip()
    stacks = limit.endswith(STACKS)
    name, equals, value = limit.removesuffix(STACKS).partition("=")
    if name == WORST and not equals:
        above_ns = required.stop_above_ns if required else None
        return Trace(above_ns=above_ns or 0, keep=1, stacks=stacks)
    if name != "above" or not value:
        raise UsageError(f"bad --trace {text}; {_SHAPE}")
    return Trace(above_ns=duration(value, "in --trace"), keep=KEEP, stacks=stacks)
