"""A dask cluster: workers anywhere that have rtstone and reach one scheduler.

dask.distributed is an extra of the package.  Whoever reaches the scheduler can run any program on
the workers, so it belongs into a network of one's own, or behind TLS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from rtstone.errors import RtstoneError, TargetError, UsageError, unknown

if TYPE_CHECKING:
    from distributed import Client

_A = TypeVar("_A")
_B = TypeVar("_B")

LOCAL = "local"
PREFIX = "dask:"
CONNECT_S = 10.0  # time limit for the scheduler to answer
AHEAD = 4  # items for each thread of the workers that are handed out at a time


def address(engine: str) -> str | None:
    """Return the address of the scheduler, None for the engine of this machine.

    Raises UsageError for anything but ``local`` and ``dask:ADDRESS``.
    """
    if engine == LOCAL:
        return None
    if not engine.startswith(PREFIX):
        raise unknown("engine", engine, [LOCAL, f"{PREFIX}ADDRESS"], "in --engine")
    place = engine.removeprefix(PREFIX)
    if not place or not place.isprintable() or place != place.strip():
        raise UsageError(f"no scheduler is named, in --engine '{engine}'; write {PREFIX}HOST:PORT")
    return place


def connect(place: str) -> Client:
    """Return a connection to a scheduler.  Raises UsageError, TargetError."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(
            "dask.distributed is not installed; install it with: pip install 'rtstone[dask]'"
        ) from error
    try:
        return Client(place, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise TargetError(
            f"no dask scheduler answers at {place}; start one there with: dask scheduler"
        ) from error


def shared_out(client: Client, work: Callable[[_A], _B], todo: Sequence[_A]) -> Iterator[_B]:
    """Yield the result of ``work`` for each item, in order, as computed by the workers.

    Raises what ``work`` raises, and TargetError if the scheduler or too many workers are lost.
    """
    from rtstone import __version__

    try:
        ahead = AHEAD * max(1, sum(client.nthreads().values()))
        futures: list[Any] = []
        for place in range(len(todo)):
            while len(futures) < min(len(todo), place + ahead):
                item = todo[len(futures)]
                futures.append(client.submit(_checked, work, __version__, item, pure=False))
            yield futures[place].result()
            futures[place] = None
    except RtstoneError:
        raise
    except Exception as error:
        lost(error)


def lost(error: BaseException) -> NoReturn:
    """Raise TargetError for an error of dask itself; an error of the work is raised as it is."""
    module = type(error).__module__.partition(".")[0]
    if module not in {"distributed", "asyncio", "concurrent"} and not isinstance(error, OSError):
        raise error
    raise TargetError(
        f"the dask cluster failed: {type(error).__name__}; see what its scheduler and workers say"
    ) from error


def _checked(work: Callable[[_A], _B], version: str, item: _A) -> _B:
    """Work on a worker, which must be of the same version.  Raises UsageError."""
    from rtstone import __version__

    if __version__ != version:
        raise UsageError(
            f"a dask worker has rtstone {__version__}, here it is {version}; install the same there"
        )
    return work(item)


def workers(client: Client) -> list[tuple[int, dict[str, float]]]:
    """Return the number of threads of each worker, and the resources that it holds."""
    descriptions = client.scheduler_info(n_workers=-1)["workers"].values()
    return [(int(worker["nthreads"]), dict(worker.get("resources", {}))) for worker in descriptions]
