"""Fetch Debian's kernels with apt into the lab's own directory.

The machine's package state is not touched: apt gets a private root, which also allows it to fetch
for a foreign architecture.  Archives are those in the machine's own sources; apt verifies them.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from rtstone.errors import TargetError, UsageError
from rtstone.lab import kernels
from rtstone.lab.kernels import (
    DEBIAN_ARCH,
    EXACT,
    HYPERVISORS,
    NOTE,
    PACKAGES,
    VERSION,
    Kernel,
    Note,
    Package,
)

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
OS_RELEASE = Path("/etc/os-release")
# The modules that a RAM disk with ext4 needs, in loading order; a kernel may have some built in.
MODULES = ("crc16", "crc32c_generic", "mbcache", "jbd2", "ext4", "brd", "loop")
FORMER = {"crc32c_generic"}  # newer kernels have it in their library
OTHERWISE = "take a kernel of your own: --target qemu:kernel=FILE"
APT_S = 900.0
SOURCE_TRIES = 8  # versions of a source package

Say = Callable[[str], None]


class Source(NamedTuple):
    """An archive, as in a line of an apt sources list."""

    uri: str
    release: str
    component: str


def fetch(name: str, arch: str, say: Say = print) -> Kernel:
    """Fetch and store a kernel, unless what the archive has is there, with the right hashes.

    Raises TargetError if that is impossible here.
    """
    stored = _stored(name, arch)
    if stored and EXACT in name:
        say(f"{name} for {arch} is there already")
        return stored
    with _workshop() as work:
        say(f"{name} for {arch}: reading the lists of packages")
        try:
            archives = _archives(name, _package(name).codename)
            options = _private_root(work, DEBIAN_ARCH[arch], archives)
        except TargetError as error:
            if stored is None:
                raise
            say(f"{name} for {arch} is there already; a newer one cannot be looked for: {error}")
            return stored
        package = _chosen(name, arch, options)
        parts = parts_of(_run(["apt-cache", *options, "depends", package])) or [package]
        if stored and stored.package == f"{package} {_version(parts[0], options)}":
            say(f"{name} for {arch} is there already, and is the newest")
            return stored
        say(f"{name} for {arch}: fetching {package}")
        (work / "download").mkdir()
        _run(["apt-get", *options, "-q", "download", *parts], cwd=work / "download")
        files = sorted((work / "download").glob("*.deb"))
        if len(files) != len(parts):
            raise TargetError(f"apt brought {len(files)} files for {package}, not {len(parts)}")
        version = _run(["dpkg-deb", "--field", str(files[0]), "Version"]).strip()
        (work / "new").mkdir()
        return _store(unpack(files, work / "new", name, arch, f"{package} {version}"), work)


def _stored(name: str, arch: str) -> Kernel | None:
    """Return a kernel of the lab, None if it is not there or its files were changed."""
    with suppress(TargetError):
        return kernels.find(name, arch)
    return None


def _version(package: str, options: list[str]) -> str:
    """Return the version of a package that apt would fetch, "" if it names none."""
    shown = _run(["apt-cache", *options, "--no-all-versions", "show", package])
    return next(iter(re.findall(r"(?m)^Version: (\S+)$", shown)), "")


@contextmanager
def _workshop() -> Iterator[Path]:
    """Provide a temporary folder in the cache.  Raises TargetError for what the disk refuses."""
    cache = kernels.cache()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as work:
            yield Path(work)
    except OSError as error:
        raise TargetError(f"the lab's folder, {cache}: {error}") from error


def _package(name: str) -> Package:
    return PACKAGES.get(name.partition(EXACT)[0]) or HYPERVISORS[name]


def _chosen(name: str, arch: str, options: list[str]) -> str:
    """Return the package of the newest build of a kernel, or of that with an exact version."""
    meta = _package(name).meta.format(DEBIAN_ARCH[arch])
    if name in HYPERVISORS:
        return meta
    plain, _, version = name.partition(EXACT)
    if not version:
        return depends(_run(["apt-cache", *options, "depends", meta]), meta, PACKAGES[name])
    packages = _run(["apt-cache", *options, "pkgnames", "linux-image-"]).split()
    has = versions(packages, plain, arch)
    if version not in has:
        stored = ", ".join(kernels.builds(plain, arch)) or "none"
        raise TargetError(
            f"Debian's archive has no {name}: it has {', '.join(has) or 'none'}, and the lab "
            f"{stored}; a package file of that build is taken by `rtstone lab fetch FILE.deb`"
        )
    return f"linux-image-{version}{kernels.suffix(plain, DEBIAN_ARCH[arch])}"


def versions(packages: Iterable[str], name: str, arch: str) -> list[str]:
    """Return the versions that a kernel of Debian's has among packages of its architecture."""
    end = kernels.suffix(name, DEBIAN_ARCH[arch])
    releases = [
        package.removeprefix("linux-image-") for package in packages if package.endswith(end)
    ]
    return kernels.in_order(
        version for release in releases
        if VERSION.fullmatch(version := release.removesuffix(end))
    )  # fmt: skip


