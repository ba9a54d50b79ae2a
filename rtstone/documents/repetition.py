"""How to repeat a run: its command line with the exact target, and what else an emulated one needs.

An emulated system is booted for a run, with all commands of the run in it.  Its numbers are the
same with the same build of the kernel, seed, emulator, agent and command line, and only then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rtstone.documents.run import Run, as_text
from rtstone.resources import architectures

# A system with a kernel of Debian's, at the start of an address, and the kernel's flavour.
_DEBIAN = re.compile(r"((?:[a-z0-9]+/)?linux-[a-z0-9.]+?(-rt|-cloud)?)(?=\+|$)")


def exact_target(run: Run) -> str:
    """Return the target of a run as it names the same system for ever.

    An emulated kernel of Debian's has its exact build and its seed:
    ``qemu:linux-6.1@6.1.0-57+seed=1``.  Without them it is the newest build that was fetched.
    """
    detail, (kind, _, address) = run.target.detail, run.target.name.partition(":")
    if "icount" not in detail:
        return run.target.name
    if system := _exact_system(run):
        address = system + _DEBIAN.sub("", address, count=1)
    if (seed := detail.get("seed")) is not None and "+seed=" not in address:
        address += f"+seed={seed}"
    return f"{kind}:{address}"


def _exact_system(run: Run) -> str | None:
    """Return the emulated system with the exact build of its kernel; None if it is not Debian's.

    A release is ``6.1.0-57-rt-arm64``: version, flavour and Debian's name of the architecture.
    """
    release, arch = as_text(run.target.detail.get("kernel")), run.agent and run.agent.arch
    match = _DEBIAN.fullmatch(as_text(run.target.detail.get("system")) or "")
    if not release or not match:
        return None
    ends = [f"{match[2] or ''}-{each.debian}" for each in architectures() if each.name == arch]
    versions = [release.removesuffix(end) for end in ends if release.endswith(end)]
    return f"{match[1]}@{versions[0]}" if versions else None


def repeating(run: Run, beside: Iterable[Run] = ()) -> list[str]:
    """Return the command line that repeats a run, word by word, with exact targets.

    ``beside``: further runs, whose targets may be in the same command line.
    """
    exact = {}
    for each in (*beside, run):
        if each is run or each.command == run.command:
            exact[each.target.name] = exact_target(each)
            if each.target.called:
                exact[each.target.called] = exact_target(each)
    words = []
    for word in run.command:
        option, equals, value = word.partition("=")
        if option == "--target" and equals:
            words.append(f"{option}={exact.get(value, value)}")
        else:
            words.append(exact.get(word, word))
    return words


def requirement(run: Run) -> str:
    """Return what the same numbers take, in sentences; empty unless the run counted instructions.

    ``The numbers are the same again with kernel 6.1.0-57-arm64, QEMU 7.2.22 and an agent built by
    GNU 12.2.0, and only with this very command line: ...``
    """
    detail = run.target.detail
    if detail.get("icount") is not True:
        return ""
    exact, texts = _exact_system(run), []
    if kernel := as_text(detail.get("kernel")):
        sha256 = "" if exact else f" (SHA-256 {detail.get('kernel_sha256')})"
        texts.append(f"kernel {kernel}{sha256}")
    texts += [text] if (text := as_text(detail.get("hypervisor"))) else []
    if qemu := as_text(detail.get("qemu")):
        texts.append(f"QEMU {qemu.removeprefix('QEMU emulator version ')}")
    texts += [f"an agent built by {run.agent.compiler}"] if run.agent else []
    needed = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
    return (
        f"The numbers are the same again with {needed}, and only with this very command line: its "
        "cases share one boot, so one of them, or one load, more or fewer changes the others."
        + (f" `rtstone lab fetch {exact}` brings the kernel." if exact else "")
    )
