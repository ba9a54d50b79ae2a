"""The pages of the benches say what the agent's tables say."""

import re
from pathlib import Path

from rtstone.cli.benchpages import declared, pages, write
from rtstone.measure.suite import Suite, Wanted
from rtstone.wire.records import Bench, Param

FOLDER = Path(__file__).parent.parent.parent / "docs" / "benches"


def test_pages_are_those_of_the_tables() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert written == pages(*declared()), "the pages of docs/benches are stale; run: make docs"


def test_a_page_has_all_that_is_declared() -> None:
    limit = Param("limit", "duration", "ns", 1_500_000, 1000, 10**9, help="of a | wait")
    bench = Bench("a.b", "A title", "Source, 3", "What it does.", ["priorities"], [limit])
    suite = Suite("some", "", "", [Wanted("a.b", {}), Wanted("a.b", {})])
    page = pages({"a.b": bench}, [suite])["a.b.md"]
    assert page.startswith("# a.b: A title\n")
    for line in (
        "What it does.",
        "* Source: Source, 3",
        "* Needs: tasks of different priority",
        "* In suites: `some`",
        "    rtstone run a.b",
        "| `limit` | `1500us` | 1us to 1s (ns, us, ms, s, min, h; no unit: s) | of a \\| wait |",
    ):
        assert line in page.splitlines(), line


def test_a_page_has_the_command_that_gives_the_slope() -> None:
    count = Param("n", "int", None, 1, 1, 100)
    bench = Bench("grow.x", "X", "", "", [], [count], slope_over="n")
    other = Bench("a.b", "A", "", "", [], [count], slope_over="n")
    suite = Suite("some", "", "", [Wanted("grow.x", {"n": [1, 4]}), Wanted("a.b", {"n": 7})])
    texts = pages({"grow.x": bench, "a.b": other}, [suite])
    assert "    rtstone run grow.x -p n=1,4  # with the slope" in texts["grow.x.md"].splitlines()
    assert ", [how costs grow](../guides/growth.md), " in texts["grow.x.md"]
    assert "slope\n" not in texts["a.b.md"]


def test_every_page_of_a_bench_leads_somewhere() -> None:
    for path in FOLDER.glob("*.md"):
        for place in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            assert (FOLDER / place).exists(), (path.name, place)


def test_a_bench_that_is_gone_leaves_no_page(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("")
    write({"new.md": "new\n"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new.md"]
