"""Parse `--trace`: of which samples to keep what the system did meanwhile."""

from __future__ import annotations

from rtstone.documents.plan import Trace
from rtstone.errors import UsageError
from rtstone.wire.parameters import duration

KEEP = 4  # snapshots of a case, of up to 90 kB each on the wire
WORST = "worst"
STACKS = ",stacks"
_SHAPE = "write above=50us, or worst; with ,stacks also what interrupts came into"


def parse(text: str, stop_above_ns: int = 0) -> Trace:
    """Parse the value of --trace.  Raises UsageError.

    The worst sample of a run that ends above a latency (0: none does) is the one that ends it: the
    others are not traced, so that none of them occupies the tracer when it comes.
    """
    limit = text.strip()
    stacks = limit.endswith(STACKS)
    name, equals, value = limit.removesuffix(STACKS).partition("=")
    if name == WORST and not equals:
        return Trace(above_ns=stop_above_ns, keep=1, stacks=stacks)
    if name != "above" or not value:
        raise UsageError(f"bad --trace {text}; {_SHAPE}")
    return Trace(above_ns=duration(value, "in --trace"), keep=KEEP, stacks=stacks)
