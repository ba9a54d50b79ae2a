"""What fresh-check keeps of the commands it types."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from tests.agent.rights import as_root
from tests.install.conftest import PACKAGING


@as_root
def test_each_command_has_a_log_of_all_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last 40 lines of a failed `make test` did not have the causes."""
    loader = SourceFileLoader("fresh_check", str(PACKAGING / "fresh-check"))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    fresh = module_from_spec(spec)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(fresh)
    assert fresh.commands() == ["apt-get install -y make", "make run", "make test"]
    monkeypatch.setattr(fresh, "ENTER", 'exec "$@"')  # this system
    logs, home = tmp_path / "logs", str(tmp_path)[1:]
    logs.mkdir()
    (tmp_path / "rtstone").mkdir()
    for number, command in enumerate(("echo fine", "seq 99 >&2; printf '\\377'; false"), 1):
        session = fresh.typed(Path("/"), logs, "root", home, command)
        assert session.log == logs / f"{number}-root.log"
        assert fresh.fit("root", command, session) == (number == 1)
        assert f": {session.log}\n" in capsys.readouterr().out
    assert (logs / "1-root.log").read_text() == "fine\n"
    text = "".join(f"{line}\n" for line in range(1, 100))
    assert (logs / "2-root.log").read_text() == f"{text}\ufffd"
