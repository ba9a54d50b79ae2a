"""Facts about this system, read below a root, so that tests can use a scratch tree."""

from __future__ import annotations

import select
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rtstone.cpus import ALL, cpu_list, cpu_set
from rtstone.documents import capacity
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.system import calls, probes
from rtstone.system.files import Below, Files
from rtstone.system.probes import Probe

CPU = "sys/devices/system/cpu"
KINDS = (
    f"{CPU}/cpu[0-9]*/cpu_capacity", *(f"sys/devices/cpu_{name}/cpus" for name in capacity.TYPES),
)  # fmt: skip
READ = (
    f"{CPU}/online", f"{CPU}/isolated", "proc/self/status", "proc/self/limits", "proc/self/cgroup",
    "proc/self/mountinfo", "proc/self/uid_map", "proc/cmdline", "proc/config.gz",
    "proc/sys/kernel/osrelease", *KINDS,
)  # fmt: skip
LARGEST = 16 << 20  # bytes of a kernel's configuration
SAMPLE_S = 0.5  # between the two looks at what goes on now

# Bits of capability sets (include/uapi/linux/capability.h).
CAPABILITIES = {
    "CAP_DAC_OVERRIDE": 1,
    "CAP_IPC_LOCK": 14,
    "CAP_SYS_RAWIO": 17,
    "CAP_SYS_ADMIN": 21,
    "CAP_SYS_NICE": 23,
    "CAP_SYS_RESOURCE": 24,
}
# The kernel asks for these in the first user namespace (capable()), not in that of the process.
OF_THE_MACHINE = {"CAP_IPC_LOCK", "CAP_SYS_NICE", "CAP_SYS_RAWIO", "CAP_SYS_RESOURCE"}
EVERY_USER = ["0", "0", "4294967295"]  # the map of user ids in the first user namespace


LIVE = {**probes.LIVE, **calls.LIVE}  # the functional tests of this machine


class Group(NamedTuple):
    """A control group of this process: its folder below a mount, and the version of cgroups."""

    version: int
    mount: str
    path: str  # of the group, relative to the mount; "" for the root

    @property
    def folder(self) -> str:
        """The group's folder."""
        return f"{self.mount}/{self.path}" if self.path else self.mount

    def upwards(self) -> Iterator[str]:
        """Yield the group's folder, and those above it as far as they are seen from here."""
        parts = self.path.split("/") if self.path else []
        for depth in range(len(parts), -1, -1):
            yield "/".join([self.mount, *parts[:depth]])


def _pause() -> None:
    """Wait, also where a sandbox refuses the call of time.sleep()."""
    select.select([], [], [], SAMPLE_S)


