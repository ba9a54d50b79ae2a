"""What the pages say, as HTML and as JSON, of runs that are planted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from time import time
from urllib.parse import quote

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.campaign import CampaignState, Counts
from rtstone.documents.observation import observed
from rtstone.documents.run import Result, Run, Value
from rtstone.documents.server import (
    Latencies,
    Overview,
    Projects,
    Search,
    SeriesList,
    SeriesView,
)
from rtstone.server.background import Background
from rtstone.server.indexing import series_row
from rtstone.server.pages import queries
from rtstone.server.pages.overview import curve, span
from rtstone.server.projects import Places
from rtstone.server.settings import Settings
from rtstone.stats.trend import series as trends
from rtstone.store.layout import RUN
from tests.server.conftest import BEGUN, DAY, Copied, scaled
from tests.server.serving import Served, serving
from tests.stats.lossy import lossy, quiet

NOW = (time() - BEGUN) / DAY
EVIL = "<img src=x onerror=alert(1)>\"'&{{7*7}}"


@pytest.fixture
def served(places: Places, database_url: str | None) -> Iterator[Served]:
    """Serve the store that ``copied`` fills, with each kind of database."""
    settings = Settings(places.store, port=0, database=database_url)
    with serving(settings) as server:
        yield server


class Read(HTMLParser):
    """The links, texts and element names of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        attributes = dict(attrs)
        self.handlers += [name for name in attributes if name.startswith("on")]
        self.links += [attributes["href"] or ""] if "href" in attributes else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def page(served: Served, path: str, status: int = 200) -> Read:
    answer = served.client.get(path, follow_redirects=True)
    assert answer.status_code == status, answer.text
    return Read(answer.text)


def stepped(copied: Copied, served: Served, name: str = "sim-a", runs: int = 8) -> None:
    """Plant a target that became slower four runs ago, with a word of its command line."""
    for n in range(runs):
        late = n >= runs - 4
        copied(
            f"{name}-{n}", day=NOW - runs + n, scale=1.5 if late else 1.0,
            conditions={"kernel.cmdline": "quiet skew_tick=1" if late else "quiet"},
        )  # fmt: skip
    served.settled()


def test_the_overview_says_what_got_worse_and_what_differs(served: Served, copied: Copied) -> None:
    stepped(copied, served)
    shown = page(served, "/")
    assert "1 of 1 target got worse in 30 days: sim." in shown.text
    assert "kernel command line: + skew_tick=1" in shown.text
    assert {"#word-missed", "#word-max", "#word-p999"} <= {*shown.links}
    assert "Activations of a periodic task that never took place" in shown.text
    assert "+50%" in shown.text
    assert (
        "/p/main/compare?run=sim-a-3,sim-a-2,sim-a-1,sim-a-0&run=sim-a-4,sim-a-5,sim-a-6,sim-a-7"
        in shown.links
    )
    response = served.client.get("/p/main/overview.json")
    document = msgspec.json.decode(response.content, type=Overview)
    assert (document.runs, document.pending) == (8, 0)
    assert {entry.series.bench for entry in document.worse} == {
        "sched.yield", "sem.post.higher", "dk.periodic",
    }  # fmt: skip
    assert {entry.at_run for entry in document.worse} == {"sim-a-4"}
    assert document.worse_total == len(document.worse) == document.targets[0].worse
    for entry in document.worse:
        assert entry.after == pytest.approx(1.5 * (entry.before or 0.0))
    for link in {entry for entry in shown.links if entry.startswith("/p/")}:
        if not link.endswith(".atom"):
            page(served, link)


def test_what_got_better_or_long_ago_is_not_told_as_worse(served: Served, copied: Copied) -> None:
    for n in range(6):
        copied(f"a-{n}", day=NOW - 50 + n, scale=1.0 if n < 3 else 1.5)
    for n in range(6):
        copied(f"b-{n}", day=NOW - 6 + n, scale=1.5 if n < 3 else 1.0)
    served.settled()
    shown = page(served, "/p/main/")
    assert "Nothing got worse in 30 days, on 1 target." in shown.text
    document = msgspec.json.decode(
        served.client.get("/p/main/overview.json").content, type=Overview
    )
    assert document.worse == []


