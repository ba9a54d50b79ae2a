"""What other processes or tasks do, each thing alone beside the wake-up, and what that delays.

Beside an action the kernel may set threads of its own going: an action is never said to take a
time, only that a wake-up was delayed while it ran.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.wire.records import Natural, Number, Positive

SCHEMA = "rtstone.provocation/1"

Consent = Literal["own", "shared", "system", "lab"]
CONSENTS: tuple[Consent, ...] = ("own", "shared", "system", "lab")

Quantile = Literal["p50", "p99"]
Outcome = Literal["beyond", "within", "nothing", "unsupported", "failed", "unmeasured"]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that other processes do, or other tasks where there are none.

    ``load``: that does it, as `--load` takes it.  ``consent``: "own", an unprivileged process can
    do it, and it ends with the process; "shared", it slows others, and that passes by itself;
    "system", it changes what has to be restored, and is; "lab", guests of the lab only.
    ``meanwhile``: what happens, after the word "while".  ``several_cpus``: on a single CPU it says
    nothing.
    """

    name: str
    load: str
    consent: Consent
    meanwhile: str
    several_cpus: bool = False


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """Wake-up latencies in the unit of the system: medians over the measurements, and the worst.

    ``missed``: activations that never happened, in all of them.
    """

    measurements: Positive
    n: Natural
    p50: Number | None
    p99: Number | None
    max: Number | None
    missed: Natural


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """A quantile of wake-ups beside an action, against that of the controls of the same block.

    ``ratio``: its median over the blocks.  ``p``: the chance of such ranks without a delay,
    adjusted for both quantiles of all actions.  ``beyond``: a delay was shown.
    """

    quantile: Quantile
    ratio: Number
    p: Number
    beyond: bool = False


class Provoked(msgspec.Struct, frozen=True, kw_only=True):
    """An action and the wake-ups beside it.

    ``outcome``: "beyond" the controls, "within" them (no delay beyond them was shown), "nothing",
    no round of it completed, so that nothing is known, or why it did not run, with the reason.
    ``ratio``: natively the median over the blocks of its p99 over that of the controls, in the lab
    its worst over that of the controls.  ``shifts``: of its quantiles, natively.  ``rate``: rounds
    a second, or what else the load counts, ``rate_unit``.  ``silent``: why it says nothing on this
    system, or "".  ``run``, ``case``: of its worst wake-up.  ``cause``: of that, by `rtstone
    explain`.
    """

    action: Action
    outcome: Outcome
    reason: str = ""
    levels: Levels | None = None
    ratio: Number | None = None
    shifts: list[Shift] = []
    rate: Number | None = None
    rate_unit: str = ""
    silent: str = ""
    run: str | None = None
    case: Natural | None = None
    cause: str | None = None


class System(msgspec.Struct, frozen=True, kw_only=True):
    """A system and its actions, those that delay most first.

    ``exact``: its instructions are counted, so that nothing but the action differs from the
    controls.  ``blocks``: natively each holds every action once and ``controls`` controls, in an
    order drawn from ``seed``; in the lab there is one block, of runs of their own.
    ``single_cpu``: it has no other.  ``withheld``: the number of actions by the consent that they
    need and did not have.
    """

    target: str
    unit: str
    exact: bool
    single_cpu: bool
    blocks: Positive
    controls: Positive
    seed: Natural
    control: Levels | None
    actions: list[Provoked]
    withheld: dict[str, Natural] = {}
    runs: list[str]


def supported(system: System) -> list[Provoked]:
    """Return the actions that the system supports, whether they worked or not."""
    return [row for row in system.actions if row.outcome != "unsupported"]


class Provocation(msgspec.Struct, frozen=True, kw_only=True):
    """One or several systems, each with the same actions if it can do them."""

    schema: str = SCHEMA
    systems: list[System]
