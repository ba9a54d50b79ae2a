"""The jobs of docs/guides/ci.md run: as they stand where a runner is installed, else by parts.

All measure the simulated system.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml  # type: ignore[import-untyped]

from rtstone.documents.check import Check, Gate
from rtstone.report.check.github import commands, quoted
from rtstone.report.check.results import results
from rtstone.report.check.text import gate_markdown
from tests.conftest import Cli
from tests.install.programs import needs
from tests.report.synthetic import run

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]
CI = ROOT / "packaging" / "ci"
PAGE = (ROOT / "docs" / "guides" / "ci.md").read_text("utf-8")
SIMULATED = "sim:rtai-24.1.8"
LAVA = Path("/usr/share/lava-common")
VALIDATE = """
import sys, yaml
from lava_common.schemas.test.testdef import validate
validate(yaml.safe_load(open(sys.argv[1])))
"""
BUDGET = """
schema = "rtstone.budget/1"
title = "Simulated"
[[case]]
bench = "dk.periodic"
p50 = "{}"
"""


def shown(heading: str) -> str:
    """Return the job below a heading of the page, for the simulated system."""
    _, _, rest = PAGE.partition(f"\n## {heading}\n")
    text = rest.partition("```yaml\n")[2].partition("```")[0]
    assert "local" in text
    return text.replace("target: local", f"target: {SIMULATED}").replace(
        "TARGET: local", f"TARGET: {SIMULATED}"
    )


@pytest.fixture(params=["1s", "1ns"], ids=["passes", "fails"])
def limit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(tmp_path: Path, limit: str) -> Path:
    """A project with the files that the page names, in git as runners want it."""
    place = tmp_path / "project"
    place.mkdir()
    shutil.copytree(CI, place / "packaging" / "ci")
    (place / "budget.toml").write_text(BUDGET.format(limit))
    return place


def in_git(place: Path) -> None:
    for words in ("init -q -b main", "add -A", "-c user.name=a -c user.email=a commit -qm a"):
        subprocess.run(["git", *words.split()], cwd=place, check=True, capture_output=True)
    address = "https://example.org/a/project.git"
    subprocess.run(["git", "remote", "add", "origin", address], cwd=place, check=True)


def environment(place: Path, **members: str) -> dict[str, str]:
    """Return an environment in which rtstone is a command with a store of its own."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    store = str(place.parent / "store")
    return (
        os.environ | {"PATH": programs, "RTSTONE_HOME": store, "HOME": str(place.parent)} | members
    )