class System:
    """A system; unreadable facts are None, never guessed.

    ``files`` are its own, else those below ``root``.  ``probes`` are the functional ones by name,
    for a tree that is not this machine none.
    ``past`` yields the runs that were kept of it with a bench, newest first.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        *,
        files: Files | None = None,
        cpus: str | None = None,
        probes: Mapping[str, Callable[[], Probe]] = LIVE,
        past: Callable[[str], Iterable[Run]] = lambda _: (),
        pause: Callable[[], None] = _pause,
    ) -> None:
        """Raises UsageError if ``cpus``, a list such as 2-3, names one that is not there."""
        self.files = files or Below(root)
        self.pause = pause
        self._probes = probes
        self.past = past
        self._named = cpus

    # ---- files -----------------------------------------------------------------------------

    def raw(self, name: str) -> str | None:
        """Return a file as it is, None if it cannot be read; its name has no leading slash."""
        try:
            return self.files.read(name).decode(errors="replace")
        except OSError:
            return None

    def read(self, name: str) -> str | None:
        """Return a file without blanks around it."""
        text = self.raw(name)
        return None if text is None else text.strip()

    def number(self, name: str) -> int | None:
        """Return a file that holds one whole number."""
        return whole(self.read(name))

    def names(self, folder: str) -> list[str]:
        """Return what a folder holds, in order; nothing if it cannot be read."""
        try:
            return self.files.names(folder)
        except OSError:
            return []

    def fields(self, name: str) -> dict[str, str]:
        """Return the ``name: value`` lines of a file; the first of a name counts."""
        fields: dict[str, str] = {}
        for line in (self.raw(name) or "").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                fields.setdefault(key.strip(), value.strip())
        return fields

    def cpus(self, name: str) -> frozenset[int] | None:
        """Return a file that holds a list of CPUs such as 0-2,4."""
        return listed(self.read(name))

    def probe(self, name: str) -> Probe:
        """Return the outcome of a functional probe."""
        if name not in self._probes:
            return Probe(None, "cannot be tried from here")
        return self._probes[name]()

    # ---- CPUs ------------------------------------------------------------------------------

    @cached_property
    def online(self) -> frozenset[int]:
        """The CPUs that run; empty if that is not known."""
        return self.cpus(f"{CPU}/online") or frozenset()

    @cached_property
    def isolated(self) -> frozenset[int] | None:
        """The CPUs that the scheduler does not balance."""
        return self.cpus(f"{CPU}/isolated")

    @cached_property
    def kinds(self) -> list[capacity.Kind]:
        """The kinds of CPUs, the largest first; empty if that is not known."""
        self.files.look(*KINDS)
        sizes = {cpu: self.number(f"{CPU}/cpu{cpu}/cpu_capacity") or 0 for cpu in self.online}
        types: dict[int, str] = {}
        for name in capacity.TYPES:
            listed_there = self.cpus(f"sys/devices/cpu_{name}/cpus") or frozenset()
            types |= {cpu: "" if cpu in types else name for cpu in listed_there & self.online}
        return capacity.kinds(self.online, sizes, types)

    @cached_property
    def usable(self) -> frozenset[int]:
        """The CPUs that the agent may use, isolated ones too."""
        return self.probe("usable_cpus").cpus or self.online

    @cached_property
    def default(self) -> frozenset[int]:
        """The CPU that the agent chooses; see linux/cpus.c.  Empty if that is not known."""
        allowed = listed(self.status.get("Cpus_allowed_list")) or self.online
        preferred = (self.isolated or frozenset()) & self.usable
        largest = capacity.largest(preferred or allowed, self.kinds)
        return frozenset({max(largest)}) if largest else frozenset()

    @cached_property
    def measured(self) -> frozenset[int]:
        """The CPUs that are measured: those named, else the agent's choice."""
        if self._named is None:
            return self.default
        if self._named == ALL:
            return self.usable
        cpus = cpu_set(self._named)
        if self.online and (absent := cpus - self.online):
            raise UsageError(
                f"CPU {cpu_list(absent)} is not online, in --cpus; online: {cpu_list(self.online)}"
            )
        return cpus

    # ---- this process ----------------------------------------------------------------------

    @cached_property
    def status(self) -> dict[str, str]:
        """Of this process."""
        return self.fields("proc/self/status")

    @cached_property
    def held(self) -> frozenset[str] | None:
        """Those of CAPABILITIES that this process or the agent's file has; None: not known."""
        try:
            bits = int(self.status["CapEff"], 16) | self.agent_capabilities
        except (KeyError, ValueError):
            return None
        return frozenset(name for name, bit in CAPABILITIES.items() if bits >> bit & 1)

    @cached_property
    def in_user_namespace(self) -> bool:
        """Whether this process is in a user namespace other than the machine's."""
        mapped = (self.read("proc/self/uid_map") or "").split()
        return bool(mapped) and mapped != EVERY_USER

    @cached_property
    def capabilities(self) -> frozenset[str] | None:
        """Those held that count here; None: not known."""
        return self.held - OF_THE_MACHINE if self.held and self.in_user_namespace else self.held

    @cached_property
    def may_tune(self) -> bool:
        """Whether this process may write to root's files in /proc and /sys; False: not known."""
        try:
            bits = int(self.status["CapEff"], 16)
        except (KeyError, ValueError):
            return False
        return not self.in_user_namespace and bool(bits >> CAPABILITIES["CAP_DAC_OVERRIDE"] & 1)

    @cached_property
    def bound(self) -> bool:
        """Whether no program that this process starts can get CAP_SYS_NICE from its file."""
        try:
            bounding = int(self.status["CapBnd"], 16)
        except (KeyError, ValueError):
            bounding = -1
        lacking = not bounding >> CAPABILITIES["CAP_SYS_NICE"] & 1
        return lacking or self.status.get("NoNewPrivs") == "1"

    @cached_property
    def agent_capabilities(self) -> int:
        """The bits of the capabilities that the agent's file gives it when this user starts it."""
        if self.bound:
            return 0
        outcome = self.probe("agent_capabilities")
        may_start = self.probe("agent_group").works is not False
        return int(outcome.text, 16) if outcome.works and may_start else 0

    def limit(self, title: str) -> float | None:
        """Return a soft limit by its title in /proc/self/limits; infinite if there is none."""
        for line in (self.raw("proc/self/limits") or "").splitlines():
            if line.startswith(title):
                word = line[len(title) :].split()[:1]
                if word == ["unlimited"]:
                    return float("inf")
                return whole(word[0]) if word else None
        return None

    def group(self, controller: str) -> Group | None:
        """Return this process's group of a controller, None if it has none or none is mounted."""
        unified: Group | None = None
        for line in (self.read("proc/self/cgroup") or "").splitlines():
            _, _, rest = line.partition(":")
            names, _, path = rest.partition(":")
            if names and controller in names.split(","):
                return self._group(
                    1, path, lambda kind, opts: kind == "cgroup" and controller in opts
                )
            if not names:
                unified = self._group(2, path, lambda kind, _: kind == "cgroup2")
        if unified is None:
            return None
        offered = (self.read(f"{unified.mount}/cgroup.controllers") or "").split()
        return unified if controller in offered else None

    def _group(
        self, version: int, path: str, wanted: Callable[[str, list[str]], bool]
    ) -> Group | None:
        """Return a group where a file system is mounted that suits by its kind and options.

        None if the mount is that of another namespace of groups: where in it this one is, is not
        known.
        """
        for line in (self.read("proc/self/mountinfo") or "").splitlines():
            before, _, after = line.partition(" - ")
            places, kinds = before.split(), after.split()
            if len(places) > 4 and len(kinds) > 2 and wanted(kinds[0], kinds[2].split(",")):
                if places[3].startswith("/.."):
                    return None
                # Below its mount, which shows the groups from ``root`` on; one outside of what is
                # seen from here has no path.
                root, below = places[3], f"{path}/".startswith(f"{places[3]}/")
                inside = (path.removeprefix(root) if below else path).strip("/")
                outside = path.startswith("/..")
                return Group(version, places[4].lstrip("/"), "" if outside else inside)
        return None

    # ---- the kernel ------------------------------------------------------------------------

    @cached_property
    def command_line(self) -> dict[str, str]:
        """The kernel's options, those without a value with an empty one."""
        text = (self.read("proc/cmdline") or "").partition(" -- ")[0]
        pairs = (word.partition("=") for word in text.split())
        return {name: value for name, _, value in pairs}

    @cached_property
    def configuration(self) -> frozenset[str] | None:
        """Options that the kernel was built with (=y), without CONFIG_; None if not known."""
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)  # of gzip
        try:
            text = unpacking.decompress(self.files.read("proc/config.gz"), LARGEST).decode()
        except (OSError, zlib.error, UnicodeDecodeError):
            text = ""
        if not text or not unpacking.eof:
            release = self.read("proc/sys/kernel/osrelease")
            boot = self.raw(f"boot/config-{release}")
            if boot is None:
                return None
            text = boot
        lines = (line for line in text.splitlines() if line.endswith("=y"))
        return frozenset(line.removeprefix("CONFIG_").removesuffix("=y") for line in lines)


def whole(text: str | None) -> int | None:
    """Return a whole number, None if it is none."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def listed(text: str | None) -> frozenset[int] | None:
    """Return the CPUs of a list such as 0-2,4; an empty list names none, None is no list."""
    if text is None or text == "(null)":
        return None
    try:
        return cpu_set(text) if text else frozenset()
    except UsageError:
        return None


def masked(text: str | None) -> frozenset[int] | None:
    """Return the CPUs of a mask such as ff,0000000f."""
    try:
        bits = int((text or "").replace(",", ""), 16)
    except ValueError:
        return None
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def mask(cpus: frozenset[int], like: str) -> str:
    """Return a mask of CPUs in words of 32 bits where ``like`` has them too."""
    text = f"{sum(1 << cpu for cpu in cpus):x}"
    if "," not in like:
        return text
    padded = text.zfill(-(-len(text) // 8) * 8)
    return ",".join(padded[at : at + 8] for at in range(0, len(padded), 8))


def chosen(text: str | None) -> str | None:
    """Return the word in brackets of a file that lists the choices: always [madvise] never."""
    words = (text or "").replace("(", "[").replace(")", "]").split()
    marked = [word.strip("[]") for word in words if word.startswith("[")]
    return marked[0] if len(marked) == 1 else None
