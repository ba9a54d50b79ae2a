"""The budget of the page on gates is one."""

from pathlib import Path

from rtstone.stats.budget import load

PAGE = Path(__file__).parent.parent.parent / "docs" / "guides" / "gate.md"


def test_the_budget_that_is_shown_is_one(tmp_path: Path) -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("```toml\n")
    file = tmp_path / "shown.toml"
    file.write_text(rest.partition("```")[0])
    shown = load(file)
    assert [entry.bench for entry in shown.entries] == ["dk.periodic", "ctx.ballast", "hart.*"]
    assert [limit.factor for limit in shown.entries[0].limits][:2] == [None, 1.1]
