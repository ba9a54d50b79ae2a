"""The kernel in a file: compressed in each way, in a bzImage or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import subprocess

import pytest

from rtstone.explain import image

KERNEL = b"\x7fELF" + bytes(range(256)) * 40
SIZE = len(KERNEL).to_bytes(4, "little")  # behind the compressed kernel


def bz_image(payload: bytes) -> bytes:
    """Return a bzImage with a set-up of three sectors and 64 bytes in front of its payload."""
    data = bytearray(4 * 512 + 64)
    data[0x1F1] = 3
    data[0x202:0x206] = b"HdrS"
    data[0x248:0x24C] = (64).to_bytes(4, "little")
    data[0x24C:0x250] = len(payload).to_bytes(4, "little")
    return bytes(data) + payload + b"\xff" * 512


@pytest.mark.parametrize(
    "compressed",
    [
        KERNEL,
        gzip.compress(KERNEL, mtime=0),
        bz2.compress(KERNEL),
        lzma.compress(KERNEL, check=lzma.CHECK_CRC32),
        lzma.compress(KERNEL, format=lzma.FORMAT_ALONE),
    ],
)
def test_a_kernel_is_unpacked(compressed: bytes) -> None:
    assert image.kernel(compressed) == KERNEL
    size = b"" if compressed[:2] == b"\x1f\x8b" else SIZE
    assert image.kernel(bz_image(compressed + size)) == KERNEL


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs zstd")
def test_a_kernel_compressed_by_zstd_is_unpacked() -> None:
    done = subprocess.run(["zstd", "-c"], input=KERNEL, capture_output=True, check=True)
    assert image.unpacked(done.stdout) == KERNEL
    assert image.kernel(bz_image(done.stdout + SIZE)) == KERNEL
    with pytest.raises(ValueError, match="damaged zstd data"):
        image.kernel(bz_image(done.stdout[:-3] + SIZE))


def test_without_zstd_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ValueError, match=r"zstd is not installed \(`apt-get install zstd`\)"):
        image.unpacked(b"\x28\xb5\x2f\xfd")


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"\x02\x21\x4c\x18" + SIZE, "lz4 is not supported"),
        (gzip.compress(KERNEL, mtime=0)[:8] + b"x" * 20, "damaged gzip data"),
        (b"\xfd7zXZ\0" + bytes(20), "damaged xz data"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(payload: bytes, says: str) -> None:
    for data in (payload, bz_image(payload)):
        with pytest.raises(ValueError, match=says):
            image.kernel(data)
