"""`rtstone doctor`."""

from __future__ import annotations

import sys

import click


@click.command("doctor")
@click.option("--cpus", metavar="LIST", help="CPUs to be measured; default: the agent's choice.")
@click.option("--json", is_flag=True, help="Print only one document, as JSON.")
def command(cpus: str | None, json: bool) -> int:
    """Check whether this system is fit to be measured.  Exit code 1: something is bad.

    Verdicts: good (+); warn (!), costs time or certainty; bad (X), makes measuring impossible or
    misleading; unknown (?), cannot be determined from here; yours (-), only you can tell.
    """
    from rtstone.store.past import last_run
    from rtstone.system.checks import lines
    from rtstone.system.facts import System

    system = System(cpus=cpus, run=last_run)
    measured = system.measured  # reject a bad list before checking anything
    found = lines(system)
    if json:
        from rtstone.cli.output import print_document

        checks = [line._asdict() for line in found]
        print_document({"schema": "rtstone.doctor/1", "cpus": sorted(measured), "checks": checks})
    else:
        from rtstone.cli.system_lines import checklist
        from rtstone.report.parts.console import console

        out = console(sys.stdout)
        out.print(*checklist(found, measured, out.width), sep="\n")
    return int(any(line.verdict == "bad" for line in found))
