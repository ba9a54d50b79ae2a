"""Campaign files: what they mean, and that every mistake is one line."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import pytest

from rtstone.campaign.matrix import Campaign, Cell, read
from rtstone.errors import UsageError
from tests.conftest import Cli

WHOLE = """
title = "Every night"
targets = ["sim", "qemu:linux-6.1", "pi4"]
measure = ["lab", "dk.periodic  sched.yield"]
loads = ["none", "heavy"]
seeds = [1, 2]
repeat = 3
order = "interleaved"
time = "10s"

[params]
period = ["1ms", 5000]
samples = 100

[[exclude]]
target = "qemu:*"
load = "heavy"

[[exclude]]
measure = "lab"
params = { period = "5000" }

[limits]
hours = 0.5
runs = 500
"""


def written(folder: Path, text: str, name: str = "night.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def campaign(folder: Path, text: str) -> Campaign:
    return read(written(folder, text))


def test_the_cells_are_the_product_without_what_is_excluded(tmp_path: Path) -> None:
    night = campaign(tmp_path, WHOLE)
    assert (night.name, night.repeat, night.hours, night.runs) == ("night", 3, 0.5, 500)
    assert night.params == {"period": ["1ms", "5000"], "samples": ["100"]}
    cells = night.cells()
    # 3 targets x 2 x 2 loads x 2 periods, less 4 of one target's under load, less 3 x 2 - 1 others.
    assert len(cells) == len(set(map(str, cells))) == 24 - 4 - 5
    params = {"period": "5000", "samples": "100"}
    assert Cell("sim", "dk.periodic sched.yield", "heavy", params) in cells
    assert Cell("sim", "lab", "heavy", params) not in cells
    assert not any(c.target == "qemu:linux-6.1" and c.load == "heavy" for c in cells)


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    night = campaign(tmp_path, 'targets = ["sim"]\nmeasure = ["lab"]')
    assert night.cells() == [Cell("sim", "lab")]
    assert (night.title, night.order, night.repeat) == ("night", "interleaved", 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("", "no targets"),
        ('targets = ["sim"]', "no measure"),
        ('target = ["sim"]\nmeasure = ["lab"]', "unknown key 'target', in {}; did you mean 'targe"),
        ('targets = ["sim", "sim"]\nmeasure = ["lab"]', "'sim' is there twice, in 'targets'"),
        ('targets = ["sim"]\nmeasure = [""]', "is not text, in 'measure'"),
        ('targets = ["sim"]\nmeasure = ["a \'b"]', "no closing quotation, in 'measure'"),
        ('targets = ["sim"]\nmeasure = ["lab"]\nrepeat = 0', "repeat is a number from 1 to"),
        ('targets = ["sim"]\nmeasure = ["lab"]\nrepeat = true', "'repeat' is not a whole number"),
        ('targets = ["sim"]\nmeasure = ["lab"]\nseeds = [-1]', "'-1' is no seed"),
        ('targets = ["sim"]\nmeasure = ["lab"]\norder = "x"', "order is one of interleaved, gr"),
        ('targets = ["sim"]\nmeasure = ["lab"]\n[params]\na = []', "no value for 'a', in [params]"),
        ('targets = ["sim"]\nmeasure = ["lab"]\n[params]\na = {}', "a value is text, a number or"),
        ('targets = ["sim"]\nmeasure = ["lab"]\n[limits]\nhours = 0', "hours is a number above 0"),
        ('targets = ["sim"]\nmeasure = ["lab"]\n[limits]\nhour = 1', "did you mean 'hours'?"),
        ('targets = ["sim"]\nmeasure = ["lab"]\n[[exclude]]', "without a condition excludes all"),
        ('targets = ["sim"]\nmeasure = ["lab"]\nexclude = [1]', "an exclusion is not a table"),
        ('targets = ["sim"]\nmeasure = ["lab"]\n[[exclude]]\nparams = {a=1}', "is not in [params]"),
        ('targets = ["sim", "b"]\nmeasure = ["lab"]\nrepeat = 600000', "1200000 jobs"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_what_and_where(tmp_path: Path, wrong: str, message: str) -> None:
    path = written(tmp_path, wrong)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert message.replace("{}", str(path)) in str(raised.value)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("exclude", "message"),
    [('target = "simm"', "excludes nothing"), ('target = "*"', "everything is excluded")],
)
def test_an_exclusion_must_leave_something_and_take_something(
    tmp_path: Path, exclude: str, message: str
) -> None:
    text = f'targets = ["sim"]\nmeasure = ["lab"]\n[[exclude]]\n{exclude}'
    with pytest.raises(UsageError, match=message):
        campaign(tmp_path, text).cells()


def test_the_name_begins_run_ids(tmp_path: Path) -> None:
    for name in ("2026.toml", "a b.toml", "night", "é.toml", f"{'a' * 41}.toml"):
        with pytest.raises(UsageError, match="call it NAME"):
            read(written(tmp_path, WHOLE, name))


def mutations(text: str, number: int) -> list[str]:
    """Return texts with one mistake each: a letter, a line, a value or a key."""
    rng = random.Random(19)
    texts = []
    for _ in range(number):
        lines = text.strip().split("\n")
        place = rng.randrange(len(lines))
        line = lines[place]
        match rng.randrange(6):
            case 0:
                lines[place] = line[: rng.randrange(len(line) + 1)]
            case 1:
                at = rng.randrange(len(line) + 1)
                lines[place] = line[:at] + rng.choice(string.printable) + line[at:]
            case 2:
                lines.insert(rng.randrange(len(lines)), line)
            case 3:
                key = line.partition("=")[0]
                values: list[Any] = ["-1", "1e400", "nan", "''", "[]", "{}", "true", "[[1]]",
                                     '"\\u0000"', "99999999999999999999", "1979-05-27"]  # fmt: skip
                lines[place] = f"{key}= {rng.choice(values)}"
            case 4:
                del lines[place]
            case 5:
                lines[place] = line[::-1]
        texts.append("\n".join(lines))
    return texts


def test_two_hundred_mutations_are_understood_or_refused_in_a_line(
    tmp_path: Path, cli: Cli
) -> None:
    text = WHOLE.replace('"pi4"', '"sim:rtai-24.1.8"').replace('"qemu:linux-6.1"', '"sim:ideal"')
    refused = 0
    for number, mutated in enumerate(mutations(text.replace("qemu:*", "sim:*"), 200)):
        path = written(tmp_path, mutated, f"m{number}.toml")
        done = cli("campaign", "plan", path, "--json")
        if done.status == 0:
            assert done.document["schema"] == "rtstone.campaign/1"
        else:
            assert done.status == 2, (mutated, done.err)
            assert not done.out
            assert len(done.says) < 500
            refused += 1
    assert refused > 100
