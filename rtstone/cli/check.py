"""`rtstone check`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from rtstone.cli.output import OutputFile, print_document, write_file
from rtstone.cli.parameters import RUN
from rtstone.cli.progress import working
from rtstone.cli.remote_runs import is_url, local, scratch
from rtstone.errors import UsageError
from rtstone.interrupt import Interrupt
from rtstone.printable import shown
from rtstone.store.index import find
from rtstone.store.rundir import load
from rtstone.units import counted

if TYPE_CHECKING:
    from rtstone.documents.check import Gate
    from rtstone.documents.run import Run


@click.command("check")
@click.argument("names", type=RUN, nargs=-1, required=True)
@click.option(
    "--budget",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Budget with the limits, a TOML file.",
)
@click.option(
    "--limit", "limits", multiple=True, metavar="'BENCH p999<=100us'",
    help="A limit without a file, as in a budget; repeat the option for several.  'sections "
    "KIND<=N' and 'sections bound<=N' limit what `rtstone sections` finds.  Without any of "
    "these options the run is checked against the --limit that it was measured with.",
)  # fmt: skip
@click.option(
    "--baseline", multiple=True, type=RUN,
    help="Run that relative limits refer to; repeat the option for several runs of one system.  "
    "Without --budget: fail if the run is worse than these, or with URL/series/KEY of a results "
    "server than the runs of that series since its last change.",
)  # fmt: skip
@click.option(
    "--trend", "last", type=click.IntRange(1), metavar="N",
    help="Instead of a budget: fail if a case of the run became worse in the last N stored runs of "
    "its target, as `rtstone trend` finds it.",
)  # fmt: skip
@click.option(
    "--explain", is_flag=True,
    help="Also explain the worst sample of each case that exceeded a limit, of at most five: of "
    "runs of the lab, and of traced ones.",
)  # fmt: skip
@click.option("--json", is_flag=True, help="Print only the check document, as JSON.")
@click.option(
    "--junit", type=OutputFile(), metavar="FILE", help="Also write the result as JUnit XML."
)
@click.option(
    "--markdown", type=OutputFile(), metavar="FILE",
    help="Also write the result as Markdown, for the summary of a CI job.",
)  # fmt: skip
@click.option(
    "--results", type=OutputFile(), metavar="FILE",
    help="Also write a line for each check, NAME RESULT VALUE UNIT, for test definitions of LAVA "
    "and KernelCI.",
)  # fmt: skip
@click.option(
    "--kcidb", type=OutputFile(), metavar="FILE",
    help="Also write a test run for each check as KCIDB takes it, the database of KernelCI; with "
    "--kcidb-origin and --kcidb-build.",
)  # fmt: skip
@click.option(
    "--kcidb-origin",
    "origin",
    metavar="NAME",
    help="With --kcidb: the name of the CI system that submits.",
)
@click.option(
    "--kcidb-build",
    "build",
    metavar="ID",
    help="With --kcidb: the id of the build that was measured, as its submitter gave it.",
)
@click.option(
    "--github", is_flag=True,
    help="In a job of GitHub Actions: annotate it with the checks that did not pass, append the "
    "Markdown to its summary, and set the output `verdict`.",
)  # fmt: skip
@click.option(
    "--write-budget", type=OutputFile(), metavar="FILE",
    help="Instead of checking, draft a budget from these runs of one system, which a further run "
    "of an unchanged system should meet; five runs are enough.",
)  # fmt: skip
@click.option(
    "--margin", metavar="SHARE", help="With --write-budget: slack added to each limit; default 20%."
)
def command(
    *,
    names: tuple[str, ...],
    budget: Path | None,
    limits: tuple[str, ...],
    baseline: tuple[str, ...],
    last: int | None,
    explain: bool,
    json: bool,
    junit: Path | None,
    markdown: Path | None,
    results: Path | None,
    kcidb: Path | None,
    origin: str | None,
    build: str | None,
    github: bool,
    write_budget: Path | None,
    margin: str | None,
) -> int:
    """Check a run against a budget, against earlier runs, or against the trend of those before it.

    Exit code: 0 if all limits are met, 1 if one is exceeded, 3 if the run is inconclusive.
    """
    if write_budget is not None:
        options = {
            "--budget": budget, "--baseline": baseline, "--trend": last, "--explain": explain,
            "--json": json, "--junit": junit, "--markdown": markdown, "--limit": limits,
            "--results": results, "--kcidb": kcidb, "--github": github,
        }  # fmt: skip
        if excess := [name for name, value in options.items() if value]:
            raise UsageError(
                f"--write-budget drafts a budget and checks nothing; leave out {excess[0]}"
            )
        return _draft(names, write_budget, margin or "20%")
    if margin is not None:
        raise UsageError("--margin applies only with --write-budget")
    job = _job(json=json) if github else None
    submitted = None
    if kcidb:
        from rtstone.report.check.kcidb import submission

        submitted = submission(origin, build)
    elif origin or build:
        option = "--kcidb-origin" if origin else "--kcidb-build"
        raise UsageError(f"{option} applies only with --kcidb FILE")
    gate, run = _gate(names, budget, limits, baseline, last, explain=explain)
    tables = run.benches
    from rtstone.report.check import text as checked

    if junit:
        from rtstone.report.check.junit import junit as as_junit

        write_file("the JUnit file", junit, as_junit(gate, tables))
    if markdown:
        write_file("the summary", markdown, checked.gate_markdown(gate, tables, run.results))
    if results:
        from rtstone.report.check.results import results as as_lines

        write_file("the results", results, as_lines(gate, tables))
    if kcidb and submitted:
        from rtstone.report.check.kcidb import kcidb as as_test_runs

        write_file("the test runs", kcidb, as_test_runs(gate, run, submitted))
    if json:
        print_document(gate)
    else:
        from rtstone.report.parts.console import console, sentences

        screen = console(sys.stdout)
        texts = [
            sentence
            for line in checked.gate_lines(gate, tables)
            for sentence in sentences(line, screen.width, "  ")
        ]
        if job:
            from rtstone.report.check.github import commands, quoted

            for text in (*quoted(text.plain for text in texts), *commands(gate, tables)):
                click.echo(text)
            job.add("GITHUB_STEP_SUMMARY", checked.gate_markdown(gate, tables, run.results))
            job.add("GITHUB_OUTPUT", f"verdict={gate.verdict}")
        else:
            screen.print(*texts, sep="\n")
    return gate.exit_code


class _Job(NamedTuple):
    """The files of a job of GitHub Actions, to which a step appends, by their variables."""

    files: dict[str, Path]

    def add(self, variable: str, text: str) -> None:
        """Append a text; to a pipe that nobody reads it does not wait.  Raises UsageError."""
        path = self.files[variable]
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(path, flags, 0o666), "a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        except OSError as error:
            raise UsageError(
                f"cannot write {shown(str(path))}, in ${variable}: {error.strerror}"
            ) from error


def _job(*, json: bool) -> _Job:
    """Return the files of the job that this is a step of.  Raises UsageError."""
    if json:
        raise UsageError("--json prints one document, and --github commands; leave out one")
    variables = ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")
    for variable in variables:
        if not os.environ.get(variable):
            raise UsageError(
                f"no job of GitHub Actions: ${variable} is not set; leave out --github"
            )
    return _Job({variable: Path(os.environ[variable]) for variable in variables})


def _gate(
    names: tuple[str, ...], budget: Path | None, limits: tuple[str, ...],
    baseline: tuple[str, ...], last: int | None, *, explain: bool,
) -> tuple[Gate, Run]:  # fmt: skip
    """Return the check of a run by the gate that the options name, and the run.

    Raises UsageError.
    """
    if len(names) > 1:
        raise UsageError(f"only one run can be checked at a time, not {len(names)}; name one")
    if limits and budget is not None:
        raise UsageError("--limit is a limit without a budget; add it to the file, or check twice")
    (name,) = local(names)
    limited = budget is not None or bool(limits)
    if limited and last is not None:
        option = "--budget" if limits == () else "--limit"
        raise UsageError(f"--trend is a gate without a budget; leave out {option}, or check twice")
    own = not limited and last is None and not baseline  # the limit that it was measured with
    if not limited:
        options = {"--baseline": baseline and last is not None, "--explain": explain and not own}
        if excess := [option for option, value in options.items() if value]:
            raise UsageError(f"{excess[0]} applies only with --budget or --limit")
    path = find(name)
    document = load(path)
    if budget is not None:
        gate = _budget_gate(document, budget, baseline)
    elif limits:
        gate = _limited_gate(path, document, limits, baseline)
    elif last is not None:
        gate = _trend_gate(path, document, last)
    elif baseline:
        gate = _baseline_gate(document, baseline)
    else:
        gate = _own_gate(document)
    if explain:
        from rtstone.cli.causes import with_causes

        gate = with_causes(path, document, gate)
    return gate, document


def _limited_gate(
    path: Path, document: Run, limits: tuple[str, ...], baseline: tuple[str, ...]
) -> Gate:
    """Return the check of a run by its results, and by its sections, for which it is repeated.

    Raises UsageError, TargetError, Inconclusive, Interrupted.
    """
    from rtstone.stats.section_gate import check_limits, with_sections

    with working("checking"):
        earlier = [load(find(directory)) for directory in local(baseline)]
        gate, of_sections = check_limits(document, limits, earlier, "--limit ")
    if not of_sections:
        return gate
    from rtstone.explain.sections import sections_of
    from rtstone.stats.explainable import choose

    with working("repeating the run"), Interrupt() as interrupt:
        sections = sections_of(path, document, choose(document).result, interrupt=interrupt)
    return with_sections(gate, sections, of_sections)


def _own_gate(document: Run) -> Gate:
    """Return whether a run met the latency that it was measured with.  Raises UsageError."""
    from rtstone.stats.gate import check_requirement

    gate = check_requirement(document)
    if gate is None:
        raise UsageError(
            "no limit to check; write --limit 'BENCH p999<=100us', --budget FILE, --baseline RUN "
            "or --trend N, or --write-budget FILE to draft a budget"
        )
    return gate


def _budget_gate(document: Run, budget: Path, baseline: tuple[str, ...]) -> Gate:
    """Return the check of a run against a budget, and note the baselines that it refers to."""
    from rtstone.stats.budget import load as load_budget
    from rtstone.stats.gate import check
    from rtstone.store.baseline import baselines, note

    limits = load_budget(budget)
    with working("checking"):
        earlier = [load(find(directory)) for directory in local(baseline)]
        for run in earlier:
            note(run.run_id, budget)
        return check(document, limits, earlier or baselines(limits.baselines, budget))


def _baseline_gate(document: Run, baseline: tuple[str, ...]) -> Gate:
    """Return whether a run is worse than others: runs by their names, or a series by its URL."""
    from rtstone.stats.trend.baseline_gate import gate

    paths, remarks = list[Path](), list[str]()
    for reference in baseline:
        if is_url(reference):
            from rtstone.server.client.fetch import earlier

            with working("fetching runs"):
                fetched = earlier(reference, scratch(), document.run_id)
            paths += fetched.runs
            remarks += [fetched.remark] if fetched.remark else []
        else:
            paths.append(find(reference))
    with working("comparing"):
        runs = [load(path) for path in paths]
        return gate(document, runs, ", ".join(baseline), "; ".join(remarks))


def _trend_gate(path: Path, document: Run, last: int) -> Gate:
    """Return whether a run became worse within the ``last`` stored runs of its target."""
    from rtstone.stats.trend.trend_gate import gate
    from rtstone.store.history import Wanted, history
    from rtstone.store.index import chronological, entries

    run_ids = [entry.run_id for entry in chronological(entries())]
    if path.name not in run_ids:
        raise UsageError(f"not among the stored runs, {path}; --trend follows those alone")
    benches = {result.bench for result in document.results}
    wanted = Wanted(set(run_ids[: run_ids.index(path.name) + 1]), benches.__contains__)
    with working("following the runs") as line, history(wanted, line.steps) as past:
        return gate(document, past.observations, last, past.with_histogram)


def _draft(names: tuple[str, ...], path: Path, margin: str) -> int:
    """Write a budget drafted from runs to a new file.  Raises UsageError."""
    from rtstone.report.check.budget import budget_text, warnings
    from rtstone.stats.budget import margin as share
    from rtstone.stats.draft import draft

    if path.exists():
        raise UsageError(f"file exists, {path}; name a new one")
    with working("drafting"):
        runs = [load(find(name)) for name in names]
        budget = draft(runs, share(margin))
    text = budget_text(budget)
    write_file("the budget", path, text)
    for warning in warnings(budget):
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"{shown(str(path))}: {counted(text.count('[[case]]'), 'case')}")
    return 0
