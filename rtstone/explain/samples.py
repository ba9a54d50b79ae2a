"""Find every sample of a case in a recording: the n-th time that the recorder counts one.

The recorder counts a sample by adding one to a bucket in memory, and the address shows which bucket
(agent/core/recorder.h).  So all samples are known in their order, as exactly as the histogram has
them, and its counts are checked against those of the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rtstone.errors import TargetError
from rtstone.explain.offsets import KERNEL  # which takes no samples
from rtstone.explain.recording import Kind, Recording, Table
from rtstone.wire import records as wire
from rtstone.wire.buckets import bounds, index_of

COMMAND, SERIES, DONE = range(3)  # numbers of the agent's functions that are entered
ENTRIES = ("rts_command_parse", "rts_rec_init", "rts_load_case_ends")
STRIDES = (0, 7456)  # counters in a part of a recorder: of one that has only one, of all others
BACK = 16  # stamps before a sample is counted, among which its last one is
NEAR = 64  # instructions by which two counts may differ, as some were begun twice (stacks.py)
STAMP_NEAR = 4  # the same between two stamps next to each other, and what ticks are rounded by


class Moment(NamedTuple):
    """A sample: the instruction that took its last time stamp, and its raw value in instructions.

    ``exact``: the value is known exactly, not only its bucket.
    """

    end: int
    length: int
    exact: bool


class Samples(NamedTuple):
    """All samples of a result, in order.

    ``per_tick``: instructions in a tick of its clock.  ``buckets``: the bucket of each.
    ``stamps``: all time stamps of the case.  ``near``: the place of the first that may be of each
    sample, and how many were taken before it was counted.  ``ends``: last time stamp of the worst
    samples.  ``stamped``: samples begin at a time stamp, not at the time for which something was
    due.  ``start`` and ``done``: the first and the last instruction of the case.
    """

    raw: wire.Result
    per_tick: float
    buckets: Table
    stamps: Table
    near: Table
    ends: dict[int, int]
    stamped: bool
    start: int
    done: int

    def moment(self, index: int) -> Moment:
        """Return when a sample was taken, and its value."""
        low, width = bounds(int(self.buckets[index]), self.raw.bits)
        if index in self.ends:
            ticks = next(value for value, place, _ in self.raw.worst if place == index)
            end, length = self.ends[index], self._length(ticks)
            return Moment(end, length, True)
        # Which of the stamps before such a sample was counted is its last one, as of the worst.
        worst = [place for place in self.ends if (place - index) % 2 == 0] or list(self.ends)
        usual = Counter(
            int(self.near[place][1] - np.searchsorted(self.stamps, self.ends[place]))
            for place in worst
        ).most_common(1)[0][0]
        stamps = self.stamps[slice(*self.near[index])]
        least, most = self._length(low), self._length(low + width - 1)
        places = range(1, len(stamps) + 1) if self.stamped else ()
        for back in sorted(places, key=lambda n: (n != usual, n)):
            end = int(stamps[-back])
            lengths = [end - int(stamp) for stamp in stamps[:-back] if least <= end - stamp <= most]
            if lengths:
                return Moment(end, lengths[-1], True)
        return Moment(int(stamps[-usual]), self._length(low + (width - 1) / 2), width == 1)

    def _length(self, ticks: float) -> int:
        return round(ticks * self.per_tick)

    def nearest(self, net: float) -> int:
        """Return the first sample in the bucket that is nearest to a net value, in instructions."""
        ticks = net * self.raw.batch / self.per_tick + self.raw.overhead
        bucket = index_of(max(0, round(ticks)), self.raw.bits)
        return int(np.argmin(np.abs(self.buckets - bucket)))

    def worst(self, share: float) -> list[int]:
        """Return the places of the largest samples, this share of all but at least one."""
        count = max(1, int(len(self.buckets) * share))
        order = np.argsort(-self.buckets, kind="stable")
        return sorted(int(place) for place in order[:count])


def find(
    recording: Recording, place: int, raws: Sequence[wire.Result], series: str, per_tick: float
) -> Samples:
    """Return the samples of a series of the ``place``-th case (from 0) of a run.

    ``raws``: the results of the case, one for each series.  ``per_tick``: instructions in a tick of
    the clock of this one.  Raises TargetError if what was recorded does not fit the result.
    """
    rows = _case(recording, place)
    start, done = int(rows["count"][0]), int(rows["count"][-1])
    begun = np.flatnonzero((rows["kind"] == Kind.ENTERED) & (rows["what"] == SERIES))
    rows = rows[int(begun[-len(raws)]) :] if len(begun) >= len(raws) else rows[:0]
    raw = next(raw for raw in raws if raw.series == series)
    for counted in _candidates(rows[rows["kind"] == Kind.STORED], raws, raw):
        buckets = _buckets(counted[raw.warmup :], raw)
        if buckets is not None:
            break
    else:
        raise _unlike("its histogram is another one")
    stamped = (rows["kind"] == Kind.STAMPED) & (rows["what"] < KERNEL)
    stamps = rows["count"][stamped].astype(np.int64)
    # Which stamps may be of each sample: those since the one before it was counted.  If there are
    # none, as two samples are counted one after the other, the ones before that may be.
    after = np.searchsorted(stamps, counted["count"].astype(np.int64))
    before = np.concatenate([[0], after[:-1]])
    first = np.where(before < after, np.maximum(before, after - BACK), after - BACK)
    near: Table = np.stack([np.maximum(first, 0), after], axis=1)[raw.warmup :]
    ends = _ends_of_the_worst(stamps, near, raw, per_tick)
    begins = [ends[index] - value * per_tick for value, index, _ in raw.worst]
    at_stamps = sum(np.abs(stamps - begin).min() <= STAMP_NEAR for begin in begins)
    return Samples(
        raw, per_tick, buckets, stamps, near, ends, 2 * int(at_stamps) > len(begins), start, done
    )


def _candidates(stored: Table, raws: Sequence[wire.Result], raw: wire.Result) -> Iterator[Table]:
    """Yield what may have been recorded of a series: its recorder's part of the memory.

    Recorders of several series lie in the order in which they were made, upwards or downwards, so
    by the number of their samples it is known where each begins.
    """
    wanted = sum(each.warmup + each.n for each in raws)
    if len(stored) < wanted or not raw.worst:
        raise _unlike(f"{len(stored)} samples were counted, of {wanted}")
    stored = stored[:wanted]
    upwards = np.argsort(stored["what"], kind="stable")
    for order in (raws, raws[::-1]) if len(raws) > 1 else (raws,):
        before = order[: next(i for i, each in enumerate(order) if each is raw)]
        first = sum(each.warmup + each.n for each in before)
        yield stored[np.sort(upwards[first : first + raw.warmup + raw.n])]


def _case(recording: Recording, place: int) -> Table:
    """Return the records of a case: from its command to its end."""
    rows = recording.records[recording.records["kind"] <= Kind.STAMPED]
    entered = rows["kind"] == Kind.ENTERED
    begins = np.flatnonzero(entered & (rows["what"] == COMMAND))
    ends = np.flatnonzero(entered & (rows["what"] == DONE))
    if place >= len(begins):
        raise _unlike(f"only {len(begins)} cases began")
    later = ends[ends > begins[place]]
    if not len(later):
        raise _unlike("the case did not end")
    case: Table = rows[begins[place] : later[0] + 1]
    return case


def _buckets(counted: Table, raw: wire.Result) -> Table | None:
    """Return the bucket that was counted in each time; those of the worst samples are known.

    None if the counts of the buckets are not those of the result.
    """
    value, first, _ = raw.worst[0]
    numbers = counted["what"].astype(np.int64) // counted["size"]
    numbers -= numbers[first] - index_of(value, raw.bits)
    for stride in STRIDES:
        buckets: Table = numbers % stride if stride else numbers
        counts = Counter(buckets.tolist())
        beyond = counts.total() - sum(n for _, n in raw.hist) - raw.overflow
        if not beyond and all(counts[bucket] == n for bucket, n in raw.hist):
            return buckets
    return None


def _ends_of_the_worst(
    stamps: Table, near: Table, raw: wire.Result, per_tick: float
) -> dict[int, int]:
    """Return the last time stamp of each of the worst samples.

    Each was taken a while before the sample was counted; between two of them is as much time as
    between their samples.  Where that is so of several stamps, it is one that another was taken
    before by as much as the sample is long.
    """
    times = {index: round(at * per_tick) for _, index, at in raw.worst}
    taken = {index: stamps[slice(*near[index])] for index in times}
    if not all(len(last) for last in taken.values()):
        raise _unlike("a sample has no time stamp")

    def fitness(offset: int) -> tuple[int, int]:
        """Return by how much the samples miss the offset, and how many begin at no stamp by it."""
        misses = alone = 0
        for value, index, _ in raw.worst:
            miss = np.abs(taken[index] - offset - times[index])
            end = taken[index][miss.argmin()]
            misses += min(int(miss.min()), NEAR)
            alone += not np.any(np.abs(taken[index] - (end - value * per_tick)) <= STAMP_NEAR)
        return misses // (STAMP_NEAR * len(times)), alone

    first = min(times, key=lambda index: len(taken[index]))
    offset = min((int(stamp) - times[first] for stamp in taken[first][::-1]), key=fitness)
    return {
        index: int(taken[index][np.abs(taken[index] - offset - at).argmin()])
        for index, at in times.items()
    }


def _unlike(reason: str) -> TargetError:
    return TargetError(f"the replay does not fit the run: {reason}")