def _store(note: Note, work: Path) -> Kernel:
    """Move what was unpacked to `new` in `work` to its place, and an older build to one of its own.

    A build of the same version is replaced.
    """
    new = work / "new"
    (new / NOTE).write_bytes(msgspec.json.format(msgspec.json.encode(note)) + b"\n")
    place = kernels.folder(note.name, note.arch)
    older = kernels.aside(note)
    kernels.put(new, place, None if older and older.exists() else older)
    return kernels.find(note.name, note.arch)


def take(file: Path) -> Kernel:
    """Store the kernel in a file of the user's: a package of Debian's with image and modules.

    Raises UsageError if it is none, TargetError if it cannot be unpacked here.
    """
    if not file.is_file():
        raise UsageError(f"package file '{file}' does not exist, or is no file")
    if not shutil.which("dpkg-deb"):
        raise TargetError("dpkg-deb is not installed, which unpacks packages")
    command = ["dpkg-deb", "--show", "--showformat", "${Package} ${Version} ${Architecture}"]
    done = subprocess.run(
        [*command, str(file.absolute())], check=False, capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise UsageError(f"package file '{file}' cannot be read; dpkg-deb said: {said}")
    package, version, debian = done.stdout.split()
    name, arch = _build_of(file, package, debian)
    with _workshop() as work:
        (work / "new").mkdir()
        return _store(unpack([file], work / "new", name, arch, f"{package} {version}"), work)


def _build_of(file: Path, package: str, debian: str) -> tuple[str, str]:
    """Return the name with its version, and the architecture, of a kernel in a package."""
    release = package.removeprefix("linux-image-").removesuffix("-unsigned")
    for arch in (arch for arch, its in DEBIAN_ARCH.items() if its == debian):
        for name in (name for name, candidate in PACKAGES.items() if arch in candidate.arches):
            end = kernels.suffix(name, debian)
            version = release.removesuffix(end)
            series = re.match(r"\d+\.\d+", version)
            stock = release.endswith(end) and VERSION.fullmatch(version)
            if stock and series and name.startswith(f"linux-{series[0]}"):
                return f"{name}{EXACT}{version}", arch
    lines = sorted({name[6:] for name in PACKAGES if re.fullmatch(r"linux-[\d.]+", name)})
    raise UsageError(
        f"'{file}' is {package} for {debian}, no kernel of the series {', '.join(lines)}; an image "
        "of any kernel boots by --target qemu:kernel=FILE"
    )


def source_archive(package: str, codename: str, work: Path) -> Path:
    """Fetch a package of kernel sources into `work`, and return the archive that it holds.

    Raises TargetError if that is impossible here.
    """
    root = programs([package], next(iter(DEBIAN_ARCH.values())), codename, work)
    archive = root / "usr/src" / f"{package}.tar.xz"
    if not archive.exists():
        raise TargetError(f"package {package} does not hold /usr/src/{archive.name}")
    return archive


def programs(packages: Sequence[str], arch: str, codename: str, work: Path) -> Path:
    """Fetch packages and unpack them below `work`; return where.

    `arch` is Debian's name of the architecture.  Raises TargetError if that is impossible here.
    """
    options = _private_root(work, arch, _archives(packages[0], codename))
    _run(["apt-get", *options, "-q", "download", *packages], cwd=work)
    for archive in sorted(work.glob("*.deb")):
        _run(["dpkg-deb", "--extract", str(archive), str(work / "root")])
    return work / "root"


def packaging(source: str, codename: str, work: Path) -> tuple[Path, str]:
    """Fetch what Debian adds to a source package into `work`; return archive and version.

    It is the newest that an archive has: their lists may name others.  Raises TargetError.
    """
    place = work / "packaging"
    place.mkdir()
    archives = _archives(source, codename)
    options = _private_root(place, next(iter(DEBIAN_ARCH.values())), archives, kind="deb-src")
    records = _run(["apt-cache", *options, "showsrc", source])
    refused = TargetError(f"apt knows of no sources of {source}")
    for version in reversed(re.findall(r"(?m)^Version: (\S+)$", records)[-SOURCE_TRIES:]):
        command = ["apt-get", *options, "-q", "source", "--download-only", "--diff-only"]
        try:
            _run([*command, f"{source}={version}"], cwd=place)
        except TargetError as error:
            refused = error
            continue
        return next(place.glob("*.debian.tar.*")), version
    raise refused


def _archives(name: str, codename: str) -> list[Source]:
    """Return the archives of a Debian release for a package.

    Raises TargetError if this is not Debian, whose archives apt would know and verify.
    """
    try:
        text = OS_RELEASE.read_text()
    except OSError:
        text = ""
    if "ID=debian" not in text.splitlines():
        raise TargetError(f"{name} is a kernel of Debian, and this is another system; {OTHERWISE}")
    missing = [tool for tool in ("apt-get", "apt-cache", "dpkg-deb") if not shutil.which(tool)]
    if missing:
        raise TargetError(f"{missing[0]} is not installed, which fetches {name}; {OTHERWISE}")
    targets = _run(["apt-get", "indextargets", "--format", FORMAT, "Created-By: Packages"])
    archives = sources(targets, codename)
    if not archives:
        raise TargetError(
            "apt knows of no archive of Debian: `apt-get update` as root reads the lists of those "
            f"in /etc/apt; or {OTHERWISE}"
        )
    return archives


# ---- apt ---------------------------------------------------------------------------------------

FORMAT = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(CODENAME)|$(COMPONENT)"


def sources(targets: str, codename: str) -> list[Source]:
    """Return the archives of a Debian release, from `apt-get indextargets`.

    Those of the machine's release are its own.  Of another one it is that with the last point
    release, beside the machine's: not every build of an old release's security updates is kept.
    """
    archives = []
    for line in targets.splitlines():
        origin, uri, release, own, component = (line.split("|") + [""] * 5)[:5]
        base, _, part = own.partition("-")
        if origin == "Debian" and base == codename:
            archives.append(Source(uri, release, component))
        elif origin == "Debian" and not part:
            archives.append(Source(uri, codename, component))
    return list(dict.fromkeys(archives))


def depends(output: str, meta: str, package: Package) -> str:
    """Return the kernel package that a meta package stands for, from `apt-cache depends`."""
    for line in output.splitlines():
        if match := re.fullmatch(r"\s*\|?Depends: (linux-image-\d\S*)", line):
            return match[1]
    raise TargetError(f"package {meta} of Debian {package.debian} names no kernel; {OTHERWISE}")


def parts_of(output: str) -> list[str]:
    """Return the packages with image and modules of a kernel whose own has neither (Debian 14)."""
    return re.findall(r"(?m)^\s*Depends: (linux-(?:binary|modules)-\d\S*)$", output)


def _private_root(
    work: Path, arch: str, archives: Iterable[Source], kind: str = "deb"
) -> list[str]:
    """Create a private root for apt with the lists of these archives; return apt's options."""
    for part in ("state/lists/partial", "cache/archives/partial"):
        (work / part).mkdir(parents=True)
    (work / "state/status").touch()
    signed = f"signed-by={KEYRING}" if KEYRING.exists() else ""
    lines = [f"{kind} [arch={arch} {signed}] {uri} {rel} {comp}\n" for uri, rel, comp in archives]
    (work / "sources.list").write_text("".join(lines))
    values = {
        "APT::Architecture": arch,
        "APT::Architectures": arch,
        "Dir::State": work / "state",
        "Dir::State::lists": work / "state/lists",
        "Dir::State::status": work / "state/status",
        "Dir::Cache": work / "cache",
        "Dir::Etc::sourcelist": work / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    options = [word for key, value in values.items() if value for word in ("-o", f"{key}={value}")]
    _run(["apt-get", *options, "-q", "update"])
    return options


def _run(command: list[str], cwd: Path | None = None) -> str:
    """Return the output of a program.  Raises TargetError with its error message if it fails."""
    try:
        done = subprocess.run(
            command, check=False, cwd=cwd, capture_output=True, text=True, timeout=APT_S,
            stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TargetError(f"{command[0]} did not end within {APT_S:.0f} s") from None
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        said = (words or done.stderr.splitlines() or ["nothing"])[0]
        raise TargetError(f"{command[0]} failed and said: {said}; without network, {OTHERWISE}")
    return done.stdout


# ---- the package -------------------------------------------------------------------------------


_IMAGE = re.compile(r"vmlinuz-.*|xen-\d+\.\d+-[a-z0-9]+")  # beside Xen's .config and .efi


class _Contents:
    """What is kept of a kernel's packages."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.image: str | None = None
        self.hashes: dict[str, str] = {}  # file: hash
        self.modules: list[str] = []
        self.builtin: set[str] = set()

    def take(self, path: Path, content: IO[bytes]) -> None:
        """Keep a file of a package if it is needed."""
        plain = path.name.removesuffix(".xz")
        module = plain.removesuffix(".ko")
        if path.name == "modules.builtin":
            self.builtin = {Path(line).stem for line in content.read().decode().splitlines()}
        elif path.parent.name == "boot" and _IMAGE.fullmatch(path.name):
            self._take_image(path.name, content)
        elif path.name == "vmlinuz" and path.parent.parent.name == "modules":
            self._take_image(f"vmlinuz-{path.parent.name}", content)
        elif module in MODULES and module != plain:
            self.hashes[plain] = _keep(content, self.place / plain, packed=plain != path.name)
            self.modules.append(module)

    def _take_image(self, name: str, content: IO[bytes]) -> None:
        self.image = name
        self.hashes[name] = _keep(content, self.place / name)


def unpack(archives: Sequence[Path], place: Path, name: str, arch: str, package: str) -> Note:
    """Extract image and modules from a kernel's packages, and return their description."""
    contents = _Contents(place)
    for archive in archives:
        with (
            subprocess.Popen(
                ["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE
            ) as unpacker,
            tarfile.open(fileobj=unpacker.stdout, mode="r|") as tar,
        ):
            for member in tar:
                content = tar.extractfile(member) if member.isreg() else None
                if content is not None:
                    contents.take(Path(member.name), content)
        if unpacker.returncode:
            raise TargetError(f"{archive.name} cannot be unpacked: dpkg-deb ended with an error")
    available = {*contents.modules, *contents.builtin, *FORMER}
    wanted = () if name in HYPERVISORS else MODULES
    missing = [module for module in wanted if module not in available]
    if contents.image is None or missing:
        image = f"boot/{'xen' if name in HYPERVISORS else 'vmlinuz'}-*"
        lack = ", ".join(missing) if contents.image else image
        raise TargetError(f"package {package} does not hold {lack}")
    order = tuple(f"{module}.ko" for module in MODULES if module in contents.modules)
    release = contents.image.removeprefix("vmlinuz-")
    return Note(name, arch, release, package, contents.image, order, contents.hashes)


def _keep(content: IO[bytes], path: Path, packed: bool = False) -> str:
    """Write a file, which may be packed by xz, and return its hash."""
    data = lzma.decompress(content.read()) if packed else content.read()
    path.write_bytes(data)
    return sha256(data).hexdigest()
