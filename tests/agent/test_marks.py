"""A replay takes nothing that the compiler keeps on the stack for the counting of a sample."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "agent" / "marks.py"
SPEC = importlib.util.spec_from_file_location("marks", SCRIPT)
assert SPEC
assert SPEC.loader
marks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(marks)


@pytest.mark.parametrize(
    "spill", ["str\tr3, [sp, #24]", "sd\ta5,8(sp)", "mov\t%rax,0x8(%rsp)", "stp\tx0, x1, [sp, #16]"]
)
def test_what_is_kept_on_the_stack_is_no_part_of_a_mark(spill: str) -> None:
    code = {16: "adds\tr2, #1", 18: "str\tr2, [r5, r3]", 20: spill, 22: "ldr\tr2, [r4]"}
    assert list(marks.without_stack(code, 16, 24)) == [(16, 20), (22, 24)]
    assert list(marks.without_stack(code, 16, 20)) == [(16, 20)]
    assert list(marks.without_stack(code, 20, 22)) == []
    assert list(marks.without_stack(code, 20, 24)) == [(22, 24)]
