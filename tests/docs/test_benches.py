"""The pages of the benches say what the agent's tables say."""

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


def test_a_bench_that_is_gone_leaves_no_page(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("")
    write({"new.md": "new\n"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new.md"]
