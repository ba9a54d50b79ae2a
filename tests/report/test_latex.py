"""Tables in LaTeX: text from outside is never a command, and a table is one to LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.run import Result, Run, Value
from rtstone.report.comparison.latex import latex as compared_latex
from rtstone.report.parts import latex_cells, model_latex
from rtstone.report.parts.model import Cell, Grid, Head, Notes, Page, Section, Table
from rtstone.report.parts.model_latex import escaped, write
from rtstone.report.run.latex import latex
from rtstone.stats.comparison.compare import compare
from rtstone.stats.published.layout import names
from rtstone.stats.reproduce import reproduce
from rtstone.wire.records import Bench, Param
from tests.conftest import Cli
from tests.plot.test_plot import result as latency
from tests.plot.test_plot import run as wakeups
from tests.plot.test_plot import stalled
from tests.report.synthetic import run

HOSTILE = (
    r"\input{/etc/passwd}", r"}\end{tabular}", "a & b", "100%", "$x$", "a_b^c", "~#", "[2em] x",
    "* x", "a\n\nb", r"\\", '"quoted"', "<b>|</b>", "µs", "日本語", "ü ö é", "\u202e", "--",
)  # fmt: skip


END = r"\end{table}"


def page(*blocks: Grid | Table | Notes, title: str = "A table") -> Page:
    return Page("A page", [Section("key", title, blocks)], {})


COLUMN = r"[lr]|p\{0\.\d+\\linewidth\}"
# A command of LaTeX, or a character that has no meaning of its own outside of one.
TOKEN = re.compile(r"\\[A-Za-z]+|\\[^A-Za-z]|[{}&$#%^_~]|.", re.DOTALL)
KNOWN = {
    "begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule", "par",
    "smallskip", "footnotesize", "raggedright", "quad", "textsuperscript", "resizebox", "linewidth",
    "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar",
    "textquotedbl", "ensuremath", "mu", "pm", "times", "le", "ge", "ldots", "ifdim", "width",
    "else", "fi", "multicolumn", "emph", "addlinespace",
}  # fmt: skip


def check_grammar(text: str) -> list[list[str]]:
    """Check that a text is what `write` may write; return the cells of its rows.

    Groups and environments nest; all commands are of a known few; each row has as many cells as its
    tabular has columns; no character has a meaning that it was not meant to have.
    """
    body = re.sub(r"(?m)^%.*\n", "", text)
    depth, rows, columns = 0, list[list[str]](), 0
    row = [""]
    environments: list[str] = []
    inside, kind = False, r"\{tabular\}"
    for match in re.finditer(r"\\(begin|end)\{(\w+)\}", body):
        if match[1] == "begin":
            environments.append(match[2])
        else:
            assert environments.pop() == match[2]
    assert environments == []
    for part in re.split(rf"(\\begin{kind}\{{(?:{COLUMN})+\}}|\\end{kind})", body):
        if part.startswith(r"\begin{tabular}"):
            inside, columns = True, len(re.findall(COLUMN, part.partition("}{")[2]))
            continue
        if part.startswith(r"\end{tabular}"):
            inside = False
            continue
        for token in TOKEN.findall(part):
            if token.startswith("\\") and token[1:].isalpha():
                assert token[1:] in KNOWN, token
            if token in {"{", "}"}:
                depth += 1 if token == "{" else -1
                assert depth >= 0
            assert token not in {"$", "#", "^", "_"}, token
            if inside and token == "&":
                row.append("")
            elif inside and token == r"\\":
                if rf"\multicolumn{{{columns}}}" in row[0]:  # a heading of the rows below it
                    assert len(row) == 1, row
                elif rf"\multicolumn{{{columns - 1}}}" in row[-1]:  # why there are no numbers
                    assert len(row) == 2, row
                else:
                    assert len(row) == columns, row
                rows.append(row)
                row = [""]
            elif token == "&":
                pytest.fail("a cell outside of a table")
            else:
                row[-1] += token
        row = [""]
    assert depth == 0
    return rows


def compiled(texts: Sequence[str], place: Path, options: str = "") -> str:
    """Return what pdflatex logs of a paper with these tables; skips the test without one."""
    if not shutil.which("pdflatex"):
        pytest.skip("needs pdflatex (texlive-latex-recommended)")
    paper = "\n".join([
        rf"\documentclass[{options}]{{article}}", r"\usepackage[T1]{fontenc}",
        *model_latex.PACKAGES,
        r"\begin{document}", *(text.replace(END, END + "\\clearpage") for text in texts),
        r"\end{document}",
    ])  # fmt: skip
    (place / "paper.tex").write_text(paper, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
        cwd=place, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (place / "paper.pdf").read_bytes().startswith(b"%PDF")
    return done.stdout


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_outside_is_no_command(text: str) -> None:
    rows: list[list[str | Cell]] = [[text, Cell(text, marks=[1, 2])], [f"{text} [3]", text]]
    written = write(page(Table([text, text], rows), title=text), text)
    cells = check_grammar(written)
    assert len(cells) == 3
    assert "passwd" not in written or r"\textbackslash{}input\{/etc/passwd\}" in written
    assert all(line.isprintable() for line in written.splitlines())
    assert not any(re.match(r"\s*[\[*]", row[0]) for row in cells)


def test_a_table_is_one_of_booktabs() -> None:
    heads = [Head("printed 2001", "Lynx"), Head("here", "local")]
    grid = Grid("call", heads, [(Head("", "post"), [Cell("1.5", marks=[1]), Cell("2")])])
    text = write(page(grid, Notes(["why"], "footnotes"), Notes(["dropped"], "list")), "x y")
    lines = text.splitlines()
    assert lines[3:] == [
        r"\begin{table}", r"\centering", r"\caption{A table}", r"\label{x-y:key}", r"\smallskip",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        r"\begin{tabular}{lrr}", r"\toprule", r"call & Lynx (printed 2001) & local (here) \\",
        r"\midrule", r"post & 1.5\textsuperscript{1} & 2 \\", r"\bottomrule", r"\end{tabular}}",
        r"\par\smallskip\footnotesize\raggedright \textsuperscript{1} why", r"\end{table}",
    ]  # fmt: skip
    assert "dropped" not in text


def test_a_wide_table_is_scaled_to_the_column(tmp_path: Path) -> None:
    """Not a narrow one, which would be blown up."""
    wide, narrow = (write(page(Table(list("abcd"), [["x" * n] * 4])), "x") for n in (30, 1))
    for options in ("", "twocolumn"):
        assert "Overfull" not in compiled([wide, narrow], tmp_path, options)


def test_a_long_cell_is_folded(tmp_path: Path) -> None:
    text = write(page(Table(["a", "b"], [["a word " * 30, "1"]])), "x")
    assert r"\begin{tabular}{p{0.36\linewidth}r}" in text
    assert check_grammar(text)
    compiled([text], tmp_path)


def test_a_long_table_goes_on_in_another_float(tmp_path: Path) -> None:
    """In two columns, too, where LaTeX has no longtable."""
    rows = [[str(n), "x"] for n in range(200)]
    text = write(page(Table(["a", "b"], rows)), "x")
    assert text.count(r"\begin{table}") == 5
    assert r"\caption{A table, continued}" in text and r"\label{x:key-part2}" in text
    assert [row[0].split()[-1] for row in check_grammar(text) if "a" not in row[0].split()] == [
        str(n) for n in range(200)
    ]
    compiled([text], tmp_path, "twocolumn")


def test_a_grid_of_many_columns_is_one_of_several_parts() -> None:
    heads = [Head("here", f"system {n}") for n in range(13)]
    rows = [(Head("", f"row {n}"), [Cell(f"{n}.{m}", marks=[m]) for m in range(13)]) for n in "ab"]
    text = write(page(Grid("call", heads, rows), Notes([f"note {n}" for n in range(1, 13)],
                 "footnotes")), "x")  # fmt: skip
    cells = check_grammar(text)
    assert [len(row) for row in cells] == [6] * 6 + [4] * 3
    values = [cell.split(r"\text")[0].strip() for row in cells for cell in row[1:] if "." in cell]
    assert sorted(values) == sorted(f"{n}.{m}" for n in "ab" for m in range(13))
    assert r"\label{x:key-1}" in text and r"\label{x:key-3}" in text
    assert "note 12" in text.split(r"\label{x:key-3}")[1]
    assert "note 1 " not in text.split(r"\label{x:key-3}")[1]
    text = write(page(Grid("call", heads[:1], [(Head("", "a"), [Cell("1")])]),
                 Notes(["of no cell"], "footnotes")), "x")  # fmt: skip
    assert "of no cell" in text


def test_a_footnote_stands_below_the_rows_that_it_is_of() -> None:
    rows = [[f"{n}" + (" [1]" if n == 2 else " [2]" if n == 60 else ""), "x"] for n in range(70)]
    text = write(page(Table(["a", "b"], rows), Notes(["early", "late"], "footnotes")), "x")
    first, second, _ = text.split(r"\end{table}")
    assert "early" in first and "late" not in first
    assert "late" in second and "early" not in second


def test_rows_of_several_lines_fill_a_page_sooner() -> None:
    rows = [["a word of it " * 3, "x"] for n in range(40)]
    assert write(page(Table(["a", "b"], rows)), "x").count(r"\begin{table}") == 4


@pytest.mark.parametrize("options", ["", "twocolumn"])
def test_no_float_is_longer_than_its_page(tmp_path: Path, options: str) -> None:
    """With headings, whose space above them counts, folded names, footnotes and a long caption."""
    heads = [Head("", "n"), Head("", "max")]
    values = [Cell("1"), Cell("2")]
    headed = [
        (Head("", name), cells) for case in range(40)
        for name, cells in ((f"case {case}", []), ("A", values), ("B", values))
    ]  # fmt: skip
    folded = [(Head("", f"hart.PH.{n} policy=edf tests that the time did not allow"), values)
              for n in range(60)]  # fmt: skip
    noted = [(Head("", f"case {n} [{n + 1}]"), values) for n in range(50)]
    notes = Notes(["why this case has no number, in many words and more " * 2] * 50, "footnotes")
    title = "Results. " + "What a reader of a paper has to know of it. " * 8
    pages = [
        page(Grid("case", heads, headed), title=title), page(Grid("case", heads, folded)),
        page(Grid("case", heads, noted), notes),
        page(Grid("case", heads, [(Head("", "case"), values)] * 100)),
    ]  # fmt: skip
    texts = [write(content, f"x{n}") for n, content in enumerate(pages)]
    assert "Float too large" not in compiled(texts, tmp_path, options)


def test_a_heading_stays_with_the_rows_below_it() -> None:
    rows = [
        (Head("", name), cells) for case in range(30)
        for name, cells in ((f"case {case}", []), ("A", [Cell("1")]), ("B", [Cell("2")]))
    ]  # fmt: skip
    text = write(page(Grid("system", [Head("", "n")], rows)), "x")
    first, second = text.split(r"\end{table}")[:2]
    assert r"\multicolumn{2}{l}{\emph{case 0}} \\" in first and "case 10" in first
    assert second.index("case 11") < second.index("A & 1")
    assert text.count("A & 1") == text.count("B & 2") == 30
    long = [(Head("", "case"), list[Cell]()), *((Head("", "A"), [Cell("1")]) for _ in range(100))]
    text = write(page(Grid("system", [Head("", "n")], long)), "x")
    assert text.count(r"\emph{case}") == text.count(r"\begin{table}") == 3  # on each


def test_the_numbers_of_a_run_are_in_its_table() -> None:
    text = latex(run())
    cells = check_grammar(text)
    measured = [r for r in run().results if r.n]
    assert len(cells) > len(measured)
    assert escaped(measured[0].bench) in cells[1][0]


def test_a_comparison_and_a_publication_are_tables_of_latex(tmp_path: Path) -> None:
    from rtstone.report.reproduction.page import latex as reproduced

    comparison = compared_latex(compare([[run()], [run(run_id="other", name="100% & more")]]))
    texts = [latex(run()), comparison]
    texts += [reproduced(reproduce(source, [run()], lambda *_: []).document) for source in names()]
    for text in texts:
        assert check_grammar(text)
    for text in texts[:2]:  # a column of a paper
        assert len(re.findall(COLUMN, re.findall(r"tabular\}\{(.*)\}", text)[0])) <= 7
    compiled([*texts, write(page(Table(HOSTILE, [HOSTILE])), "x")], tmp_path)


def test_a_caption_says_what_was_measured_where_and_when() -> None:
    """As no reader of a paper has the run: system, machine, day, period, load, time."""
    (caption,) = re.findall(r"\\caption\{(.*)\}", latex(lone(1, {"period": 10**6})))
    assert caption == (
        "Results of local. Linux 6.1-rt, A72, 2026-01-02. Period of dk.periodic: 1 ms. "
        "Without load. Measured for 4.00 s. Times are in \\ensuremath{\\mu}s. "
        "No activation was missed."
    )
    text = latex(lone(1, {"period": 250_000}))  # no default, so that its row has it
    assert "Period" not in text and "dk.periodic period=250us &" in text
    heavy = compared_latex(compare([
        [lone(k, {"period": 10**6}, run_id=f"r{k}", name=name, load="heavy")]
        for k, name in enumerate(("stock", "tuned"))
    ]))  # fmt: skip
    (caption,) = re.findall(r"\\caption\{(.*)\}", heavy)
    assert caption.startswith(
        "stock, tuned compared. stock, tuned: Linux 6.1-rt, A72, 2026-01-02. "
        "Period of dk.periodic: 1 ms. Under load heavy. "
    )


def lone(seed: int, params: dict[str, Value], load: str = "none", **members: Any) -> Run:
    """Return a run of one wake-up case on a system that says what it is."""
    conditions: dict[str, Value] = {
        "kernel.name": "Linux", "kernel.release": "6.1-rt", "cpu.model": "A72",
    }  # fmt: skip
    table = Bench("dk.periodic", params=[Param("period", "duration", "ns", 10**6)])
    case = latency(seed, params=params, load=load)
    return wakeups(case, conditions=conditions, benches=[table], **members)


def test_percentiles_stand_also_where_activations_were_missed() -> None:
    """The highest that there are samples for, and p99; n has what was missed beside it."""
    stalls = wakeups(stalled())
    text = latex(stalls)
    head, *rows = check_grammar(text)
    assert [cell.strip() for cell in head[1:]] == ["n + missed", "p50", "p99", "max"]
    assert "4\\,000 + 50" in rows[0][1]
    assert rows[0][3].strip() == latex_cells.number(stalls.results[0].p99, "ns")
    assert "Corrected numbers include the missed activations." in text


def test_why_a_system_has_no_numbers_is_in_no_column_of_them() -> None:
    refused = lone(2, {}, run_id="other", name="other")
    (periodic,) = refused.results
    unsupported = Result(case=1, bench="dk.periodic", params={}, load="none", status="unsupported",
                         reason="no timer")  # fmt: skip
    both = lone(1, {}, run_id="r1", name="stock")
    text = compared_latex(compare([
        [structs.replace(both, results=[*both.results, structs.replace(periodic, bench="null")])],
        [structs.replace(refused, results=[unsupported, structs.replace(periodic, bench="null")])],
    ]))  # fmt: skip
    assert check_grammar(text)
    assert r"other\textsuperscript{1} & \multicolumn{6}{l}{unsupported} \\" in text


def test_the_command_writes_it(cli: Cli, tmp_path: Path) -> None:
    from tests.cli.test_compare import store_run

    name = store_run(run())
    done = cli("export", name, "--format", "latex")
    assert (done.status, done.err, done.out) == (0, "", latex(run()))
    file = tmp_path / "table.tex"
    assert cli("export", name, "--format", "latex", "-o", file).status == 0
    assert file.read_text("utf-8") == done.out
    done = cli("compare", name, store_run(run(run_id="other")), "-o", file)
    assert done.status == 0 and r"\toprule" in file.read_text("utf-8")
    done = cli("reproduce", "gutsalov", name, "-o", file)
    assert done.status == 0 and r"\label{gutsalov:t0}" in file.read_text("utf-8")
