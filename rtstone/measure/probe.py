"""Find out whether targets answer, and what they are, without measuring anything on them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from rtstone.documents.run import as_text, rights_in
from rtstone.errors import Interrupted, RtstoneError, TargetError
from rtstone.interrupt import Interrupt
from rtstone.targets import find
from rtstone.targets.base import Options, Target
from rtstone.targets.fleet_file import Named
from rtstone.wire import commands, records
from rtstone.wire.reader import Reader, Record

ANSWER_S = 20.0  # time limit of a target, for each of: being reached, answering
POLL_S = 0.1  # interval in which an interrupt is noticed
_CASE = commands.case(1, "null", {"samples": 100})  # an agent reports its clock before a case


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a target answered.

    ``error``: why nothing, or not all, is known.  ``rights``: what the agent may not do, or that
    it may do all.  ``hz``: of the clock that takes samples.
    """

    name: str
    address: str
    answers: bool = False
    error: str | None = None
    os: str | None = None
    kernel: str | None = None
    arch: str | None = None
    rights: str | None = None
    clock: str | None = None
    hz: int | None = None
    unit: str | None = None


def probe(named: Sequence[Named], interrupt: Interrupt) -> list[Probe]:
    """Ask these targets, all at once, and return their answers in the same order.

    A target on which somebody measures is not disturbed.  Raises Interrupted.
    """
    inquiries = [_Inquiry(target, interrupt) for target in named]
    _at_once([inquiry.reach for inquiry in inquiries], interrupt)
    _at_once([inquiry.ask for inquiry in inquiries if inquiry.free], interrupt)
    if interrupt.requested:
        raise Interrupted("interrupted")
    return [inquiry.answer for inquiry in inquiries]


def _at_once(work: Sequence[Callable[[], None]], interrupt: Interrupt) -> None:
    """Call all of them at once; what does not return in time is left behind."""
    threads = [threading.Thread(target=call, daemon=True) for call in work]
    end = time.monotonic() + ANSWER_S + 5.0
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive() and time.monotonic() < end and not interrupt.insisted:
            thread.join(POLL_S)


class _Inquiry:
    """The questions to a target.  ``answer``: what it has said so far."""

    target: Target | None = None
    free = False  # nobody measures there

    def __init__(self, named: Named, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        silent = f"no answer in {ANSWER_S:.0f} s"
        self.answer = Probe(name=named.name, address=named.address, error=silent)

    def reach(self) -> None:
        """Find the target, and look whether an agent could start there."""
        try:
            target = find(self.answer.name)
            target.check_ready()
            users = target.other_users()
        except RtstoneError as error:
            self._note(error=str(error))
            return
        self.target = target
        if users:
            self._note(answers=True, error=f"in use: {', '.join(users)}")
        elif target.probed:
            self.free = True
        else:
            self._note(answers=True, error=None)

    def ask(self) -> None:
        """Start the agent, and end it when it has said everything."""
        assert self.target
        try:
            for body in self._answers(self.target):
                match body:
                    case records.Hello(version) if version != records.VERSION:
                        raise commands.other_version(version)
                    case records.Hello() as hello:
                        self._note(os=hello.os, arch=hello.arch)
                    case records.Conditions(values):
                        release = as_text(values.get("kernel.release"))
                        build = as_text(values.get("kernel.version")) or ""
                        realtime = " PREEMPT_RT" if "PREEMPT_RT" in build else ""
                        self._note(kernel=f"{release}{realtime}" if release else release)
                    case records.Clock() as clock:
                        self._note(clock=clock.source, hz=clock.hz, unit=clock.unit)
                    case records.End(evidence=evidence) if "sched" in evidence:
                        self._note(rights=rights_in([evidence]))
        except RtstoneError as error:
            self._note(answers=False, error=str(error))
        else:
            self._note(answers=True, error=None)

    def _answers(self, target: Target) -> Sequence[records.Body]:
        """Return what the agent says.  Raises TargetError."""
        lines = (_CASE, commands.BYE)
        reader, end = Reader(), time.monotonic() + ANSWER_S
        bodies: list[records.Body] = []
        with target.start(Options(script=lines if target.scripted else ())) as link:
            to = commands.Commands(link.send, link.newest)
            for line in () if target.scripted else lines:
                to.say(line)
            while (text := link.read(POLL_S)) != b"":
                if time.monotonic() > end or self._interrupt.requested:
                    raise TargetError(f"no answer in {ANSWER_S:.0f} s{link.last_words()}")
                for event in reader.feed(text or b""):
                    if isinstance(event, Record):
                        bodies.append(event.body)
                        if isinstance(event.body, records.Heard) and not target.scripted:
                            to.echoed(event.body)
                to.keep()
        if not any(isinstance(body, records.Hello) for body in bodies):
            raise TargetError(f"not an rtstone agent, {target.agent}")
        return bodies

    def _note(self, **members: object) -> None:
        self.answer = msgspec.structs.replace(self.answer, **members)
