"""Several CPUs that tasks move between: sufficient tests, which a set that holds may fail.

Fixed priorities: the response-time bound of Bertogna and Cirinei 2007.  Earliest deadline first:
the density bound of Goossens, Funk and Baruah 2003.  Both for deadlines within periods.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rtstone.tasks.analysis.streams import Stream, fixed_point, requested


def response(
    own: Stream,
    higher: Sequence[tuple[Stream, int]],
    cpus: int,
    each: Sequence[Stream] = (),
) -> int:
    """Return a bound of the time from the release to the end of a job under fixed priorities.

    ``higher``: streams as urgent or more, each with a bound of its response.  ``each``: streams
    that every one of the CPUs executes before all else.  A bound above the deadline is none.
    Raises TooLong.
    """

    def demand(time: int) -> int:
        # While the job waits, all CPUs are busy, and its own may be taken from it by `each`.
        everywhere = requested(each, time)
        most = time - own.work + 1
        waits = sum(min(workload(stream, bound, time), most) for stream, bound in higher)
        return own.work + everywhere + (waits + cpus * everywhere) // cpus

    return fixed_point(demand, own.work, own.deadline)


def workload(stream: Stream, response_bound: int, time: int) -> int:
    """Return the work that a stream can do in an interval, if no job takes longer than a bound.

    The first job ends as late as it can, the others begin at their releases.
    """
    before = time + response_bound - stream.work
    jobs = before // stream.period
    return jobs * stream.work + min(stream.work, before - jobs * stream.period)


def dense(streams: Sequence[Stream], cpus: int) -> bool:
    """Return whether the density bound shows that no deadline is missed under global EDF."""
    densities = [Fraction(s.work, min(s.deadline, s.period)) for s in streams]
    return sum(densities) <= cpus - (cpus - 1) * max(densities)
