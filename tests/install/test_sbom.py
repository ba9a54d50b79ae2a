"""The SBOMs of the wheel, the Debian package and the agents: valid, and of what is in them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rtstone import __version__
from rtstone.resources import architectures

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements" / "run.lock").read_text()
GLIBC = b"GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\0"
GCC = b"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0\0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files of a package that hold works of others."""
    folder = tmp_path / "rtstone"
    (folder / "_agent").mkdir(parents=True)
    (folder / "_agent" / "rtstone-agent").write_bytes(GLIBC + GCC)
    (folder / "_agent" / "rtstone-agent-sim").write_bytes(GCC)
    cross = (GLIBC + GCC).replace(b"2.36-9+deb12u14", b"2.36-8")
    (folder / "_agent" / "rtstone-agent-armv7").write_bytes(cross)
    (folder / "_agent" / "rtstone-agent-armv7.symbols").write_bytes(b"")
    image = b"V11.2.0\0GCC: (15:12.2.rel1-1) 12.2.1\0/usr/lib/picolibc/none-eabi/include"
    (folder / "_agent" / "freertos-m3.elf").write_bytes(image)
    (folder / "charts.js").write_text("// charts")
    return tmp_path


def parsed(text: str) -> dict[str, Any]:
    """The document, which has to be valid by the official schema."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document: dict[str, Any] = json.loads(text)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    return document


def named(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {component["bom-ref"]: component for component in document["components"]}


def parts(document: dict[str, Any], reference: str) -> set[str]:
    (entry,) = [
        dependency for dependency in document["dependencies"] if dependency["ref"] == reference
    ]
    return set(entry.get("dependsOn", []))


def test_programs_depend_on_the_libraries_that_they_name(sbom: ModuleType, root: Path) -> None:
    document = parsed(sbom.document("a package", "1", root, {}, digest="0" * 64))
    assert document["metadata"]["component"]["version"] == "1"
    agent = "rtstone/_agent/rtstone-agent"
    libraries = {"glibc@2.36-9+deb12u14", "libgcc@12.2.0-14+deb12u1"}
    assert parts(document, agent) == parts(document, f"{agent}-sim") == libraries
    assert "glibc@2.36-8" in parts(document, f"{agent}-armv7")
    image = "rtstone/_agent/freertos-m3.elf"
    assert {"FreeRTOS-Kernel@11.2.0", "libgcc@15:12.2.rel1-1"} < parts(document, image)
    assert any("picolibc-none-eabi" in part for part in parts(document, image))
    components = named(document)
    for name in (agent, f"{agent}-sim", f"{agent}-armv7", image):
        digest = sha256((root / name).read_bytes()).hexdigest()
        assert components[name]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert f"{agent}-armv7.symbols" not in components


def test_charts_depend_on_what_npm_locks(sbom: ModuleType, root: Path) -> None:
    document = parsed(sbom.document("a package", "1", root, {}))
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    names = {part.partition("@")[0] for part in parts(document, "rtstone/charts.js")}
    assert names == {"echarts", "zrender", "tslib", "fflate"}
    notice = (ROOT / "NOTICE").read_text()
    for component in document["components"]:
        if component["name"] in names:
            entry = packages[f"node_modules/{component['name']}"]
            assert component["version"] == entry["version"]
            (licence,) = component["licenses"]
            assert licence["license"]["id"] == entry["license"]
            assert entry["license"] in notice


def test_python_packages_are_those_of_the_lock_file(sbom: ModuleType, root: Path) -> None:
    packages = {name: metadata.distribution(name) for name in ("click", "jinja2", "numpy")}
    beside = named(parsed(sbom.document("a wheel", "1", root, packages)))
    reference = f"pkg:pypi/numpy@{packages['numpy'].version}"
    assert "hashes" not in beside[reference]
    (files,) = beside[reference]["externalReferences"]
    accepted = re.search(r"(?m)^numpy==(?:.*\\\n)+.*", LOCK)
    assert accepted
    assert {digest["content"] for digest in files["hashes"]} == set(
        re.findall(r"sha256:(\w+)", accepted[0])
    )
    hashes = {}
    for name in packages:
        match = re.search(rf"(?m)^{name}==.*\n.*sha256:(\w+)", LOCK)
        assert match
        hashes[name] = match[1]
    inside = named(parsed(sbom.document("a deb", "1", root, packages, hashes=hashes)))
    assert inside[reference]["hashes"] == [{"alg": "SHA-256", "content": hashes["numpy"]}]
    assert all(inside[name]["licenses"] for name in inside if name.startswith("pkg:pypi/"))
    with pytest.raises(AssertionError):
        sbom.document("a deb", "1", root, packages, hashes=dict.fromkeys(packages, "0" * 64))


def test_the_same_files_give_the_same_bytes(
    sbom: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    first = sbom.document("a package", "1", root, {})
    assert sbom.document("a package", "1", root, {}) == first
    assert json.loads(first)["metadata"]["timestamp"] == "2001-09-09T01:46:40+00:00"
    (root / "rtstone" / "charts.js").write_text("// others")
    assert (
        json.loads(sbom.document("a package", "1", root, {}))["serialNumber"]
        != (json.loads(first)["serialNumber"])
    )


def test_the_agents_that_are_built_name_their_libraries(sbom: ModuleType, tmp_path: Path) -> None:
    for agent in (
        architecture.agent for architecture in architectures() if architecture.agent.exists()
    ):
        (tmp_path / agent.name).write_bytes(agent.read_bytes())
        document = parsed(sbom.document("agents", "1", tmp_path, {}))
        names = {part.partition("@")[0] for part in parts(document, agent.name)}
        assert names == {"glibc", "libgcc"}


def test_an_empty_folder_has_nothing_to_write_one_for(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "packaging" / "sbom.py", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        f"sbom.py: nothing of version {__version__} in {tmp_path}; build it first with make wheel, "
        "make deb or make agents-archive\n"
    )