def shell(
    script: str, place: Path, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a script as runners do: by a bash that ends with the first failure."""
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script], cwd=place, env=dict(variables), text=True,
        capture_output=True, check=False,
    )  # fmt: skip


# ---- as they stand ------------------------------------------------------------------------------


@needs("act", "git")
def test_the_workflow_of_github_is_run(project: Path, limit: str) -> None:
    workflow = project / ".github" / "workflows" / "latency.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(shown("GitHub Actions"))
    in_git(project)
    done = subprocess.run(
        ["act", "push", "-P", "self-hosted=-self-hosted"], cwd=project, text=True,
        env=environment(project), capture_output=True, check=False,
    )  # fmt: skip
    passes = limit == "1s"
    assert (done.returncode == 0) is passes, done.stdout + done.stderr
    assert ("the gate passed" in done.stdout) is passes
    annotation = re.search(r"failed(%3A|:) dk\.periodic(%2C|,) load none", done.stdout)
    assert (annotation is None) is passes
    assert "rtstone.html: " in done.stdout


@needs("gitlab-ci-local", "rsync", "git")
def test_the_job_of_gitlab_is_run(project: Path, limit: str) -> None:
    (project / ".gitlab-ci.yml").write_text(shown("GitLab"))
    in_git(project)
    done = subprocess.run(
        ["gitlab-ci-local", "--force-shell-executor", "latency"], cwd=project, text=True,
        env=environment(project), capture_output=True, check=False,
    )  # fmt: skip
    passes = limit == "1s"
    assert (" FAIL " in done.stdout) is not passes, done.stdout + done.stderr
    assert done.returncode == 0 or not passes  # of a job that may fail it is 0, too
    assert "rtstone.xml" in {path.name for path in project.rglob("rtstone.xml")}


# ---- by their parts -----------------------------------------------------------------------------


def test_the_steps_of_the_action(project: Path, limit: str) -> None:
    action = yaml.safe_load((project / "packaging/ci/github/action.yml").read_text())
    job = yaml.safe_load(shown("GitHub Actions"))["jobs"]["latency"]["steps"][1]
    assert job["uses"] == "./packaging/ci/github"
    assert job["with"].keys() <= action["inputs"].keys()
    inputs = {name: str(member["default"]) for name, member in action["inputs"].items()}
    inputs |= job["with"]
    files = {name: project.parent / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for path in files.values():
        path.touch()
    outcomes = {}
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"], "what a workflow writes is never a part of a script"
        if step["name"] == "Install":  # its condition: no package was named
            assert step["if"] == "inputs.package != ''" and not inputs["package"]
            continue
        own = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: inputs[match[1]], text)
            for name, text in step.get("env", {}).items()
        }
        variables = environment(project, **own, **{n: str(path) for n, path in files.items()})
        outcomes[step["name"]] = shell(step["run"], project, variables)
    passes = limit == "1s"
    statuses = {name: done.returncode for name, done in outcomes.items()}
    assert statuses == {"Measure": 0, "Check": 0 if passes else 1, "Report": 0}, outcomes
    output = outcomes["Check"].stdout.splitlines()
    errors = [line for line in output if line.startswith("::error ")]
    assert len(errors) == (0 if passes else 1)
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{32}", output[0])
    verdict = "passed" if passes else "failed"
    assert files["GITHUB_OUTPUT"].read_text() == f"verdict={verdict}\n"
    summary = files["GITHUB_STEP_SUMMARY"].read_text()
    assert f"Simulated: {verdict}" in summary
    ET.parse(project / "rtstone.xml")


def test_an_inconclusive_gate_is_a_warning_of_the_action(project: Path, limit: str) -> None:
    action = yaml.safe_load((project / "packaging/ci/github/action.yml").read_text())
    check = next(step for step in action["runs"]["steps"] if step["name"] == "Check")
    stub = project / "rtstone"
    verdict = "inconclusive" if limit == "1s" else "not measured"
    stub.write_text(f'#!/bin/sh\necho "verdict={verdict}" >> "$GITHUB_OUTPUT"\nexit 3\n')
    stub.chmod(0o755)
    output = str(project / "output")
    variables = os.environ | {"PATH": f"{project}:{os.environ['PATH']}", "GITHUB_OUTPUT": output}
    done = shell(check["run"], project, variables | {"BUDGET": "budget.toml"})
    assert done.returncode == (0 if verdict == "inconclusive" else 3)


def test_the_template_of_gitlab(project: Path, limit: str) -> None:
    template = yaml.safe_load((project / "packaging/ci/gitlab.yml").read_text())[".rtstone"]
    document = yaml.safe_load(shown("GitLab"))
    assert document["include"] == [{"local": "packaging/ci/gitlab.yml"}]
    job = template | document["latency"]
    assert job["extends"] == ".rtstone" and job["allow_failure"] == {"exit_codes": [3]}
    variables = environment(project, **template["variables"] | job["variables"])
    variables["RTSTONE_HOME"] = str(project / ".rtstone")  # as GitLab resolves it
    done = shell("\n".join(job["script"]), project, variables)
    assert done.returncode == (0 if limit == "1s" else 1), done.stderr
    assert shell("\n".join(job["after_script"]), project, variables).returncode == 0
    for path in job["artifacts"]["paths"]:
        assert (project / path).exists(), path
    assert job["artifacts"]["reports"]["junit"] in job["artifacts"]["paths"]


def test_the_pipeline_of_jenkins(project: Path, limit: str) -> None:
    text = (project / "packaging/ci/Jenkinsfile").read_text()
    bare = re.sub(r"//.*|'[^'\n]*'|\"[^\"\n]*\"", "", text)
    for pair in ("{}", "()", "[]"):
        assert bare.count(pair[0]) == bare.count(pair[1]), pair
    assert re.match(r"(?s)\s*pipeline \{.*agent .*stages \{.*\}\s*$", bare)
    assert "'" not in bare and '"' not in bare
    variables = environment(
        project, **dict(re.findall(r"(?m)^ +([A-Z]+) = '([^']*)'$", text)),
    ) | {"MEASURE": "dk.periodic --time 10", "TARGET": SIMULATED}  # fmt: skip
    scripts = re.findall(r"(?:sh |script: )'([^']*)'", text)
    assert len(scripts) == 3
    statuses = [shell(script, project, variables).returncode for script in scripts]
    assert statuses == [0, 0 if limit == "1s" else 1, 0]
    for step in re.findall(r"(?:junit|archiveArtifacts) '([^']*)'", text):
        assert (project / step).exists()


def test_the_definition_of_lava(project: Path, limit: str) -> None:
    definition = yaml.safe_load((project / "packaging/ci/lava.yaml").read_text())
    assert definition["metadata"]["format"] == "Lava-Test Test Definition 1.0"
    assert {"name", "description"} <= definition["metadata"].keys()
    program = project / "lava-test-case"  # as LAVA has it on a device
    program.write_text('#!/bin/sh\necho "$@" >> cases\n')
    program.chmod(0o755)
    own = definition["params"] | {"MEASURE": f"dk.periodic --time 10 --target {SIMULATED}"}
    variables = environment(project, **own)
    variables["PATH"] = f"{project}:{variables['PATH']}"
    done = shell("\n".join(definition["run"]["steps"]), project, variables)
    assert done.returncode == 0, done.stderr
    (case,) = (project / "cases").read_text().splitlines()
    result = "pass" if limit == "1s" else "fail"
    assert re.fullmatch(
        rf"dk\.periodic-load-none-p50 --result {result} --measurement [\d.]+ --units ns", case
    ), case


# ---- by the schemas of their systems ------------------------------------------------------------

ACTION = (CI / "github" / "action.yml").read_text()
TEMPLATE = (CI / "gitlab.yml").read_text().replace(".rtstone:", "rtstone:")  # no hidden job


@pytest.mark.parametrize(
    ("schema", "text", "right", "wrong"),
    [
        ("github-actions", ACTION, "using: composite", "using: compost"),
        ("github-workflows", shown("GitHub Actions"), "runs-on:", "run-on:"),
        ("gitlab-ci", TEMPLATE, "allow_failure:", "allow_failures:"),
        ("gitlab-ci", shown("GitLab"), "extends: .rtstone", "extend: .rtstone"),
    ],
)
def test_a_job_fits_the_schema_of_its_system(
    schema: str, text: str, right: str, wrong: str, tmp_path: Path
) -> None:
    """By the schemas that check-jsonschema has of GitHub and GitLab."""
    assert text.count(right) == 1
    file = tmp_path / "job.yml"
    for version, status in ((text, 0), (text.replace(right, wrong), 1)):
        file.write_text(version)
        words = ["-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.skipif(not LAVA.exists(), reason="needs Debian's lava-common")
def test_the_definition_of_lava_fits_its_schema(tmp_path: Path) -> None:
    """By what LAVA itself checks a test definition with."""
    text = (CI / "lava.yaml").read_text()
    file = tmp_path / "lava.yaml"
    for version, status in ((text, 0), (text.replace("name: rtstone", "name: 3"), 1)):
        file.write_text(version)
        done = subprocess.run(
            ["/usr/bin/python3", "-c", VALIDATE, str(file)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stderr


# ---- the formats --------------------------------------------------------------------------------


def gate(*checks: Check, **members: Any) -> Gate:
    return Gate(
        run_id="r", target="local", created="2026-01-01T00:00:00+00:00", budget="b", title="t",
        policy=members.get("policy", "inconclusive"), verdict="failed", checks=list(checks),
    )  # fmt: skip


def checked(**members: Any) -> Check:
    first: dict[str, Any] = {"bench": "sem.wait", "load": "none", "what": "p99", "limit": "<= 1us"}
    return Check(**first | {"verdict": "failed", "unit": "ns", "observed": 1500.0} | members)


def test_a_text_from_outside_is_no_command_of_github() -> None:
    evil = checked(load="x::y,\n::add-path::/tmp%", reason="a\r\n::set-output name=x::y")
    (line,) = commands(gate(evil), [])
    assert "\n" not in line and "\r" not in line
    assert line.startswith("::error title=failed%3A sem.wait%2C load x%3A%3Ay%2C")
    assert line.endswith("a%0D%0A::set-output name=x::y")
    first, text, last = quoted(["::add-path::/tmp"])
    token = first.removeprefix("::stop-commands::")
    assert (text, last) == ("::add-path::/tmp", f"::{token}::") and len(token) == 32
    assert next(quoted([])) != first


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("inconclusive", ["error", "error", "warning"]),
        ("pass", ["error", "error", "notice"]),
        ("fail", ["error", "error", "error"]),
    ],
)
def test_an_annotation_is_as_grave_as_the_budget_says(policy: str, expected: list[str]) -> None:
    verdicts = ("passed", "inconclusive", "not measured", "failed")
    lines = commands(gate(*(checked(verdict=v) for v in verdicts), policy=policy), [])
    assert [line.split(" ")[0].removeprefix("::") for line in lines] == expected


def test_a_line_of_results_has_four_words() -> None:
    lines = results(
        gate(
            checked(), checked(), checked(verdict="passed", observed=0.5, unit="%"),
            checked(verdict="inconclusive", unit="ns per KiB", load="a b/c"),
            checked(verdict="not measured", observed=None), checked(unit="", observed=3.0),
        ),
        [],
    ).splitlines()  # fmt: skip
    assert lines == [
        "sem.wait-load-none-p99 fail 1500 ns",
        "sem.wait-load-none-p99-2 fail 1500 ns",
        "sem.wait-load-none-p99-3 pass 0.5 percent",
        "sem.wait-load-a-b-c-p99 unknown 1500 ns/KiB",
        "sem.wait-load-none-p99-4 unknown",
        "sem.wait-load-none-p99-5 fail 3 count",
    ]


def test_a_summary_has_the_picture_of_what_needs_attention_first() -> None:
    measured = [r for r in run().results if r.n and len(r.histogram) > 5]
    passed, failed = measured[0], measured[-1]
    keys = ("bench", "params", "series", "load")
    pair = [
        checked(**{key: getattr(result, key) for key in keys}, verdict=verdict)
        for result, verdict in ((passed, "passed"), (failed, "failed"))
    ]
    text = gate_markdown(gate(*pair), run().benches, run().results)
    head, _, picture = text.partition("```text\n")
    assert failed.bench in head.splitlines()[-2] and "limit" in head
    assert "█" in picture.partition("```")[0]
    assert "```" not in gate_markdown(gate(*pair), run().benches)


def test_a_pipe_in_place_of_a_file_of_the_job_keeps_nobody_waiting(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "summary")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    assert cli("run", "null", "--target", "sim").status == 0
    done = cli("check", "last", "--limit", "null p50<=1ms", "--github")
    assert done.status == 2
    assert re.fullmatch(
        r"rtstone: cannot write [^\n]*summary, in \$GITHUB_STEP_SUMMARY: [^\n]*\n", done.err
    )


def test_outside_of_a_job_it_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_OUTPUT", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    done = cli("check", "last", "--trend", "3", "--github")
    assert (done.status, done.out) == (2, "")
    assert "no job of GitHub Actions: $GITHUB_STEP_SUMMARY is not set" in done.says
    done = cli("check", "last", "--trend", "3", "--github", "--json")
    assert done.status == 2 and "--json prints one document" in done.says
