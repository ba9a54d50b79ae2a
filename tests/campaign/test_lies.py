"""Workers of a campaign that tell what is not so."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rtstone.campaign import dask_engine, engines
from rtstone.campaign.engines import Carried, Engine, new_home
from rtstone.campaign.jobs import Job
from rtstone.campaign.work import Outcome
from tests.campaign import killing
from tests.conftest import Cli

FILE = """
targets = ["sim"]
measure = ["sched.yield"]
repeat = 3
[params]
samples = 100
"""
GOOD = b'{"took_s": 1.0}'


@pytest.mark.parametrize(
    "sent",
    [
        None, 5, (), (GOOD,), (GOOD, None), (GOOD, {"run.json": "text"}), (GOOD, {5: b""}),
        (b"[" * 100_000, {}), (b'{"took_s": 1e400}', {}), (b'{"fault": "none"}', {}), (7, {}),
        (b"\xff", {}),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_a_defect_of_its_worker(sent: Any, home: Path, tmp_path: Path) -> None:
    job = Job(campaign="x", key="0" * 16, cell=None, spec="sim", lane="core")  # type: ignore[arg-type]
    engine = dask_engine.Dask.__new__(dask_engine.Dask)
    engine._campaign, engine._owner = "x", "0"
    (home / "runs").mkdir(parents=True)
    answer: Future[Any] = Future()
    answer.set_result(sent)
    outcome, _ = engine._carried(job, answer)
    assert outcome.fault == "defect"
    assert outcome.reason
    assert len(outcome.reason) <= 300


def test_only_files_of_a_run_are_taken() -> None:
    names = ("../../x", "/etc/passwd", "a\0b", "run.json\n", "x" * 5000, "explanation-1-1.json")
    _, files = dask_engine._answer((GOOD, dict.fromkeys((*names, "run.json"), b"{}")))
    assert list(files) == ["run.json"]


class Liar(Engine):
    """Says that all is well, and hands over what it likes."""

    lie: ClassVar[str] = ""
    source: ClassVar[Path]

    def slots(self) -> int:
        return 1

    def submit(self, job: Job) -> Future[Carried]:
        home = new_home(job.campaign, "0")
        place = home / "runs" / job.run_id
        first = sorted(self.source.glob("lies.*"))[0]
        if self.lie == "another's":  # the same for each job
            shutil.copytree(first, place)
        elif self.lie == "renamed":
            shutil.copytree(first, place)
            run = json.loads((place / "run.json").read_text())
            (place / "run.json").write_text(json.dumps(run | {"run_id": job.run_id}))
        elif self.lie == "none given":
            shutil.copytree(first, home / "runs" / "lies.ffffffffffffffff")
        future: Future[Carried] = Future()
        future.set_result(Carried(Outcome(), home))
        return future

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("lie", ["another's", "renamed", "none given", "nothing"])
def test_a_run_of_another_job_is_never_taken_for_it(
    cli: Cli, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    file = tmp_path / "lies.toml"
    file.write_text(FILE)
    other = tmp_path / "other"
    killing.undisturbed(file, other, tmp_path / "log")
    Liar.lie, Liar.source = lie, other / "runs"
    monkeypatch.setattr(engines, "Local", lambda *_: Liar())
    done = cli("campaign", "run", file, "--json")
    assert done.status == 3, done.err
    taken = sorted(path.name for path in (home / "runs").glob("lies.*"))
    own = sorted(path.name for path in (other / "runs").glob("lies.*"))[:1]
    assert taken == (own if lie in {"another's", "renamed"} else [])
    assert "no run of this job came: " in done.err
    assert "Traceback" not in done.err
