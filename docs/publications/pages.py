"""Make the pages of all publications from the runs of the campaigns (reproduce-all.sh).

Each publication has NAME.html, NAME.md and NAME.json.  README.md says of each system how many
places of the tables have a number, and why the others have none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

RTSTONE = os.environ.get("RTSTONE", "rtstone")
PUBLICATIONS = ("sjoblom", "gutsalov", "obenland", "golatowski", "dankwardt")
HEAD = """# The publications, today

Each publication's tables as printed, beside the models made after it and the systems that were
measured. Made by `docs/reproduce-all.sh` of {version} ({years}). Systems of the lab count
instructions, and repeat exactly; `local`, if it is there, is the machine on which the pages were
made.

A place is a cell of the tables. *With a number*: measured or simulated. *Unsupported*: the system
lacks what it takes. *Not valid*: incomplete or failed. *Not run*: no run has it. *In no table*:
results of the suite that no table shows.
"""
ROW = "| {} | {} | {} | {} | {} | {} |"


def main(folder: Path) -> int:
    """Write the pages into a directory; return the last exit status of rtstone that is not 0."""
    status = 0
    runs: dict[str, list[str]] = {name: [] for name in PUBLICATIONS}
    for campaign in ("models", "systems"):
        state = rtstone("campaign", "status", f"{folder}/{campaign}.toml", "--json")
        if state.returncode:
            return state.returncode
        for cell in json.loads(state.stdout)["cells"]:
            runs[cell["measure"].split()[0]] += cell["runs"] + cell["incomplete"]
    version = rtstone("--version").stdout.strip().replace(", version", "")
    sections = []
    years: set[str] = set()
    for name in PUBLICATIONS:
        if not runs[name]:
            sections.append(f"## {name}\n\nNothing of it has been measured.\n")
            continue
        page = rtstone("reproduce", name, *runs[name], "-o", f"{folder}/{name}.html", "--json")
        (folder / f"{name}.json").write_text(page.stdout)
        text = rtstone("reproduce", name, *runs[name], "-o", f"{folder}/{name}.md", "--json")
        status = page.returncode or text.returncode or status
        if page.returncode:
            sections.append(f"## {name}\n\nIts page could not be made.\n")
            continue
        reproduction = json.loads(page.stdout)
        years |= {column["created"][:10] for column in reproduction["columns"]}
        sections.append(section(name, reproduction))
    head = HEAD.format(version=version, years=" to ".join(sorted(years)[:: len(years) - 1 or 1]))
    (folder / "README.md").write_text("\n".join([head, *sections]))
    return status


def section(name: str, reproduction: dict[str, Any]) -> str:
    """Return what the tables of a publication have of each system, as Markdown."""
    columns = reproduction["columns"]
    places = [Counter[str]() for _ in columns]
    for table in reproduction["tables"]:
        for item in table["items"]:
            for system, cell in zip(table["systems"], item["cells"], strict=True):
                if system["column"] is not None and cell["here"]:
                    places[system["column"]][kind(cell["here"])] += 1
    rows = [
        ROW.format("system", "with a number", "unsupported", "not valid", "not run", "in no table"),
        ROW.format(*["---"] * 6),
    ]
    for column, count in zip(columns, places, strict=True):
        kinds = [count[k] for k in ("ok", "unsupported", "not valid", "not run")]
        rows.append(ROW.format(column["label"], *kinds, sum(column["unshown"].values())))
    title = f"## {reproduction['title']}\n\n{reproduction['publication']}: [tables]({name}.md)\n"
    return "\n".join([title, *rows, ""])


def kind(cell: dict[str, Any]) -> str:
    """Return the kind of a cell: its status, or that it is not valid."""
    status = str(cell["status"])
    if status in {"incomplete", "failed"} or (status == "ok" and not cell["values"]):
        return "not valid"
    return status


def rtstone(*words: str) -> subprocess.CompletedProcess[str]:
    """Run rtstone; its messages go where this program's do."""
    return subprocess.run([RTSTONE, *words], stdout=subprocess.PIPE, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
