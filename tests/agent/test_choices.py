"""Every choice of every parameter of every bench, on systems without hardware."""

from __future__ import annotations

from tests.agent.choices import are_answered, every_choice
from tests.agent.speak import STUB, talk
from tests.agent.truth import SIM, C, per

# Give work a cost, or calibrated loops would never be long enough.
WORK = [per("add", 1_000), per("kwi", 10_000_000), per("copy", 10), per("set", 10)]


def test_on_the_simulated_system() -> None:
    commands = every_choice(talk(["list"], agent=SIM.path))
    assert len(commands) > 500
    are_answered(commands, talk(commands, *C.words(), *WORK, agent=SIM.path))


def test_on_the_stub() -> None:
    """One kind of the stub's channels repeats a message, which the bench detects."""
    listed = talk(["list"], agent=STUB)
    commands = every_choice(listed)
    bad = next(c for c in commands if "ipc.receive" in c and "mechanism=repeating" in c)
    commands.remove(bad)
    records = talk([*commands, bad], agent=STUB)
    end = next(r for r in records if r["t"] == "end" and f"case {r['id']} " in bad)
    assert (end["status"], end["reason"]) == ("failed", "wrong contents of 1 of 6 messages")
    are_answered(commands, records)
