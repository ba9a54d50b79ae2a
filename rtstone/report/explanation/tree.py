"""The call tree of a sample, from its stacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rtstone.documents.explanation import Stack

DEEPEST = 100  # frames of a stack that are distinguished; what is below counts for the last of them


@dataclass
class Node:
    """A function called by those above it; ``own`` is a part of ``total``."""

    name: str
    own: float = 0
    total: float = 0
    calls: dict[str, Node] = field(default_factory=dict)

    def sorted(self) -> list[Node]:
        """Return what it calls, the costliest first."""
        return sorted(self.calls.values(), key=lambda node: (-node.total, node.name))

    def called(self, name: str) -> Node:
        """Return the call of a function, which costs nothing if there is none."""
        return self.calls.get(name) or Node(name)

    def nodes(self) -> int:
        """Return the number of calls below it, with itself."""
        return 1 + sum(node.nodes() for node in self.calls.values())


def tree(stacks: Iterable[Stack]) -> Node:
    """Return the root, which has no name and costs what all outermost functions do."""
    root = Node("")
    for stack in stacks:
        node = root
        node.total += stack.cost
        for name in stack.frames[:DEEPEST]:
            node = node.calls.setdefault(name, Node(name))
            node.total += stack.cost
        node.own += stack.cost
    return root


@dataclass(frozen=True)
class Row:
    """A line of a folded tree: functions that call nothing but each other, and what they cost."""

    depth: int
    names: Sequence[str]
    own: float
    total: float


def folded(root: Node, most: int) -> tuple[list[Row], float]:
    """Return at most so many rows of a tree, and the share of the whole below which none is shown.

    A call that costs nothing itself and leads to one shown call alone is in the row of that one.
    """
    for share in (0.01, 0.02, 0.05, 0.1, 0.2):
        rows = list(_rows(root, 0, share * root.total))
        if len(rows) <= most:
            return rows, share
    return rows[:most], share


def _rows(parent: Node, depth: int, least: float) -> Iterator[Row]:
    for call in _shown(parent, least):
        names, node = [call.name], call
        while node.own < least and len(inner := _shown(node, least)) == 1:
            node = inner[0]
            names.append(node.name)
        yield Row(depth, names, node.own, call.total)
        yield from _rows(node, depth + 1, least)


def _shown(node: Node, least: float) -> list[Node]:
    return [call for call in node.sorted() if call.total >= least and call.total > 0]
