"""Text from untrusted sources in Markdown."""

from __future__ import annotations

from rtstone.report.parts.markdown import ENTITIES, escaping, table


def test_text_from_outside_is_no_markup_and_stands_in_one_line() -> None:
    escape = escaping()
    assert escape("a|b\n `c` [d](e) *f* \\g") == "a\\|b \\`c\\` \\[d\\](e) \\*f\\* \\\\g"
    assert escape("<img> & x_y") == "\\<img\\> & x_y"
    assert escaping("_#", ENTITIES)("<b> & #x_y") == "&lt;b&gt; &amp; \\#x\\_y"


def test_a_table_has_a_rule_below_its_head() -> None:
    escape = escaping()
    lines = table(["case", "n"], [["a|b", "1"]], escape)
    assert lines == ["| case | n |", "| --- | --- |", "| a\\|b | 1 |"]
    assert table(["case", "n"], [], escape, numbers=True)[1] == "| --- | ---: |"
