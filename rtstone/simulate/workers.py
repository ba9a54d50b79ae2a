"""Worker processes that return results in order and never outlive their parent.

They communicate through pipes only.  A pool of the standard library uses named semaphores, which
stay behind if its process is killed, as do the workers that wait for them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

from rtstone.errors import TargetError
from rtstone.interrupt import end_with

_A = TypeVar("_A")
_B = TypeVar("_B")


def shared_out(work: Callable[[_A], _B], todo: Sequence[_A], workers: int) -> Iterator[_B]:
    """Yield the result of ``work`` for each item, in order.

    Raises what ``work`` raises, and TargetError if a worker was killed.
    """
    with ExitStack() as stack:
        idle = [_started(stack, work) for _ in range(min(workers, len(todo)))]
        busy: dict[Connection, int] = {}
        done: dict[int, _B] = {}
        sent = 0
        for wanted in range(len(todo)):
            while wanted not in done:
                while idle and sent < len(todo):
                    line = idle.pop()
                    with suppress(OSError):  # it was killed; `_answer` reports that
                        line.send(todo[sent])
                    busy[line] = sent
                    sent += 1
                for line in cast(list[Connection], wait(list(busy))):
                    done[busy.pop(line)] = _answer(line)
                    idle.append(line)
            yield done.pop(wanted)


def _started(stack: ExitStack, work: Callable[[_A], _B]) -> Connection:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    stack.callback(ours.close)
    process = context.Process(target=_serve, args=(theirs, work, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    stack.callback(process.join)
    stack.callback(process.kill)
    return ours


def _answer(line: Connection) -> Any:
    try:
        answer = line.recv()
    except (EOFError, OSError) as error:
        raise TargetError(
            "a worker of the simulation was killed, for want of memory or by hand; "
            "try again with --workers 1"
        ) from error
    if isinstance(answer, Exception):
        raise answer
    return answer


def _serve(line: Connection, work: Callable[[_A], _B], parent: int) -> None:
    """Work as a worker: ignore Ctrl-C, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not end_with(parent):
        return
    with suppress(EOFError, OSError):
        while True:
            item = line.recv()
            try:
                answer: object = work(item)
            except Exception as error:  # raised again in the parent
                answer = error
            line.send(answer)
