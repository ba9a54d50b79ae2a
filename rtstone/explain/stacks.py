"""Follow what a guest executed, block by block, with the call stack at each of them.

A stack grows by calls and exceptions, recognised by the last instruction of a block and by
where the next one begins, and shrinks by returns to an address that is on it.  What was called
before the recording began is not known.  A switch to another task leaves a stack behind, which is
taken up again when a return fits it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rtstone.explain.instructions import Architecture, Flow
from rtstone.explain.recording import Recording, Span
from rtstone.explain.roles import System

ROOT = 0
# Calls itself, and returns to where it jumps to; in newer kernels it has the second name first.
THUNKS = ("__x86_indirect_thunk", "__pi___x86_indirect_thunk")

Place = Callable[[int], tuple[str, int]]  # the function at an address, and where it begins


class Slice(NamedTuple):
    """Instructions executed in succession in one function: from the ``start``-th, ``n`` of them.

    ``node``: the stack, by its number in the tree.  ``entered``: at the function's first
    instruction.
    """

    start: int
    n: int
    node: int
    entered: bool


class Tree:
    """All call stacks: each node is a function, called by (or interrupting) its parent."""

    def __init__(self) -> None:
        self.parent = [ROOT]
        self.name = [""]
        self._nodes: dict[tuple[int, str], int] = {}

    def child(self, parent: int, name: str) -> int:
        """Return the node of a function called by another one."""
        key = (parent, name)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = len(self.name)
            self.parent.append(parent)
            self.name.append(name)
        return node

    def frames(self, node: int) -> list[str]:
        """Return the functions on a stack, outermost first."""
        names = []
        while node != ROOT:
            names.append(self.name[node])
            node = self.parent[node]
        return names[::-1]


class Followed(NamedTuple):
    """What was executed in a window, in order.

    ``switches``: the counts of the first instruction after each switch to another task.
    """

    tree: Tree
    slices: list[Slice]
    switches: list[int]


class _End(NamedTuple):
    """How a block ended: its flow, the address behind it, and the function it is in."""

    flow: Flow
    end: int
    name: str


class _Block(NamedTuple):
    """What a block is each time it is executed.

    ``begins``: at its function's first instruction.  ``enters``: an exception may enter there.
    ``chooses``: another task to return to.
    """

    ended: _End
    begins: bool
    enters: bool
    chooses: bool


class _Frame(NamedTuple):
    """A frame to return from: where to, and the caller's node.

    ``interrupted``: of an exception, what it came after, so that it goes on from there.
    """

    to: int
    node: int
    interrupted: _End | None = None


class _Stack:
    """The stack of one task: its frames, and the node that they make up."""

    __slots__ = ("frames", "node", "origin")

    def __init__(self) -> None:
        self.frames: list[_Frame] = []
        self.node = ROOT
        self.origin: _Stack | None = None  # the one that was left, of which this is a copy

    def copy(self) -> _Stack:
        """Return a copy to go on with, which leaves this as it is until it is known to be it."""
        copy = _Stack()
        copy.frames, copy.node, copy.origin = [*self.frames], self.node, self
        return copy

    def cut(self, at: int) -> None:
        """Remove a frame and all inside it."""
        self.node = self.frames[at].node
        del self.frames[at:]

    def returning(self, pc: int) -> int | None:
        """Return the innermost frame that was called from before this address, None if none was."""
        for at in reversed(range(len(self.frames))):
            if self.frames[at].interrupted:
                return None
            if self.frames[at].to == pc:
                return at
        return None

    def returns(self, pc: int) -> bool:
        """Return to the innermost frame that was called from before this address, if any."""
        at = self.returning(pc)
        if at is not None:
            self.cut(at)
        return at is not None


def follow(
    recording: Recording, window: Span, arch: Architecture, place: Place, system: System
) -> Followed:
    """Return what was executed in a window, with the stack at each time."""
    follower = _Follower(arch, place, system)
    ran = recording.ran(window)
    counts = [*ran["count"].tolist(), None]
    cache: dict[int, tuple[int, int, bytes, int]] = {}  # few, each executed many times
    for at, number in enumerate(ran["what"].tolist()):
        block = cache.get(number)
        if block is None:
            pc, n, size, last, length = recording.blocks[number].item()
            block = cache[number] = pc, n, last[:length], pc + size
        pc, n, last, end = block
        start, following = counts[at], counts[at + 1]
        if following is not None and following - start < n:  # it was left before its end
            n, last = following - start, b""
        follower.run(pc, n, start, last, end)
    return Followed(follower.tree, follower.slices, follower.switches)


class _Follower:
    def __init__(self, arch: Architecture, place: Place, system: System) -> None:
        self.tree = Tree()
        self.slices: list[Slice] = []
        self.switches: list[int] = []
        self._since = 0  # the first slice since the last switch
        self._start = 0  # the count of the block that is taken
        self._arch = arch
        self._place = place
        self._system = system
        self._stack = _Stack()
        self._left: list[_Stack] = []  # of tasks that do not run
        self._before: _End | None = None
        self._entered = False  # the block begins with an exception
        self._chosen = False  # another task to return to
        self._switching: int | None = None  # the frame that called what switches
        self._blocks: dict[tuple[int, int, bytes], _Block] = {}

    def run(self, pc: int, n: int, start: int, last: bytes, end: int) -> None:
        """Take one block."""
        key = (pc, end, last)
        block = self._blocks.get(key)  # nearly all have been there before
        if block is None:
            name, begin = self._place(pc)
            flow = self._arch.flow(last) if last else Flow.CUT
            enters = self._system.enters(name, begin, pc)
            block = self._blocks[key] = _Block(
                _End(flow, end, name), pc == begin, enters, name in self._system.chooses
            )
        name, ended = block.ended.name, self._before
        self._start = start
        if ended is not None:
            self._entered = block.enters and name != ended.name and not self._in_vector()
            if ended.flow is Flow.CUT and self._entered:
                # It faulted: an instruction is executed when it is begun once more.
                self.slices[-1] = self.slices[-1]._replace(n=self.slices[-1].n - 1)
            self._go(pc, name, ended)
        leaf = self.tree.child(self._stack.node, name)
        before = self.slices[-1] if len(self.slices) > self._since else None
        if before and before.node == leaf and not block.begins:
            self.slices[-1] = Slice(before.start, before.n + n, leaf, before.entered)
        else:
            self.slices.append(Slice(start, n, leaf, block.begins))
        self._chosen = self._chosen or block.chooses
        self._before = block.ended

    def _in_vector(self) -> bool:
        """Return whether the last block was in a vector: what follows is the same exception."""
        return self._before is not None and self._before.name in self._system.vectors

    def _go(self, pc: int, name: str, before: _End) -> None:
        """Change the stack by how the last block went over to this one."""
        if self._entered:
            self._push(before.name, 0, before)
        elif self._in_vector():
            return  # it goes on by a jump, even where that is written as a call or a return
        elif before.flow is Flow.CALL and pc != before.end:
            switches = name in self._system.switches
            if switches and before.name == name:
                return  # x86 fills the predictor of returns there, by calls that never return
            self._push(before.name, before.end)
            if switches:
                self._switching = len(self._stack.frames) - 1
        elif before.flow is Flow.LEAVE:
            self._leave(pc, name)
        elif before.flow is Flow.RETURN:
            self._return(pc, name, before.name)

    def _push(self, caller: str, to: int, interrupted: _End | None = None) -> None:
        self._stack.frames.append(_Frame(to, self._stack.node, interrupted))
        self._stack.node = self.tree.child(self._stack.node, caller)

    def _return(self, pc: int, name: str, function: str) -> None:
        at = self._stack.returning(pc)
        if function in self._system.switches or (at is not None and at == self._switching):
            if at is not None:
                del self._stack.frames[at + 1 :]
            self._switch(pc, name)
        if self._stack.returns(pc):
            return
        if self._stack.frames and self.tree.name[self._stack.node].startswith(THUNKS):
            self._stack.cut(len(self._stack.frames) - 1)
            return
        if self._arch.returns_leave:
            self._leave(pc, name)
            return
        taken = self._stack.origin
        for left in reversed(self._left):  # not the task that it was taken for
            self._stack = left.copy()
            if self._stack.returns(pc):
                self._correct(taken, left)
                return
        self._stack = _Stack()

    def _correct(self, wrong: _Stack | None, right: _Stack) -> None:
        """Put what was executed since the last switch on another stack.

        Both have returned to the same addresses so far, or it would have been known before.
        """
        if wrong is None:
            return
        before, now = (self.tree.frames(stack.node) for stack in (wrong, right))
        for at in range(self._since, len(self.slices)):
            frames = self.tree.frames(self.slices[at].node)
            common = len(shared_by([before, frames]))
            node = ROOT
            for name in [*now[: len(now) - (len(before) - common)], *frames[common:]]:
                node = self.tree.child(node, name)
            self.slices[at] = self.slices[at]._replace(node=node)

    def _leave(self, pc: int, name: str) -> None:
        """Return from the latest exception, to go on as if it had not been."""
        if self._chosen:
            self._switch(pc, name)
            self._chosen = False
        frames = self._stack.frames
        at = next((i for i in reversed(range(len(frames))) if frames[i].interrupted), None)
        came = None if at is None else frames[at].interrupted
        if at is None or came is None or (came.flow is Flow.JUMP and came.name != name):
            self._stack = _Stack()  # it came before the recording began, or to another task
            return
        self._stack.cut(at)
        self._go(pc, name, came)

    def _switch(self, pc: int, name: str) -> None:
        """Leave this stack, and take up the latest that was left where this task goes on."""
        self._switching = None
        self.switches.append(self._start)
        self._since = len(self.slices)
        self._left = [stack for stack in self._left if stack is not self._stack.origin]
        self._left.append(self._stack)
        self._stack.origin = None
        self._stack = _Stack()
        for stack in reversed(self._left):
            to, _, interrupted = stack.frames[-1] if stack.frames else _Frame(-1, ROOT)
            jumped = interrupted and interrupted.flow is Flow.JUMP and interrupted.name == name
            if jumped or pc == (interrupted.end if interrupted else to):
                self._stack = stack.copy()
                break


def within(slices: Sequence[Slice], end: int, length: int) -> list[Slice]:
    """Return the last ``length`` instructions before the ``end``-th, as slices.

    Counted is what was executed: an instruction that was begun twice, as it had faulted, was once.
    """
    pieces: list[Slice] = []
    for piece in reversed(slices):
        if piece.start >= end:
            continue
        n = piece.n if pieces else min(piece.n, end - piece.start)
        if n >= length:
            whole = piece.entered and n == length
            pieces.append(Slice(piece.start + n - length, length, piece.node, whole))
            break
        pieces.append(piece._replace(n=n))
        length -= n
    return pieces[::-1]


def shared_by(stacks: Sequence[Sequence[str]]) -> list[str]:
    """Return the outermost functions that all stacks have in common."""
    shared: list[str] = []
    for names in zip(*stacks, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return shared


def most_first(spent: Counter[str]) -> list[tuple[str, int]]:
    """Return names and what was spent in them, the most first; of equal ones by name."""
    return sorted(spent.items(), key=lambda row: (-row[1], row[0]))
