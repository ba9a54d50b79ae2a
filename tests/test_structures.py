"""Structures that several threads decode into for the first time."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Each round has fresh structures, of which each contains the next one, and eight threads that begin
# at the same time.
ROUNDS = """
import sys
import threading
import msgspec
from rtstone import structures

def decode(data, kind):
    return DECODE

sys.setswitchinterval(1e-6)
for number in range(40):
    kind = int
    for depth in range(40):
        kind = msgspec.defstruct(f"S{depth}", [("inner", kind), ("texts", list[str])])
    data = b'{"texts":["a"],"inner":' * 40 + b"1" + b"}" * 40
    barrier = threading.Barrier(8)
    values = []

    def work():
        barrier.wait()
        values.append(decode(data, kind))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 8 and all(value == values[0] for value in values)
print("decoded")
"""


@pytest.mark.parametrize(
    "decode",
    ["structures.decode(data, kind)", "structures.convert(msgspec.json.decode(data), kind)"],
)
def test_threads_that_decode_first_at_the_same_time_all_have_the_value(decode: str) -> None:
    """Fails with msgspec's own functions, by a segmentation fault."""
    script = ROUNDS.replace("DECODE", decode)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "decoded\n"), done.stderr[-2000:]
