"""Tables in LaTeX: text from outside is never a command, and a table is one to LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from rtstone.report.parts import model_latex
from rtstone.report.parts.model import Cell, Grid, Head, Notes, Page, Section, Table
from rtstone.report.parts.model_latex import escaped, write
from rtstone.report.run.latex import latex
from rtstone.stats.comparison.compare import compare
from rtstone.stats.published.layout import names
from rtstone.stats.reproduce import reproduce
from tests.conftest import Cli
from tests.report.synthetic import run

HOSTILE = (
    r"\input{/etc/passwd}", r"}\end{tabular}", "a & b", "100%", "$x$", "a_b^c", "~#", "[2em] x",
    "* x", "a\n\nb", r"\\", '"quoted"', "<b>|</b>", "µs", "日本語", "ü ö é", "\u202e", "--",
)  # fmt: skip


END = r"\end{table}"


def page(*blocks: Grid | Table | Notes, title: str = "A table") -> Page:
    return Page("A page", [Section("key", title, blocks)], {})


COLUMN = r"[lr]|p\{0\.\d+\\textwidth\}"
# A command of LaTeX, or a character that has no meaning of its own outside of one.
TOKEN = re.compile(r"\\[A-Za-z]+|\\[^A-Za-z]|[{}&$#%^_~]|.", re.DOTALL)
KNOWN = {
    "begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule", "par",
    "smallskip", "footnotesize", "raggedright", "quad", "textsuperscript", "resizebox", "textwidth",
    "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar",
    "textquotedbl", "scriptsize", "setlength", "tabcolsep", "endhead", "ensuremath", "mu",
    "pm", "times", "le", "ge", "ldots",
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
    inside, kind = False, r"\{(?:tabular|longtable)\}"
    for match in re.finditer(r"\\(begin|end)\{(\w+)\}", body):
        if match[1] == "begin":
            environments.append(match[2])
        else:
            assert environments.pop() == match[2]
    assert environments == []
    for part in re.split(rf"(\\begin{kind}\{{(?:{COLUMN})+\}}|\\end{kind})", body):
        if part.startswith((r"\begin{tabular}", r"\begin{longtable}")):
            inside, columns = True, len(re.findall(COLUMN, part.partition("}{")[2]))
            continue
        if part.startswith((r"\end{tabular}", r"\end{longtable}")):
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
                if not (len(row) == 1 and r"\caption" in row[0]):  # of a longtable
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


def compiled(texts: Sequence[str], place: Path) -> str:
    """Return what pdflatex logs of a paper with these tables; skips the test without one."""
    if not shutil.which("pdflatex"):
        pytest.skip("needs pdflatex (texlive-latex-recommended)")
    paper = "\n".join([
        r"\documentclass{article}", r"\usepackage[T1]{fontenc}", *model_latex.PACKAGES,
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
        r"\begin{table}", r"\centering", r"\caption{A table}", r"\label{x-y:key}",
        r"\begin{tabular}{lrr}", r"\toprule", r"call & Lynx (printed 2001) & local (here) \\",
        r"\midrule", r"post & 1.5\textsuperscript{1} & 2 \\", r"\bottomrule", r"\end{tabular}",
        r"\par\smallskip\footnotesize\raggedright \textsuperscript{1} why", r"\end{table}",
    ]  # fmt: skip
    assert "dropped" not in text


def test_a_wide_table_is_scaled_to_the_page() -> None:
    text = write(page(Table(list("abcd"), [["x" * 30] * 4])), "x")
    assert r"\resizebox{\textwidth}{!}{%" in text and r"\end{tabular}}" in text


def test_a_long_cell_is_folded(tmp_path: Path) -> None:
    text = write(page(Table(["a", "b"], [["a word " * 30, "1"]])), "x")
    assert r"\begin{tabular}{p{0.36\textwidth}r}" in text
    assert check_grammar(text)
    compiled([text], tmp_path)


def test_a_long_table_goes_on_on_the_next_page(tmp_path: Path) -> None:
    rows = [[str(n), "x"] for n in range(200)]
    text = write(page(Table(["a", "b"], rows)), "x")
    assert r"\begin{longtable}{lr}" in text and r"\begin{table}" not in text
    assert len(check_grammar(text)) >= 200
    pages = re.search(r"\((\d+) pages", compiled([text], tmp_path))
    assert pages and int(pages[1]) > 2


def test_the_numbers_of_a_run_are_in_its_table() -> None:
    text = latex(run())
    cells = check_grammar(text)
    measured = [r for r in run().results if r.n]
    assert len(cells) > len(measured)
    assert escaped(measured[0].bench) in cells[1][0]


def test_a_comparison_and_a_publication_are_tables_of_latex(tmp_path: Path) -> None:
    from rtstone.report.comparison.latex import latex as compared
    from rtstone.report.reproduction.page import latex as reproduced

    comparison = compared(compare([[run()], [run(run_id="other", name="100% & more")]]))
    texts = [latex(run()), comparison]
    texts += [reproduced(reproduce(source, [run()], lambda *_: []).document) for source in names()]
    for text in texts:
        assert check_grammar(text)
    compiled([*texts, write(page(Table(HOSTILE, [HOSTILE])), "x")], tmp_path)


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
