"""`rtstone doctor`."""

from __future__ import annotations

import sys

import click

from rtstone.cli.parameters import JSON, TARGET


@click.command("doctor")
@click.option(
    "--target", "place", type=TARGET, default="local",
    help="The system to check: this one (default), or one that you can log in to.",
)  # fmt: skip
@click.option("--cpus", metavar="LIST", help="CPUs to be measured; default: the agent's choice.")
@click.option(
    "--problems", is_flag=True,
    help="Show all that is bad, a warning or unknown, with what to do.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Show every line.")
@JSON
def command(place: str, cpus: str | None, *, problems: bool, everything: bool, json: bool) -> int:
    """Check whether a system can be measured, the worst first.  Exit code 1: something is bad.

    Without an option it fills a screen: what is bad, then warnings.

    Verdicts: good (+); seen (=), the newest measurement, which no rule judges; warn (!), costs time
    or certainty; bad (X), makes measuring impossible or misleading; unknown (?), cannot be
    determined from here; yours (-), only you know.
    """
    from rtstone.store.measurements import measurements
    from rtstone.system.checks import lines
    from rtstone.targets import find

    target = find(place)
    with target.examine(target.chosen_cpus(cpus), measurements(place, target.name)) as system:
        measured = system.measured  # reject a bad list before checking anything
        states = lines(system)
        agents = target.other_users() or []
    measurable = not any(line.verdict == "bad" for line in states)
    if json:
        from rtstone.cli.output import print_document
        from rtstone.documents.doctor import CheckedLine, Checklist

        checks = [CheckedLine(**line._asdict(), tunable=line.tunable) for line in states]
        print_document(
            Checklist(
                target=place, measurable=measurable, cpus=sorted(measured), agents=agents,
                checks=checks,
            )
        )  # fmt: skip
    else:
        from rtstone.cli.pager import paged
        from rtstone.cli.system_lines import checklist

        with paged(sys.stdout) as out:
            # The prompt takes a row.
            room = None if problems or everything else out.height - 1
            rows = checklist(
                states, measured, out.width,
                room=room, problems=problems, target=place, agents=agents,
            )  # fmt: skip
            out.print(*rows, sep="\n")
    return int(not measurable)
