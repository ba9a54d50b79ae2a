"""A target of the tests: the fake agent behind a command, in a scenario of its own."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, ClassVar

from rtstone.errors import TargetError
from rtstone.targets import find
from rtstone.targets.base import Link, Options, Target
from rtstone.targets.process import Process
from tests.conftest import FAKE

HERE = object()  # the id of this machine


class Box(Target):
    """The fake agent behind a command of its own, as by a network; ``MADE``: how it is to be."""

    MADE: ClassVar[dict[str, dict[str, Any]]] = {}
    affinities: ClassVar[dict[str, set[int]]] = {}

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.name, self.agent = f"box:{argument}", "a box"
        self._made = dict(self.MADE.get(argument, {}))
        self._others: list[str] | None = self._made.pop("there", None)
        self._machine = self._made.pop("machine", None)

    def check_ready(self) -> None:
        if self._made.get("away"):
            raise TargetError(f"{self.name} does not answer")

    def other_users(self) -> list[str] | None:
        return self._others

    def start(self, options: Options) -> Link:
        self.affinities[self.name] = os.sched_getaffinity(0)
        command = [sys.executable, "-S", "-E", str(FAKE), *["--list"] * options.catalogue]
        return Process(["env", f"FAKE_AGENT={json.dumps(self._made)}", *command], "")

    def detail(self) -> dict[str, str | int | None]:
        here = find("local").detail()["machine"]
        return {"machine": here if self._machine is HERE else self._machine}
