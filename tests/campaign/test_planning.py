"""What a campaign becomes: its jobs, their keys and order; and what is refused beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtstone import plugins
from rtstone.campaign.estimate import in_parallel_s
from rtstone.campaign.jobs import CORE, WHOLE
from rtstone.campaign.matrix import read
from rtstone.campaign.planning import Planned, plan
from rtstone.errors import UsageError
from rtstone.interrupt import Interrupt
from rtstone.targets.exec import Exec
from tests.campaign.conftest import Board
from tests.conftest import Cli
from tests.lab.boards import needs


def planned(folder: Path, text: str) -> Planned:
    path = folder / "plan.toml"
    path.write_text(text)
    return plan(read(path), Interrupt())


BOTH = 'targets = ["sim", "sim:rtai-24.1.8"]\nmeasure = ["sched.yield"]\nrepeat = 2\n'


def test_repeats_are_interleaved_or_grouped(tmp_path: Path) -> None:
    def order(text: str) -> list[tuple[str, int]]:
        return [(job.cell.target, job.repeat) for job in planned(tmp_path, BOTH + text).jobs]

    other = "sim:rtai-24.1.8"
    assert order("") == [("sim", 1), (other, 1), ("sim", 2), (other, 2)]
    assert order('order = "grouped"') == [("sim", 1), ("sim", 2), (other, 1), (other, 2)]


def test_a_key_is_of_everything_that_a_result_depends_on(tmp_path: Path) -> None:
    def keys(text: str) -> list[str]:
        return [job.key for job in planned(tmp_path, text).jobs]

    model = tmp_path / "m.toml"
    model.write_text(
        (Path(__file__).parents[2] / "rtstone" / "models" / "default.toml").read_text()
    )
    own = 'targets = ["sim:m.toml"]\nmeasure = ["sched.yield"]\n'
    first = keys(own)
    assert keys(own) == first
    assert keys(own + "[params]\nsamples = 10000") != first
    limited = keys(own + 'limit = "100us"')
    assert limited != first
    assert keys(own + 'limit = "200us"') not in (first, limited)
    model.write_text(model.read_text() + "\n# changed\n")
    assert keys(own) != first
    assert len({*keys(BOTH), *first}) == 5


def test_a_load_that_no_target_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown load 'heavyy'"):
        planned(tmp_path, BOTH + 'loads = ["heavyy"]')
    with pytest.raises(UsageError, match="nothing can be measured with load 'syscalls' on any"):
        planned(tmp_path, BOTH + 'loads = ["none", "syscalls"]')


@needs("freertos-a64")
def test_what_one_target_lacks_is_no_job_there(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "some.toml"
    path.write_text(
        'targets = ["sim", "qemu:freertos-a64"]\nmeasure = ["sched.yield"]\n'
        'loads = ["none", "heavy"]'
    )
    document = cli("campaign", "plan", path, "--json").document
    assert (document["jobs"]["planned"], document["jobs"]["unsupported"]) == (3, 1)
    (lacking,) = [cell for cell in document["cells"] if cell["jobs"]["unsupported"]]
    assert (lacking["target"], lacking["load"]) == ("qemu:freertos-a64", "heavy")
    assert lacking["missing"][0]["reason"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOTH + "seeds = [1]", "no target has a seed"),
        ('targets = ["simm"]\nmeasure = ["sched.yield"]', "unknown target 'simm'"),
        (BOTH + "[params]\nsampels = 1", "no bench of this run has a parameter 'sampels'"),
        (BOTH + '[params]\nsamples = "x"', "samples"),
        (BOTH + 'time = "0"', "never ends"),
        (BOTH.replace("sched.yield", "sched.yiel"), "unknown suite or bench 'sched.yiel'"),
    ],
)
def test_nonsense_is_refused_before_anything_starts(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        planned(tmp_path, text)
    assert message in str(raised.value)
    assert "plan.toml" in str(raised.value)


def test_lanes(tmp_path: Path, board: Board) -> None:
    text = f'targets = ["sim", "local", "{board([])}"]\nmeasure = ["sched.yield"]'
    assert [job.lane for job in planned(tmp_path, text).jobs] == [CORE, WHOLE, WHOLE]


def test_what_may_run_on_this_machine_does_not_run_beside_it(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a kind of target that another package has: its name does not say so."""

    class Container(Exec):
        def __init__(self, argument: str) -> None:
            super().__init__(argument)
            self.name = f"container:{argument}"

    kinds = {"container": Container}
    monkeypatch.setattr(plugins, "find", lambda group, name, kind: kinds.get(name))
    address = board([]).replace("exec:", "container:")
    text = f'targets = ["{address}"]\nmeasure = ["sched.yield"]'
    assert [job.lane for job in planned(tmp_path, text).jobs] == [WHOLE]


def test_expected_times_come_from_stored_runs(tmp_path: Path, cli: Cli) -> None:
    assert [job.expected_s for job in planned(tmp_path, BOTH).jobs] == [None] * 4
    took = cli("run", "sched.yield", "--target", "sim", "--json").document["duration_s"]
    jobs = planned(tmp_path, BOTH).jobs
    expected = {"sim": took, "sim:rtai-24.1.8": None}
    assert [job.expected_s for job in jobs] == [expected[job.cell.target] for job in jobs]


def test_lanes_are_estimated_side_by_side() -> None:
    core = [(CORE, 9.5)] * 4
    assert in_parallel_s(core, 2) == 20
    assert in_parallel_s([*core, (WHOLE, 9.5)], 2) == 30
    assert in_parallel_s([*core, *[("board", 9.5)] * 5], 2) == 50
    assert in_parallel_s([*core, (CORE, None)], 2) is None
