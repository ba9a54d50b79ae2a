"""Every built-in suite names benches, parameters and loads that the agent has."""

from __future__ import annotations

import pytest

from rtstone.interrupt import Interrupt
from rtstone.measure.catalogue import catalogue
from rtstone.measure.request import Request
from rtstone.measure.suite import expand, select, shipped
from rtstone.targets import find
from rtstone.wire.parameters import Catalogue

SCALED = {"sjoblom", "gutsalov", "obenland", "dankwardt", "hartstone", "golatowski"}


@pytest.fixture(scope="module")
def offered() -> Catalogue:
    with Interrupt() as interrupt:
        return catalogue(find("local"), interrupt)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_it_can_be_expanded(name: str, offered: Catalogue) -> None:
    expanded = expand(select([name], offered.benches), Request(), offered)
    assert expanded.cases
    assert (expanded.scale_s is not None) == (name in SCALED)


def test_full_growth_and_isolation_hold_every_bench(offered: Catalogue) -> None:
    expanded = expand(select(["full", "growth", "isolation"], offered.benches), Request(), offered)
    named = {case.bench for case in [*expanded.cases, *expanded.derived]}
    assert set(offered.benches) - named == {"tasks.set"}  # whose set a file describes


IDS = """
    env.setup env.check clk.overhead clk.resolution
    mem.malloc.small mem.malloc.large mem.free mem.memcpy.fwd mem.memcpy.rev mem.memmove.up
    mem.memmove.down mem.memset proc.create proc.kill ipc.send ipc.receive ipc.srsr
    sched.yield sched.yield.pair sched.bg50.orig sched.bg50.half
    ctx.ballast sem.post.nowait sem.post.lower sem.post.higher sem.wait.free sem.wait.busy
    sem.try.free sem.try.busy sem.create sem.delete
    int.latency.phase int.latency.self int.latency.user posix.metrics
    det.timer_jitter det.response det.bintime sync.test1 sync.test2 sync.test3 ctx.sync
    mq.latency mq.throughput sig.rt
    sync.irqthread sync.rwlock sync.rwlock.handover sync.barrier sync.spin sync.spin.contended
    sys.getpid sys.read sys.write sys.select sys.mmap sys.forkexec sys.sem sys.shm sys.footprint
    dk.nanosleep dk.setitimer dk.lat_ctx dk.irq_latency dk.irqsoff dk.schedlat dk.pagefaults
    dk.periodic dk.compare dk.guarantee dk.latencytest posix.options
    rheal.ts rheal.pt rheal.il rheal.ss rheal.db rheal.im rheal.dt
    rheal.sum_time rheal.weighted_time rheal.rate rheal.weighted_rate rheal.mean_rate
    hart.raw hart.PH.1 hart.PH.2 hart.PH.3 hart.PH.4 hart.PN.1 hart.PN.2 hart.PN.3 hart.PN.4
    hart.AH.1 hart.AH.2 hart.AH.3 hart.AH.4 hart.SH.1 hart.SH.2 hart.SH.3 hart.SH.4
    hart.SA.1 hart.SA.2 hart.SA.3 hart.SA.4
"""
LOADS = "min driver rt200 heavy copy read write proc x11 bg50 stress-ng hackbench command"


def test_the_catalogue_holds_every_id_of_the_specification(offered: Catalogue) -> None:
    assert set(IDS.split()) - set(offered.benches) == set()
    assert set(LOADS.split()) - set(offered.loads) == set()
    for bench in offered.benches.values():
        assert bench.source, bench.id
        assert bench.help, bench.id
