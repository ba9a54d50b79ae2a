"""Runs that are pushed arrive, whatever happens on their way and to the server."""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sql

from rtstone.folders import results
from rtstone.server.access import new_token
from rtstone.server.client import push as client
from rtstone.server.client.address import Address, address
from rtstone.server.client.http import Server
from rtstone.server.client.outbox import Delivered, deliver, queue, queued
from rtstone.server.client.push import pack, push
from rtstone.server.database import Database
from rtstone.server.projects import ARRIVING, MAIN, Places
from rtstone.server.reconcile import reconcile, verify
from rtstone.server.schema import runs
from rtstone.server.settings import Settings
from rtstone.server.settings_file import Limits
from rtstone.store.layout import PLAN, RUN
from tests.conftest import Cli
from tests.server.conftest import Template
from tests.server.killing import Serving, free_port, serve
from tests.server.pushing import cutting
from tests.server.serving import Served, serving


@pytest.fixture
def served(places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with serving(Settings(places.store, port=0, limits=Limits(requests=0))) as server:
        monkeypatch.setenv("RTSTONE_TOKEN", server.token("push"))
        yield server


def own(template: Template, run_id: str) -> Path:
    """Place a copy of the run in the store of who pushes, with another id in plan and document."""
    path = results() / "runs" / run_id
    path.mkdir(parents=True)
    os.link(template.path / "wire.log", path / "wire.log")
    plan = msgspec.structs.replace(template.plan, run_id=run_id)
    run = msgspec.structs.replace(template.run, run_id=run_id)
    (path / PLAN).write_bytes(msgspec.json.encode(plan))
    (path / RUN).write_bytes(msgspec.json.encode(run))
    return path


def stored_runs(places: Places) -> list[str]:
    folder = places.runs(MAIN)
    return sorted(path.name for path in folder.glob("*") if path.name != ARRIVING)


def test_runs_are_pushed_once(served: Served, template: Template, cli: Cli) -> None:
    for name in ("r-1", "r-2"):
        own(template, name)
    done = cli("push", served.url, "r-1", "r-2")
    assert (done.status, stored_runs(served.places)) == (0, ["r-1", "r-2"])
    assert f"{served.url}/p/main/runs/r-1" in done.err
    again = cli("push", f"{served.url}/p/main", "r-1", "--json")
    assert again.status == 0
    assert again.document["pushed"][0]["fresh"] is False
    assert cli("push", served.url).status == 0
    assert stored_runs(served.places) == ["r-1", "r-2"]


def test_a_run_that_is_removed_before_it_is_sent_is_no_success(
    served: Served, template: Template, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = own(template, "r-1")
    own(template, "r-2")

    def queued(to: Address, run: Path) -> None:
        queue(to, run)
        shutil.rmtree(gone, ignore_errors=True)

    monkeypatch.setattr("rtstone.server.client.outbox.queue", queued)
    done = cli("push", served.url, "r-1", "r-2")
    assert (done.status, stored_runs(served.places)) == (3, ["r-2"])
    assert f"not pushed: r-1: removed before it was sent, {gone}" in done.err
    assert "nothing is queued" in cli("push", served.url).err


def test_a_run_that_another_push_has_sent_meanwhile_is_reported_by_both(
    served: Served, template: Template, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the one that sent it as pushed, by the one that was to send it as there already."""
    own(template, "r-1")
    deliveries: list[Delivered] = []

    def queued_and_sent(to: Address, run: Path) -> None:
        queue(to, run)
        with Server(to) as server:
            deliveries.append(deliver(server))

    monkeypatch.setattr("rtstone.server.client.outbox.queue", queued_and_sent)
    done = cli("push", served.url, "r-1")
    assert [(push.run_id, push.fresh) for push in deliveries[0].pushed] == [("r-1", True)]
    assert (done.status, done.err) == (0, f"there already: {served.url}/p/main/runs/r-1\n")
    monkeypatch.setattr("rtstone.server.client.outbox.queue", queue)
    to = address(served.url)
    with Server(to._replace(port=free_port()), patience_s=0.0) as nowhere:
        delivery = deliver(nowhere, [own(template, "r-2")])
    (note,) = queued(nowhere.address)
    assert (delivery.left, Path(note.run).name) == (1, "r-2")


def test_two_pushes_that_send_one_queue_at_once_report_each_run_once_as_pushed(
    served: Served, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that send the same run at once, the one whose bytes the server took has pushed it."""
    to = address(served.url)
    for name in ("r-1", "r-2"):
        queue(to, own(template, name))
    inner: list[Delivered] = []
    send_rest = client._send_rest

    def late(*arguments: Any) -> tuple[str | None, bool]:
        if not inner:
            monkeypatch.setattr(client, "_send_rest", send_rest)
            with Server(to) as server:
                inner.append(deliver(server))
        return send_rest(*arguments)

    monkeypatch.setattr(client, "_send_rest", late)
    with Server(to) as server:
        outer = deliver(server)
    assert [(push.run_id, push.fresh) for push in inner[0].pushed] == [
        ("r-1", True),
        ("r-2", True),
    ]
    assert [(push.run_id, push.fresh) for push in outer.pushed] == [("r-1", False)]
    assert (outer.refused, outer.left, queued(to)) == ([], 0, [])


def test_a_measured_run_is_pushed_when_it_has_ended(served: Served, cli: Cli) -> None:
    done = cli("run", "sched.yield", "--target", "sim", "--time", "1ms", "--push", served.url)
    assert done.status == 0
    assert len(stored_runs(served.places)) == 1


def test_without_a_server_runs_wait_and_go_with_the_next_push(
    places: Places, template: Template, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtstone.cli.pushing.PATIENCE_S", 0.3)
    monkeypatch.setattr("rtstone.cli.push.PATIENCE_S", 0.3)
    monkeypatch.setenv("RTSTONE_TOKEN", "rts_x")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    done = cli("run", "sched.yield", "--target", "sim", "--time", "1ms", "--push", url)
    assert done.status == 0  # what was measured is no failure
    assert "1 run queued" in done.err
    own(template, "r-1")
    assert cli("push", url, "r-1").status == 4
    with serving(Settings(places.store, port=port)) as served:
        monkeypatch.setenv("RTSTONE_TOKEN", served.token("push"))
        assert cli("push", url).status == 0
        assert len(stored_runs(places)) == 2
        assert "nothing is queued" in cli("push", url).err


def test_who_pushes_the_last_run_while_it_goes_on_reads_which_has_ended(
    served: Served, template: Template, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTSTONE_TOKEN", served.token("push"))
    own(template, "20261101-r-1")
    path = own(template, "20261102-r-2")
    (path / "run.json").unlink()
    done = cli("push", served.url, "last")
    assert done.status == 2
    assert "20261102-r-2, has not ended; the last that has is 20261101-r-1" in done.says
    assert "nothing is queued" in cli("push", served.url).err
    assert cli("push", served.url, "last~1").status == 0


def test_who_may_not_push_is_told(
    served: Served, template: Template, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(template, "r-1")
    for token, says in (("", "a token"), ("rts_x", "not valid"), (served.token("read"), "may not")):
        monkeypatch.setenv("RTSTONE_TOKEN", token)
        if not token:
            monkeypatch.delenv("RTSTONE_TOKEN")
        done = cli("push", served.url, "r-1")
        assert done.status != 0
        assert says in done.err
        assert stored_runs(served.places) == []
        if token:  # that could never push what waits for another
            assert "when RTSTONE_TOKEN is a token that may; to drop it, remove its note in" in (
                done.says
            )


def test_imported_and_unfinished_runs_are_refused_here(
    served: Served, template: Template, cli: Cli
) -> None:
    (own(template, "r-1") / "wire.log").unlink()
    (own(template, "r-2") / RUN).unlink()
    for name in ("r-1", "r-2"):
        done = cli("push", served.url, name)
        assert done.status == 2, done.err
    assert stored_runs(served.places) == []


# ---- a line that breaks, a server that is killed ------------------------------------------------


def test_a_line_that_breaks_again_and_again_costs_nothing(
    served: Served, template: Template, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtstone.server.client.push._LONGEST_S", 0.2)
    own(template, "r-1")
    with cutting(served.app.state.settings.port, 2_000) as relay:
        done = cli("push", f"http://127.0.0.1:{relay.port}", "r-1")
    assert done.status == 0, done.err
    assert relay.cuts >= 2
    assert stored_runs(served.places) == ["r-1"]
    assert verify(served.database, served.places) == []


def test_a_run_is_larger_than_what_any_connection_lets_through(
    served: Served, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has come when a connection ends counts, also what the server has not read yet."""
    monkeypatch.setattr("rtstone.server.client.push._LONGEST_S", 0.2)
    path = own(template, "r-1")
    noise = "".join(f"{os.urandom(60).hex()}\n" for _ in range(6000)).encode()
    text = (path / "wire.log").read_bytes() + noise
    (path / "wire.log").unlink()
    (path / "wire.log").write_bytes(text)
    with (
        cutting(served.app.state.settings.port) as relay,
        Server(address(f"http://127.0.0.1:{relay.port}"), patience_s=5) as server,
    ):
        push(server, path)
    blob = len(pack(path).blob)
    assert blob // (64 << 10) <= relay.cuts <= 3 * blob // (64 << 10)
    assert (served.places.run(MAIN, "r-1") / "wire.log").read_bytes() == text
    assert verify(served.database, served.places) == []


def test_a_server_that_is_killed_loses_and_doubles_nothing(
    places: Places, template: Template, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(8)
    names = [own(template, f"r-{number}").name for number in range(6)]
    with closing(Database(None, places.store)) as database:
        monkeypatch.setenv("RTSTONE_TOKEN", new_token(database, "t", "push", None))
    server = Serving(places.store, tmp_path / "log")
    over = threading.Event()

    def killed_again_and_again() -> None:
        for wait in (0.05, 0.15, 0.1):
            server.start()
            over.wait(wait + chance.random() / 5)
            server.kill()
        server.start()
        over.wait(600)
        server.kill()

    killer = threading.Thread(target=killed_again_and_again)
    killer.start()
    try:
        done = cli("push", f"http://127.0.0.1:{server.port}", *names)
        for _ in range(9):  # a slow machine's server starts for longer than a push has patience
            if done.status != 4:
                break
            done = cli("push", f"http://127.0.0.1:{server.port}")  # as its refusal says
    finally:
        over.set()
        killer.join()
    assert done.status == 0, done.err
    assert stored_runs(places) == names
    with closing(Database(None, places.store)) as database:
        reconcile(database, places)
        assert verify(database, places) == []
        with database.reading() as connection:
            run_ids = list(connection.execute(sql.select(runs.c.run_id)).scalars())
    assert sorted(run_ids) == names
    assert list((places.runs(MAIN) / ARRIVING).iterdir()) == []


def test_a_server_ends_in_order_when_it_is_told_to(places: Places, tmp_path: Path) -> None:
    with serve(places.store, tmp_path / "log") as server:
        assert server.end() == 0


def test_a_campaign_pushes_its_runs_and_tells_its_state(
    served: Served, cli: Cli, tmp_path: Path
) -> None:
    plan = tmp_path / "night.toml"
    measure = '["sched.yield", "sem.try.free"]'
    plan.write_text(f'title = "Night"\ntargets = ["sim"]\nmeasure = {measure}\ntime = "1ms"\n')
    done = cli("campaign", "run", plan, "--push", served.url)
    assert done.status == 0, done.err
    assert len(stored_runs(served.places)) == 2
    assert all(re.fullmatch(r"night\.[0-9a-f]{16}", name) for name in stored_runs(served.places))
    served.settled()
    state = served.client.get("/p/main/campaigns/night.json").json()
    assert (state["title"], state["jobs"]["done"]) == ("Night", 2)