def test_a_target_that_is_late_is_silent(served: Served, copied: Copied) -> None:
    for n in range(5):
        copied(f"a-{n}", day=NOW - 20 + n)
    served.settled()
    shown = page(served, "/p/main/")
    assert "1 target has not reported, for up to 16 days" in shown.text
    document = msgspec.json.decode(
        served.client.get("/p/main/overview.json").content, type=Overview
    )
    assert document.targets[0].silent_s == pytest.approx(16 * DAY, rel=0.01)
    copied("a-9", day=NOW - 0.1)
    served.settled()
    assert "not reported" not in page(served, "/p/main/").text


def changed(
    edit: Callable[[Result], list[Result]], machine: str | None = None
) -> Callable[[Run], Run]:
    """Return what gives a run other results: those that ``edit`` returns for each.

    ``machine``: the name of one that it is then of, instead of a model.
    """

    def change(run: Run) -> Run:
        plain = [structs.replace(result, corrected=None) for result in run.results]
        run = structs.replace(run, results=[new for result in plain for new in edit(result)])
        if not machine:
            return run
        target = structs.replace(run.target, name="ssh:board", called=machine, detail={})
        return structs.replace(run, target=target, conditions={})

    return change


def under_load(missed: int) -> Callable[[Result], list[Result]]:
    """Return an edit that adds wake-ups under a load, twice as late, so many of them missed."""

    def edit(result: Result) -> list[Result]:
        if result.bench != "dk.periodic":
            return [result]
        late = structs.replace(
            scaled(result, 2.0), load="heavy", case=result.case + 10, missed=missed
        )
        return [result, late]

    return edit


def overview(served: Served) -> Overview:
    answer = served.client.get("/p/main/overview.json")
    return msgspec.json.decode(answer.content, type=Overview)


def test_a_targets_number_is_of_its_wake_up_under_its_worst_load(
    served: Served, copied: Copied
) -> None:
    for n in range(6):
        day = NOW - 40 + 7 * n
        copied(f"a-{n}", day=day, scale=1.0 + n, edit=changed(under_load(3)))
    served.settled()
    (target,) = overview(served).targets
    main = target.main
    assert main
    assert (main.series.bench, main.series.load, main.missed) == ("dk.periodic", "heavy", 3)
    assert (main.run_id, main.metric) == ("a-5", "max")  # too few samples for a p99.9
    values = []
    for n in range(6):
        run = served.client.get(f"/p/main/runs/a-{n}/run.json").json()
        values += [r["max"] for r in run["results"] if r["load"] == "heavy"]
    assert main.max == values[-1]
    days = [NOW - 40 + 7 * n for n in range(6)]
    month = [value for value, day in zip(values, days, strict=True) if day >= NOW - 30]
    assert [value for _, value in main.recent] == month
    shown = page(served, "/p/main/")
    assert "dk.periodic, load heavy" in shown.text
    assert re.search(r"max of the last 30 days: .* to .*, 4 runs", shown.text)
    assert "svg" in shown.names


def local(host: str, machine: str | None = None, **facts: Value) -> Callable[[Run], Run]:
    """Return what makes a run one of the local target of a host."""

    def change(run: Run) -> Run:
        run = changed(under_load(3 if host == "lossy" else 0), machine=host)(run)
        target = structs.replace(run.target, name="local", called=None,
                                 detail={"machine": machine} if machine else {})  # fmt: skip
        return structs.replace(run, target=target, conditions={"machine.host": host, **facts})

    return change


def test_local_targets_are_those_of_their_machines(served: Served, copied: Copied) -> None:
    machines = [("pi", "aaaa0001", 1.0), ("pi", "bbbb0002", 7.0), ("lossy", None, 3.0)]
    for n in range(4):
        for host, machine, scale in machines:
            release: dict[str, Value] = {"kernel.release": f"6.{n}"}
            copied(f"{host}-{machine}-{n}", day=NOW - 4 + n, scale=scale,
                   edit=local(host, machine, **release))  # fmt: skip
    served.settled()
    states = {target.name: target for target in overview(served).targets}
    assert set(states) == {"pi: local (aaaa)", "pi: local (bbbb)", "lossy: local"}
    assert {target.runs for target in states.values()} == {4}
    mains = {name: state.main for name, state in states.items()}
    assert {name: main.run_id for name, main in mains.items() if main} == {
        "pi: local (aaaa)": "pi-aaaa0001-3", "pi: local (bbbb)": "pi-bbbb0002-3",
        "lossy: local": "lossy-None-3",
    }  # fmt: skip
    assert all(state.judged == state.last for state in states.values())
    slow, fast = mains["pi: local (bbbb)"], mains["pi: local (aaaa)"]
    assert slow and fast
    assert (slow.max or 0.0) == pytest.approx(7 * (fast.max or 0.0))
    for name, state in states.items():
        assert state.main
        listed = page(served, f"/p/main/series?target={quote(name)}")
        assert f"/p/main/series/{state.main.series.key}" in listed.links


