"""Write the SBOMs of what is built, in CycloneDX 1.6; `make sbom` calls it.

    sbom.py DIRECTORY

Beside each wheel, Debian package and archive of agents of this version in DIRECTORY comes
NAME.cdx.json. It says what is in the file: the versions of linked libraries are those that the
programs themselves name.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from contents import ROOT, moment, needed, pinned
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, License, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from rtstone import __version__

# The licences of works that are linked into programs, as NOTICE has them.
GLIBC = LicenseExpression("LGPL-2.1-or-later")
LIBGCC = LicenseExpression("GPL-3.0-or-later WITH GCC-exception-3.1")
FREERTOS = DisjunctiveLicense(id="MIT")
PICOLIBC = DisjunctiveLicense(name="BSD and similar licences")
# What packages say of their licence that have no SPDX expression.
CLASSIFIERS = {"MIT License": "MIT"}

AGENT = re.compile(r"rtstone-agent(-\w+)?")
IMAGE = re.compile(r".+\.elf")


def document(
    name: str,
    version: str,
    root: Path,
    packages: Mapping[str, metadata.Distribution],
    *,
    hashes: Mapping[str, str] | None = None,
    digest: str | None = None,
) -> str:
    """Return the SBOM of the package ``name``, whose files are below ``root``, as JSON.

    ``hashes`` has the SHA-256 of those Python packages that are in it; without it they are needed
    beside it. ``digest`` is the package's own.
    """
    bom = Bom()
    own = Component(
        name="rtstone", version=version, type=ComponentType.APPLICATION, bom_ref=name,
        description=name, licenses=[DisjunctiveLicense(id="MIT")],
        hashes=_sha256(digest) if digest else [],
    )  # fmt: skip
    bom.metadata.component = own
    bom.metadata.timestamp = moment()
    direct = [
        *_files(bom, root),
        *(_package(dist, hashes[key] if hashes else None) for key, dist in packages.items()),
    ]
    for component in direct:
        bom.components.add(component)
    bom.register_dependency(own, direct)
    bom.serial_number = uuid5(NAMESPACE_URL, "\n".join([name, *map(_identity, bom.components)]))
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _identity(component: Component) -> str:
    return " ".join([str(component.bom_ref.value), *(one.content for one in component.hashes)])


def _sha256(digest: str) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest)]


# ---- files --------------------------------------------------------------------------------------


def _files(bom: Bom, root: Path) -> Iterator[Component]:
    """Yield the files that hold works of others, which come into the SBOM beside them."""
    for path in sorted(root.rglob("*")):
        if path.name == "charts.js":
            works = _scripts()
        elif AGENT.fullmatch(path.name):
            # The simulated system's names no C library: it is that of the agent of the same build.
            program = path.with_name(path.name.removesuffix("-sim"))
            works = list(_linked(program.read_bytes()))
        elif IMAGE.fullmatch(path.name):
            works = list(_built_in(path.read_bytes()))
        else:
            continue
        name = str(path.relative_to(root))
        file = Component(
            name=name, type=ComponentType.FILE, bom_ref=name,
            hashes=_sha256(sha256(path.read_bytes()).hexdigest()),
        )  # fmt: skip
        for work in works:
            bom.components.add(work)
        bom.register_dependency(file, works)
        yield file


def _work(
    name: str,
    version: str | None,
    licence: License,
    *,
    purl: PackageURL | None = None,
    hashes: Iterable[HashType] = (),
) -> Component:
    return Component(
        name=name, version=version, licenses=[licence], purl=purl, hashes=hashes,
        bom_ref=f"{name}@{version}",
    )  # fmt: skip


def _linked(program: bytes) -> Iterator[Component]:
    """Yield what is linked into a static agent."""
    match = re.search(rb"GNU C Library \((?:Debian GLIBC )?(\S+)\) stable", program)
    assert match, "the agent does not name its C library"
    version = match[1].decode()
    purl = PackageURL("deb", "debian", "glibc", version, {"arch": "source"})
    yield _work("glibc", version, GLIBC, purl=purl if b"(Debian GLIBC" in match[0] else None)
    yield _compiler_library(program)


def _compiler_library(program: bytes) -> Component:
    match = re.search(rb"GCC: \((?:Debian )?([^)]+)\) [\d.]+", program)
    assert match, "the program does not name its compiler"
    return _work("libgcc", match[1].decode(), LIBGCC)


def _built_in(image: bytes) -> Iterator[Component]:
    """Yield what is built into the image of a board."""
    kernel = re.search(rb"V(\d+\.\d+\.\d+)\0", image)
    yield _work("FreeRTOS-Kernel", kernel[1].decode() if kernel else None, FREERTOS)
    library = re.search(rb"/usr/lib/(picolibc)/([\w-]+)/", image)
    if library:
        package = f"picolibc-{library[2].decode()}"
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", package],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        version = done.stdout or None
        purl = PackageURL("deb", "debian", package, version)
        yield _work(package, version, PICOLIBC, purl=purl)
    yield _compiler_library(image)


def _scripts() -> list[Component]:
    """Return the packages of npm that the charts are bundled from."""
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    waiting, components = ["echarts", "fflate"], {}
    while waiting:
        name = waiting.pop()
        entry = packages[f"node_modules/{name}"]
        algorithm, _, digest = entry["integrity"].partition("-")
        assert algorithm == "sha512"
        components[name] = _work(
            name, entry["version"], DisjunctiveLicense(id=entry["license"]),
            purl=PackageURL("npm", None, name, entry["version"]),
            hashes=[HashType(alg=HashAlgorithm.SHA_512, content=base64.b64decode(digest).hex())],
        )  # fmt: skip
        waiting += [one for one in entry.get("dependencies", {}) if one not in components]
    return list(components.values())


# ---- Python packages ----------------------------------------------------------------------------


def _package(dist: metadata.Distribution, digest: str | None) -> Component:
    """Return a Python package: one that is in the file, by its digest, or one needed beside it."""
    purl = PackageURL("pypi", None, dist.name.lower().replace("_", "-"), dist.version)
    accepted = re.findall(r"sha256:(\w+)", pinned({purl.name}))
    assert digest is None or digest in accepted
    return Component(
        name=dist.name, version=dist.version, purl=purl, bom_ref=str(purl),
        scope=ComponentScope.REQUIRED, licenses=[_licence(dist)],
        hashes=_sha256(digest) if digest else [],
        external_references=[] if digest else [_distributions(purl, accepted)],
    )  # fmt: skip


def _distributions(purl: PackageURL, accepted: list[str]) -> ExternalReference:
    return ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(purl)),
        comment="Not included; tested with any of these files, as requirements/run.lock has them.",
        hashes=[one for digest in accepted for one in _sha256(digest)],
    )


def _licence(dist: metadata.Distribution) -> License:
    fields = dist.metadata
    if "License-Expression" in fields:
        return LicenseExpression(fields["License-Expression"])
    heads = [text.rpartition(" :: ")[2] for text in fields.get_all("Classifier") or []
             if text.startswith("License ::")]  # fmt: skip
    assert heads, f"{dist.name} names no licence"
    name = heads[0]
    if name in CLASSIFIERS:
        return DisjunctiveLicense(id=CLASSIFIERS[name])
    return DisjunctiveLicense(name=name)


# ---- what is built ------------------------------------------------------------------------------


def _of_wheel(path: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(path).extractall(folder)
        return document(path.name, __version__, Path(folder), needed(), digest=_digest(path))


def _of_agents(path: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "--extract", "--file", path, "--directory", folder], check=True)
        return document(path.name, __version__, Path(folder), {}, digest=_digest(path))


def _of_deb(path: Path) -> str:
    """Return the SBOM that a Debian package brings."""
    packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True)
    done = subprocess.run(
        ["tar", "--extract", "--to-stdout", "./usr/share/doc/rtstone/sbom.cdx.json"],
        input=packed.stdout, capture_output=True, check=True,
    )  # fmt: skip
    return done.stdout.decode()


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


KINDS = {
    f"rtstone-{__version__}-*.whl": _of_wheel,
    f"rtstone_{__version__}-*.deb": _of_deb,
    f"rtstone-agents-{__version__}.tar.gz": _of_agents,
}


def main() -> None:
    """Write the SBOM of each file in the directory that is named."""
    directory = Path(sys.argv[1])
    files = [(path, of) for kind, of in KINDS.items() for path in sorted(directory.glob(kind))]
    if not files:
        sys.exit(
            f"sbom.py: nothing of version {__version__} in {directory}; build it first with "
            "make wheel, make deb or make agents-archive"
        )
    for path, of in files:
        target = path.with_name(f"{path.name}.cdx.json")
        target.write_text(of(path))
        print(target)


if __name__ == "__main__":
    main()
