"""docs/reference/measuring.md has the table of flags that void judgements: as the code does."""

from __future__ import annotations

import re
from pathlib import Path

from rtstone.results.flags import ALL, FLAGS, spoilt, unfit

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "measuring.md").read_text()


def test_the_table_is_what_the_code_does() -> None:
    head = "".join(f" {judgement} |" for judgement in ALL)
    _, _, rest = TEXT.partition(f"| flag |{head} why |\n")
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|(.*?)\|(.*?)\|.+\|$", rest.partition("\n\n")[0], re.M)
    documented = {
        name: tuple(each for each, cell in zip(ALL, cells, strict=True) if cell.strip() == "void")
        for name, *cells in rows
    }
    assert documented == {flag.name: flag.voids for flag in FLAGS if flag.voids}
    assert len(rows) == len(documented)


def test_whatever_voids_something_says_why_and_nothing_else_does() -> None:
    for flag in FLAGS:
        assert bool(flag.spoils) == bool(flag.voids)
        for judgement in ALL:
            assert (spoilt([flag.name], judgement=judgement) == flag) == (judgement in flag.voids)
            assert spoilt([flag.name], [flag.name], judgement) is None
        assert bool(unfit([flag.name], 10, 2)) == ("not fit" not in flag.voids)


def test_what_proves_that_a_system_is_not_fit() -> None:
    assert unfit(["no_rt"], 99_387, 100_614) == "100 614 of 200 001 activations missed"
    assert unfit([], 10, 0) == unfit([], 10, None) == ""