def test_a_row_is_of_one_machine_where_several_have_one_name(
    served: Served, copied: Copied
) -> None:
    """As of two people who call their boards the same."""

    def named(machine: str, missed: int) -> Callable[[Run], Run]:
        def change(run: Run) -> Run:
            run = changed(under_load(missed), machine="board")(run)
            target = structs.replace(run.target, detail={"machine": machine})
            return structs.replace(run, target=target)

        return change

    for n in range(4):
        copied(f"lossy-{n}", day=NOW - 4 + n, edit=named("m1", 9))
        copied(f"fit-{n}", day=NOW - 3.9 + n, edit=named("m2", 0))
    served.settled()
    (board,) = overview(served).targets
    assert board.main
    assert (board.main.run_id, board.main.missed, board.judged.run_id) == ("fit-3", 0, "fit-3")
    assert {run[:10] for run, _ in board.main.recent} == {
        page_of[:10] for page_of in (
            served.client.get(f"/p/main/runs/fit-{n}/run.json").json()["created"] for n in range(4)
        )
    }  # fmt: skip


def test_an_address_of_before_targets_were_named_by_their_machine_leads_to_the_series(
    served: Served, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = msgspec.json.decode((copied("a", edit=local("pi", "m1")) / RUN).read_bytes(), type=Run)
    with monkeypatch.context() as patch:
        patch.setattr(trends, "_placed", lambda run: run.target.name)
        (line,) = (
            line for line in trends.lines(list(observed(run)))
            if (line.key.case.bench, line.key.case.load) == ("dk.periodic", "heavy")
        )  # fmt: skip
        before = series_row(line)
    assert before["target"] == "local"
    served.settled()
    answer = served.client.get(f"/p/main/series/{before['key']}.json")
    head = msgspec.json.decode(answer.content, type=SeriesView).series
    assert (head.target, head.load) == ("pi: local (m1)", "heavy")
    assert head.key != before["key"]
    badge = served.client.get(f"/p/main/badge/{before['key']}.svg")
    assert badge.status_code == 200


def test_the_verdict_is_of_the_run_with_the_number_unless_the_latest_is_worse(
    served: Served, copied: Copied
) -> None:
    def without_wake_ups(run: Run) -> Run:
        return changed(lambda r: [r] if r.bench == "sched.yield" else [], machine="board")(run)

    copied("a-0", day=NOW - 3, edit=changed(under_load(3), machine="board"))
    copied("a-1", day=NOW - 2, edit=without_wake_ups)
    served.settled()
    (target,) = overview(served).targets
    assert target.main
    assert (target.last.run_id, target.last.grade) == ("a-1", "info")
    assert target.main.run_id == target.judged.run_id == "a-0"
    text = page(served, "/p/main/").text
    assert "Nothing to judge" not in text
    assert f"{target.judged.verdict[:20]}" in text
    assert "no valid result" not in text
    copied("a-2", day=NOW - 1, edit=changed(under_load(30), machine="board"))
    served.settled()
    assert overview(served).targets[0].judged.run_id == "a-2"
    copied("a-3", day=NOW - 0.5, edit=changed(lambda _: [], machine="board"))
    copied("b-0", day=NOW - 2, edit=changed(under_load(1), machine="a-better-one"))
    served.settled()
    board, _ = overview(served).targets  # that does not answer any more is worst
    assert (board.name, board.judged.run_id, board.last.run_id) == ("board", "a-2", "a-3")
    shown = page(served, "/p/main/")
    assert "The latest run has no valid result:" in shown.text
    assert "/p/main/runs/a-3" in shown.links


def test_of_too_few_runs_nothing_is_said_to_be_no_worse(served: Served, copied: Copied) -> None:
    for n in range(3):
        copied(f"a-{n}", day=NOW - 0.9 + n / 100, edit=changed(under_load(0), machine="board"))
    served.settled()
    (board,) = overview(served).targets
    assert (board.analysed, board.lacking) == (3, True)
    assert (board.needed or 0) > 3
    shown = page(served, "/p/main/")
    assert "Too few runs to say whether anything got worse, on 1 target." in shown.text
    assert "Nothing got worse" not in shown.text
    assert f"board: 3 runs of a case, of {board.needed} that it takes" in shown.text
    assert f"too few runs: 3 of {board.needed}" in shown.text
    assert "last 30 days Not known yet: too few runs." in " ".join(shown.text.split())
    assert f"too few runs: 3 of {board.needed}" in page(served, "/p/main/series?target=board").text
    assert board.main
    key = board.main.series.key
    assert (
        f"Too few runs to find a change: 3; it takes {board.needed}."
        in page(served, f"/p/main/series/{key}").text
    )
    for address in ("", f"series/{key}"):
        assert "answer-box grade-good" not in served.client.get(f"/p/main/{address}").text
    copied("m-0", day=NOW - 2)
    copied("m-1", day=NOW - 1)
    served.settled()
    text = page(served, "/p/main/").text
    assert "Nothing got worse in 30 days, on 1 of 2 targets; too few runs to say of 1." in text
    assert "None on 1 of 2 targets; too few runs of the others." in text
    for n in range(3, board.needed or 0):
        copied(f"a-{n}", day=NOW - 0.9 + n / 100, edit=changed(under_load(0), machine="board"))
    served.settled()
    text = page(served, "/p/main/").text
    assert "Nothing got worse in 30 days, on 2 targets." in text
    assert "last 30 days None." in " ".join(text.split())
    assert "answer-box grade-good" in served.client.get("/p/main/").text
    assert f"{(board.needed or 0) + 2} runs" in page(served, "/p/main/").text


def test_one_is_no_plural(served: Served, copied: Copied) -> None:
    copied("a", day=NOW - 1, edit=changed(under_load(0), machine="board"))
    served.settled()
    (board,) = overview(served).targets
    assert board.main
    for address in ("", "latencies", f"series/{board.main.series.key}", "series?target=board"):
        assert not re.search(
            r"\b1 (runs|targets|results)\b", page(served, f"/p/main/{address}").text
        )


def test_silent_targets_stand_first_and_then_the_worst(served: Served, copied: Copied) -> None:
    lost = {"a-fine": 0, "lossy": 2, "x-lossier": 9, "y-gone": 0, "z-gone-for-longer": 0}
    for name, missed in lost.items():
        for n in range(4):
            away = 30 if "longer" in name else 20 if "gone" in name else 0
            edit = changed(under_load(missed), machine=name)
            copied(f"{name}-{n}", day=NOW - 4 + n - away, edit=edit)
    served.settled()
    names = [target.name for target in overview(served).targets]
    assert names == ["z-gone-for-longer", "y-gone", "x-lossier", "lossy", "a-fine"]
    text = page(served, "/p/main/").text
    places = [text.index(f"{name} dk.periodic") for name in names]
    assert places == sorted(places)


def test_a_target_without_samples_has_no_number(served: Served, copied: Copied) -> None:
    copied("a", day=NOW - 1, edit=changed(lambda _: []))
    served.settled()
    assert overview(served).targets[0].main is None
    assert "no valid result with samples" in page(served, "/p/main/").text


def test_what_got_worse_by_more_stands_before_it(served: Served, copied: Copied) -> None:
    factors = {"dk.periodic": 1.5, "sem.post.higher": 3.0}
    for n in range(12):
        late = n >= 6

        def edit(result: Result, late: bool = late) -> list[Result]:
            # One got worse and then better again, before the others got worse.
            early = 2.0 if result.bench == "sched.yield" and not late else 1.0
            return [scaled(result, factors.get(result.bench, 1.0) if late else early)]

        copied(f"a-{n:02}", day=NOW - 12 + n, edit=changed(edit))
    served.settled()
    answer = served.client.get("/p/main/series.json", params={"target": "sim"})
    listing = msgspec.json.decode(answer.content, type=SeriesList)
    benches = [head.bench for head in listing.series]
    assert benches == ["sem.post.higher", "dk.periodic", "sched.yield"]
    assert {head.bench for head in listing.series if head.key in listing.worse} == set(factors)
    text = page(served, "/p/main/series?target=sim").text
    assert "+50%" in text
    assert "3 times" in text or "+200%" in text


def test_all_targets_are_in_one_plot(served: Served, copied: Copied) -> None:
    for name in ("b", "c"):
        for n in range(2):
            copied(f"{name}-{n}", day=NOW - 2 + n, edit=changed(under_load(n), machine=name))
    served.settled()
    answer = served.client.get("/p/main/latencies.json")
    listing = msgspec.json.decode(answer.content, type=Latencies)
    assert {each.target for each in listing.targets} == {"b", "c"}
    for each in listing.targets:
        run = served.client.get(f"/p/main/runs/{each.target}-1/run.json").json()
        (under,) = [r for r in run["results"] if r["load"] == "heavy"]
        (result,) = each.results
        assert [list(pair) for pair in result.histogram] == under["histogram"]
    shown = page(served, "/p/main/latencies")
    assert "figure" in shown.names
    assert "2 of 2 targets, each with its main case" in shown.text


def test_a_target_alone_is_in_no_plot(served: Served, copied: Copied) -> None:
    assert "No target has a valid result" in page(served, "/p/main/latencies").text
    copied("a", day=NOW - 1)
    served.settled()
    shown = page(served, "/p/main/latencies")
    assert "figure" not in shown.names
    assert "1 of 1 target" in shown.text


def test_an_empty_project_stands_last_and_says_how_to_push(served: Served, copied: Copied) -> None:
    copied("a", project="tests", day=NOW - 1)
    page(served, "/p/main/")
    served.settled()
    answer = served.client.get("/projects.json")
    names = [each.name for each in msgspec.json.decode(answer.content, type=Projects).projects]
    assert names == ["tests", "main"]
    text = page(served, "/p/main/").text
    where = f"--store {served.places.store}"
    assert f"rtstone token new ci --project main --scope push {where}" in text
    assert "Changes for the worse" not in text
    assert f"RTSTONE_TOKEN=rts_... rtstone push {served.url}/p/main last" in text


def test_the_address_of_a_server_shows_the_only_project_with_runs(
    served: Served, copied: Copied
) -> None:
    copied("a", project="demo", day=NOW - 1)
    page(served, "/p/main/")
    served.settled()
    assert served.client.get("/").headers["Location"] == "/p/demo/"
    listed = page(served, "/projects").links
    assert {"/p/demo/", "/p/main/"} <= {*listed}
    assert "/projects" in page(served, "/p/demo/").links
    text = page(served, "/p/demo/").text
    assert "max of the last 30 days" not in text  # a single run has no range
    assert "1 run" in text


def test_where_the_store_is_only_readers_on_its_machine_see(places: Places) -> None:
    with serving(Settings(places.store, port=0, url="http://rt.example.org")) as served:
        port = served.app.state.settings.port
        text = served.client.get(f"http://127.0.0.1:{port}/p/main/").text
    assert "rtstone token new ci --project main --scope push" in text
    assert str(places.store) not in text


def test_a_sparkline_has_time_across_and_the_logarithm_up() -> None:
    def places(path: str) -> list[tuple[float, float]]:
        pairs = [pair.split() for pair in path.removeprefix("M").split("L")]
        return [(float(x), float(y)) for x, y in pairs]

    assert curve([], 0, 10) == curve([(1, 5.0)], 0, 10) == ""
    (left, low), (middle, between), (right, top) = places(
        curve([(0, 1.0), (2.5, 10.0), (10, 100.0)], 0, 10)
    )
    assert (left, right) == (2, 118)
    assert middle == pytest.approx(2 + 116 / 4)
    assert (low, between, top) == (22, 12, 2)  # down is more
    flat = places(curve([(0, 100.0), (10, 100.5)], 0, 10))
    assert all(abs(y - 12) < 1 for _, y in flat)
    assert [y for _, y in places(curve([(0, 0.0), (5, -3.0), (10, 8.0)], 0, 10))] == [12, 12, 12]


def test_a_series_shows_its_change_its_levels_and_its_runs(served: Served, copied: Copied) -> None:
    stepped(copied, served)
    listed = served.client.get("/p/main/series.json", params={"target": "sim"})
    listing = msgspec.json.decode(listed.content, type=SeriesList)
    assert len(listing.series) == 3
    assert all(listing.changes[entry.key] for entry in listing.series)
    head = next(entry for entry in listing.series if entry.bench == "dk.periodic")
    shown = page(served, f"/p/main/series/{head.key}")
    assert "worse since" in shown.text
    assert "+50%" in shown.text
    assert "skew_tick=1" in shown.text
    view = msgspec.json.decode(
        served.client.get(f"/p/main/series/{head.key}.json").content, type=SeriesView
    )
    assert [entry.run_id for entry in view.points] == [f"sim-a-{n}" for n in range(8)]
    assert view.of == 8
    change = next(entry for entry in view.trends if entry.metric == "p50").changes[0]
    assert (change.at, change.after) == (4, "sim-a-4")
    page(served, "/p/main/series/0123456789abcdef", 404)
    page(served, "/p/main/series", 400)


def test_changes_that_are_no_longer_analysed_stay(
    served: Served, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped(copied, served, runs=6)
    monkeypatch.setattr("rtstone.server.analysis.WINDOW", 4)
    for n in range(4):
        copied(f"later-{n}", day=NOW + n / 10, scale=1.5)
        served.settled()
    listed = served.client.get("/p/main/series.json", params={"target": "sim"})
    key = msgspec.json.decode(listed.content, type=SeriesList).series[0].key
    shown = page(served, f"/p/main/series/{key}")
    assert "Earlier changes" in shown.text
    assert "No change found in the newest 4 runs." in shown.text


def test_a_run_is_the_report_of_it(served: Served, copied: Copied) -> None:
    path = copied("20261101-a", day=NOW - 1)
    served.settled()
    shown = page(served, "/p/main/runs/20261101-a")
    assert "Fit for a period of 1 ms, in the model" in shown.text
    assert "sem.post.higher" in shown.text
    document = served.client.get("/p/main/runs/20261101-a.json").json()
    assert document["run_id"] == "20261101-a"
    for name in ("plan.json", "run.json", "wire.log"):
        assert (
            served.client.get(f"/p/main/runs/20261101-a/{name}").content
            == (path / name).read_bytes()
        )
    for name in ("wire-2.log", "secret", "..%2f..%2fserver.db", "%2e%2e"):
        assert served.client.get(f"/p/main/runs/20261101-a/{name}").status_code == 404
    page(served, "/p/main/runs/20261101-b", 404)
    page(served, "/p/main/runs/..%2f20261101-a", 404)


def test_a_page_is_made_anew_when_the_run_has_another_content(
    served: Served, copied: Copied
) -> None:
    path = copied("20261101-a", day=NOW - 1)
    served.settled()
    assert "another name" not in page(served, "/p/main/runs/20261101-a").text
    run = json.loads((path / "run.json").read_bytes())
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    served.settled()
    copied("20261101-a", day=NOW - 2, name="another name")
    served.settled()
    assert run["run_id"] == "20261101-a"
    assert "another name" in page(served, "/p/main/runs/20261101-a").text


def test_runs_are_compared(served: Served, copied: Copied) -> None:
    for n in range(4):
        copied(f"a-{n}", day=NOW - 4 + n, scale=1.0 + 0.5 * (n // 2))
    served.settled()
    shown = page(served, "/p/main/compare?run=a-0&run=a-2")
    assert "a-0" in shown.text
    assert "a-2" in shown.text
    grouped = served.client.get("/p/main/compare.json?run=a-0,a-1&run=a-2,a-3").json()
    assert len(grouped["columns"]) == 2
    page(served, "/p/main/compare?run=a-0", 400)
    page(served, "/p/main/compare?" + "&".join(9 * ["run=a-0"]), 400)
    page(served, "/p/main/compare?run=a-0&run=a-9", 404)


def test_a_comparison_says_that_activations_were_lost(
    served: Served, copied: Copied, places: Places
) -> None:
    """The two systems differ in nothing else."""
    for place, results in enumerate([*map(quiet, range(3)), *map(lossy, range(3))]):
        path = copied(results.run_id, day=NOW - 6 + place, target="board")
        document = path / "run.json"
        stored = msgspec.json.decode(document.read_bytes(), type=Run)
        machine = structs.replace(stored.target, name="ssh:board", detail={})
        run = structs.replace(
            stored, results=results.results, clock=results.clock, target=machine, conditions={}
        )
        document.write_bytes(msgspec.json.encode(run))
    served.settled()
    names = "run=quiet-0,quiet-1,quiet-2&run=lossy-0,lossy-1,lossy-2"
    shown = page(served, f"/p/main/compare?{names}")
    assert "missed 31% of its activations" in " ".join(shown.text.split())
    comparison = served.client.get(f"/p/main/compare.json?{names}").json()
    (effect,) = [e for row in comparison["rows"] for e in row["effects"] if e["part"] == "missed"]
    assert (effect["verdict"], effect["basis"]) == ("worse", "runs")


# ---- search -------------------------------------------------------------------------------------


def search(served: Served, **wanted: str) -> list[str]:
    response = served.client.get("/p/main/search.json", params=wanted)
    return [run.run_id for run in msgspec.json.decode(response.content, type=Search).runs]


def test_runs_are_found_by_each_of_their_tags(served: Served, copied: Copied) -> None:
    copied("a", day=NOW - 3, conditions={"kernel.release": "6.1.0-rt"}, name="tuned")
    copied("b", day=NOW - 2, conditions={"kernel.release": "6.12.1"})
    copied("c", day=NOW - 1, target="board")
    served.settled()
    assert search(served) == ["c", "b", "a"]
    assert search(served, kernel="6.1") == ["b", "a"]
    assert search(served, kernel="6.1.") == ["a"]
    assert search(served, kernel="6.12.1") == ["b"]
    assert search(served, label="tun") == ["a"]
    assert search(served, target="board") == ["c"]
    assert search(served, bench="dk.periodic", load="none", kernel="6.1.0") == ["a"]
    assert search(served, bench="dk") == []
    assert search(served, bench="dk.periodic", label="other") == []
    shown = page(served, "/p/main/search?kernel=6.1")
    assert "6.12.1" in shown.text
    assert "No run matches" in page(served, "/p/main/search?kernel=7").text


def test_pages_of_search_go_through_all_runs_once(
    served: Served, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE", 3)
    for n in range(8):
        copied(f"r-{n}", day=NOW - 8 + n // 2)  # pairs that began at the same time
    served.settled()
    seen: list[str] = []
    address: str | None = "/p/main/search?load=none"
    for _ in range(3):
        assert address
        shown = page(served, address)
        seen += [link.rpartition("/")[2] for link in shown.links if "/runs/r-" in link]
        address = next((link for link in shown.links if "after=" in link), None)
    assert address is None
    assert len(seen) == 8
    assert set(seen) == {f"r-{n}" for n in range(8)}
    assert served.client.get("/p/main/search?after=x").status_code == 400


# ---- campaigns ----------------------------------------------------------------------------------


def test_a_campaign_is_a_matrix_of_what_is_there_and_what_is_told(
    served: Served, copied: Copied
) -> None:
    keys = [f"{n:016x}" for n in range(3)]
    for key in keys[:2]:
        copied(f"night.{key}", day=NOW - 1)
    served.settled()
    assert "unknown" in page(served, "/p/main/campaigns").text
    shown = page(served, "/p/main/campaigns/night")
    assert "2 of 2" in shown.text
    cell = {"target": "sim", "measure": "quick", "jobs": {"done": 3, "planned": 1},
            "runs": [f"night.{key}" for key in keys]}  # fmt: skip
    state = {"name": "night", "title": "Every night", "jobs": {"done": 3, "planned": 1},
             "cells": [cell]}  # fmt: skip
    sent = served.client.put(
        "/api/v1/p/main/campaigns/night", json=state, headers=served.bearer("push")
    )
    assert sent.status_code < 300, sent.text
    shown = page(served, "/p/main/campaigns/night")
    assert "2 of 4" in shown.text
    response = served.client.get("/p/main/campaigns/night.json")
    document = msgspec.json.decode(response.content, type=CampaignState)
    assert document.jobs == Counts(done=2, planned=1, running=1)  # a run that is still on its way
    assert "Every night" in page(served, "/p/main/campaigns").text
    page(served, "/p/main/campaigns/day", 404)


# ---- safety -------------------------------------------------------------------------------------


def test_nothing_of_a_run_becomes_markup(served: Served, copied: Copied) -> None:
    for n in range(6):
        copied(
            f"a-{n}", day=NOW - 6 + n, scale=1.0 + (n > 2), target=EVIL, name=EVIL, suite=EVIL,
            status="incomplete", reason=EVIL, notes=[EVIL],
            conditions={"kernel.release": f"{EVIL}{n > 2}", "kernel.cmdline": f"{EVIL} {n > 2}"},
        )  # fmt: skip
    served.settled()
    first = page(served, "/p/main/")
    addresses = {link for link in first.links if link.startswith("/p/main/series")}
    addresses |= {"/p/main/", "/p/main/search", "/p/main/runs/a-5", "/p/main/campaigns"}
    addresses |= {"/p/main/compare?run=a-0&run=a-5", f"/p/main/search?label={EVIL[:5]}"}
    assert len(addresses) > 6
    for address in addresses:
        shown = page(served, address)
        assert "img" not in shown.names, address
        assert shown.handlers == [], address
        assert "1787569" not in shown.text, address
    for status, address in ((404, f"/p/main/runs/{EVIL[:4]}"), (404, "/p/<script>/"),
                            (404, "/p/main/series/<script>")):  # fmt: skip
        answer = served.client.get(address)
        assert answer.status_code in (status, 400)
        plain = answer.headers["Content-Type"].startswith("text/plain")
        assert plain or "<script>" not in answer.text


def test_projects_are_listed_and_apart(served: Served, copied: Copied) -> None:
    copied("a", day=NOW - 1)
    copied("b", day=NOW - 1, project="lab")
    served.settled()
    listing = msgspec.json.decode(served.client.get("/projects.json").content, type=Projects)
    assert [(project.name, project.runs) for project in listing.projects] == [
        ("main", 1),
        ("lab", 1),
    ]
    assert "/p/lab/" in page(served, "/").links
    assert search(served) == ["a"]
    page(served, "/p/lab/runs/a", 404)
    page(served, "/p/nothing/", 404)


def test_a_token_that_reads_one_project_sees_no_other(places: Places, copied: Copied) -> None:
    copied("a", day=NOW - 1)
    copied("b", day=NOW - 1, project="lab")
    with serving(Settings(places.store, port=0, reading="token")) as served:
        served.settled()
        headers = served.bearer("read", "lab")
        assert served.client.get("/").status_code == 401
        assert served.client.get("/p/lab/", headers=headers).status_code == 200
        assert served.client.get("/p/main/", headers=headers).status_code == 403
        assert (
            served.client.get("/projects.json", headers=headers).json()["projects"][0]["name"]
            == "lab"
        )
        assert served.client.get("/static/x.js").status_code == 404


def test_projects_have_pages_before_their_runs_are_read(
    places: Places, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new server of a store of 100 000 runs reads them for minutes."""
    copied("a")
    copied("b", project="lab")
    monkeypatch.setattr(Background, "_run", lambda _: None)
    with serving(Settings(places.store, port=0)) as served:
        for project, status in (("main", 200), ("lab", 200), ("none", 404)):
            assert served.client.get(f"/p/{project}/").status_code == status


def test_script_and_style_are_kept_for_ever_and_the_policy_is_strict(served: Served) -> None:
    answer = served.client.get("/p/main/")
    names = re.findall(r'"(/static/[^"]+)"', answer.text)
    assert len(names) == 2
    for name in names:
        response = served.client.get(name)
        assert response.status_code == 200
        assert "immutable" in response.headers["Cache-Control"]
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert (
        re.findall(r"<script(?![^>]* (src|type=\"application/octet-stream\"))", answer.text) == []
    )
    assert "<style" not in answer.text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "3 seconds"), (0.2, "1 second"), (89, "89 seconds"), (100, "2 minutes"),
     (3600, "60 minutes"), (5400, "2 hours"), (86400, "24 hours"), (200_000, "2 days")],
)  # fmt: skip
def test_a_gap_is_named_in_the_unit_that_it_has(seconds: float, words: str) -> None:
    """A target whose runs came every three seconds was said to report every hour."""
    assert span(seconds) == words
