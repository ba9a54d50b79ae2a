"""How long an agent may take for its list of benches."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rtstone.errors import TargetError
from rtstone.interrupt import Interrupt
from rtstone.measure import catalogue as listing
from rtstone.targets.base import Link, Options, Target
from tests.fake_agent import BENCHES, FakeAgent


class Slow(Target, Link):
    """An agent, started on a machine so busy that so much time passes before each of its lines."""

    name = agent = "slow"

    def __init__(self, step_s: float) -> None:
        super().__init__()
        self.now_s, self._step_s = 0.0, step_s
        self._lines: list[bytes] = []
        FakeAgent({}, self._lines.append).catalogue()

    def start(self, options: Options) -> Link:
        assert options.catalogue
        return self

    def read(self, timeout: float) -> bytes | None:
        self.now_s += self._step_s
        return self._lines.pop(0) if self._lines else b""

    def send(self, line: str) -> None:
        raise AssertionError

    def stop(self) -> None:
        raise AssertionError

    def close(self) -> None:
        self._lines = []


@pytest.mark.parametrize(("step_s", "late"), [(0.01, False), (11.0, False), (40.0, True)])
def test_an_agent_on_a_busy_machine_has_two_minutes_for_its_list(
    monkeypatch: pytest.MonkeyPatch, step_s: float, late: bool
) -> None:
    """An emulated board takes 2 s of CPU time for it, and may get little of a CPU."""
    target = Slow(step_s)
    monkeypatch.setattr(listing, "time", SimpleNamespace(monotonic=lambda: target.now_s))
    if late:
        with pytest.raises(TargetError, match="did not finish its list of benches in 120 s, slow"):
            listing.catalogue(target, Interrupt())
    else:
        assert set(BENCHES) <= set(listing.catalogue(target, Interrupt()).benches)
