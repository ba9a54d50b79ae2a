"""What programs read: feed, badges, metrics, webhooks; each against planted changes."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from time import time
from xml.etree import ElementTree as Xml

import msgspec
import pytest
import sqlalchemy as sql
from msgspec import structs

from rtstone.documents.run import Distribution, Result, Run
from rtstone.results.pool import percentiles
from rtstone.server import answers
from rtstone.server.analysis import analyse_next
from rtstone.server.answers import metrics, webhooks
from rtstone.server.answers.badge import _GREEN
from rtstone.server.database import Database
from rtstone.server.pages import queries
from rtstone.server.projects import Places
from rtstone.server.reconcile import reconcile
from rtstone.server.schema import changes, deliveries
from rtstone.server.settings import Settings
from rtstone.server.settings_file import Webhook
from rtstone.store.layout import RUN
from tests.server.conftest import BEGUN, DAY, Copied, counts
from tests.server.serving import Served, serving

NOW = (time() - BEGUN) / DAY
ATOM = "{http://www.w3.org/2005/Atom}"
EVIL = "<b>\"\\{}'&"


@pytest.fixture
def served(places: Places, database_url: str | None) -> Iterator[Served]:
    settings = Settings(places.store, port=0, database=database_url)
    with serving(settings) as server:
        yield server


def stepped(copied: Copied, served: Served, target: str | None = None) -> None:
    for n in range(8):
        late = n >= 5
        copied(
            f"r-{n}", day=NOW - 8 + n, scale=1.5 if late else 1.0, target=target,
            conditions={"kernel.cmdline": "quiet skew_tick=1" if late else "quiet"},
        )  # fmt: skip
    served.settled()


def key(served: Served, bench: str = "dk.periodic") -> str:
    listed = served.client.get("/p/main/overview.json").json()["worse"]
    name: str = next(
        change["series"]["key"] for change in listed if change["series"]["bench"] == bench
    )
    return name


# ---- feed ---------------------------------------------------------------------------------------


def test_the_feed_has_an_entry_for_each_event_that_stays_the_same(
    served: Served, copied: Copied
) -> None:
    empty = Xml.fromstring(served.client.get("/p/main/feed.atom").content)
    assert empty.findall(f"{ATOM}entry") == []
    stepped(copied, served)
    answer = served.client.get("/p/main/feed.atom")
    assert answer.headers["Content-Type"].startswith("application/atom+xml")
    top = Xml.fromstring(answer.content)
    (entry,) = top.findall(f"{ATOM}entry")
    texts = {name: entry.findtext(f"{ATOM}{name}") or "" for name in ("id", "title", "content")}
    assert re.match(r"sim got worse: .* \(\+50%\) and \d+ more", texts["title"])
    assert "skew_tick=1" in texts["content"]
    assert texts["id"].startswith("urn:uuid:")
    link = entry.find(f"{ATOM}link")
    assert link is not None
    assert "run=r-4&run=r-5" in link.attrib["href"]
    assert served.client.get(link.attrib["href"]).status_code == 200
    same = served.client.get("/p/main/feed.atom", headers={"If-None-Match": answer.headers["ETag"]})
    assert same.status_code == 304
    copied("r-9", day=NOW, scale=1.5)
    served.settled()
    again = Xml.fromstring(served.client.get("/p/main/feed.atom").content)
    assert again.findtext(f"{ATOM}entry/{ATOM}id") == texts["id"]


def lossy(path: Path) -> None:
    """Make a run one whose periodic task loses three activations of five to stalls of 1 s."""
    file = path / RUN
    run = msgspec.json.decode(file.read_bytes(), type=Run)
    results = [
        _lossy(result) if result.bench == "dk.periodic" else result for result in run.results
    ]
    file.unlink()
    file.write_bytes(msgspec.json.encode(structs.replace(run, results=results)))


def _lossy(result: Result) -> Result:
    lost = result.n * 3 // 2
    histogram = [*result.histogram, (5e8, lost)]
    statistics = {name: getattr(result, name) for name in Distribution.__struct_fields__}
    statistics |= {
        "n": result.n + lost,
        "histogram": histogram,
        "max": 1e9,
        "mean": None,
        "sd": None,
    }
    statistics |= percentiles(histogram, result.n + lost, 0)
    return structs.replace(result, missed=lost, corrected=Distribution(**statistics))


def test_lost_activations_are_told_by_page_feed_badge_and_json(
    served: Served, copied: Copied
) -> None:
    """No sample is later than before: only what was lost differs."""
    for n in range(8):
        path = copied(f"r-{n}", day=NOW - 8 + n)
        if n >= 5:
            lossy(path)
    served.settled()
    worse = served.client.get("/p/main/overview.json").json()["worse"]
    assert {entry["metric"] for entry in worse} == {"missed", "p50"}
    assert {entry["series"]["bench"] for entry in worse} == {"dk.periodic"}
    feed = served.client.get("/p/main/feed.atom").text
    assert "missed" in feed
    page = served.client.get(f"/p/main/series/{key(served)}").text
    assert "missed worse since" in page
    assert "p50, corrected worse since" in page
    view = served.client.get(f"/p/main/series/{key(served)}.json").json()
    change = next(entry for entry in view["trends"] if entry["metric"] == "missed")["changes"][0]
    assert (change["after"], change["effect"]["verdict"]) == ("r-5", "worse")
    assert [entry["p50"] == 5e8 for entry in view["points"]] == [False] * 5 + [True] * 3
    badge = served.client.get(f"/p/main/badge/{key(served)}.svg?metric=missed").text
    assert "worse since" in badge


def test_a_badge_is_green_only_where_a_change_could_be_found(
    served: Served, copied: Copied
) -> None:
    copied("r-0", day=NOW - 2)
    served.settled()
    (target,) = served.client.get("/p/main/overview.json").json()["targets"]
    address = f"/p/main/badge/{target['main']['series']['key']}.svg"
    assert _GREEN not in served.client.get(address).text
    copied("r-1", day=NOW - 1)
    served.settled()
    assert _GREEN in served.client.get(address).text
    assert _GREEN not in served.client.get(f"{address}?metric=max").text  # is not followed


def test_names_are_no_markup_in_feed_and_badge(served: Served, copied: Copied) -> None:
    for n in range(8):
        copied(f"r-{n}", day=NOW - 8 + n, scale=1.0 + (n > 4), conditions={
            "kernel.cmdline": f"{EVIL}{n > 4}"})  # fmt: skip
    served.settled()
    top = Xml.fromstring(served.client.get("/p/main/feed.atom").content)
    content = top.findtext(f"{ATOM}entry/{ATOM}content") or ""
    assert "<b>" in content
    badge = served.client.get(f"/p/main/badge/{key(served)}.svg")
    assert "img" not in {element.tag for element in Xml.fromstring(badge.content).iter()}


LONG = "x" * 300_000
HOSTILE = [
    "]]>&amp;<b>\x00\x1b[2J\x7f",
    "\u202egnol\u202c\u200f",
    "\ud800",
    "\ufffe\uffff",
    LONG,
    "e\u0301" * 999,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_leave_feed_and_badge_sound_and_short(
    places: Places, copied: Copied, text: str
) -> None:
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    with serving(Settings(places.store, port=0)) as served:
        for n in range(8):
            path = copied(f"r-{n}", day=NOW - 8 + n, target=text, scale=1.0 + (n > 4),
                          conditions={"kernel.cmdline": f"{text}{n > 4}", text: n > 4})  # fmt: skip
            named(path, text)
        served.settled()
        worse = served.client.get("/p/main/overview.json").json()["worse"]
        assert worse
        for change in worse[:3]:
            badge = served.client.get(f"/p/main/badge/{change['series']['key']}.svg").content
            assert int(Xml.fromstring(badge).attrib["width"]) < 2000
            assert len(badge) < 8000
        feed = served.client.get("/p/main/feed.atom").content
        assert len(Xml.fromstring(feed).findall(f"{ATOM}entry")) == 1
        assert len(feed) < 20_000
        assert not set(feed.decode()) & set("\x00\x1b\x7f\u202e\u200f\ufffe\uffff")


def named(path: Path, text: str) -> None:
    """Give the series of a run a name, and its cases a parameter."""
    file = path / RUN
    run = msgspec.json.decode(file.read_bytes(), type=Run)
    results = [structs.replace(result, load=text, params={**result.params, "note": text})
               for result in run.results]  # fmt: skip
    file.unlink()
    file.write_bytes(msgspec.json.encode(structs.replace(run, results=results)))


# ---- badge --------------------------------------------------------------------------------------


def test_a_badge_says_the_latest_value_and_that_it_got_worse(
    served: Served, copied: Copied
) -> None:
    stepped(copied, served)
    address = f"/p/main/badge/{key(served)}.svg"
    title = Xml.fromstring(served.client.get(address).content)[0].text or ""
    latest = served.client.get(f"/p/main/series/{key(served)}.json").json()["points"][-1]["p50"]
    assert title.startswith("dk.periodic p50: ")
    assert f"{latest / 1000:.3g}"[:3] in title
    assert ", worse since 20" in title
    for n in range(9, 14):
        copied(f"r-{n}", day=NOW, scale=1.0)
    served.settled()
    title = Xml.fromstring(served.client.get(address).content)[0].text or ""
    assert "worse" not in title
    unknown = served.client.get(f"{address}?metric=p999").content
    assert "unknown" in (Xml.fromstring(unknown)[0].text or "")
    assert served.client.get(f"{address}?metric=p1").status_code == 400
    assert served.client.get("/p/main/badge/0000000000000000.svg").status_code == 404


# ---- metrics ------------------------------------------------------------------------------------

_SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\} (\S+)')


def samples(text: str) -> list[tuple[str, dict[str, str], float]]:
    """Parse OpenMetrics as strictly as is simple."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    parsed, families = [], set()
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            name = line.split()[2]
            assert name not in families, "a family stands twice"
            families.add(name)
        elif not line.startswith("# "):
            match = _SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] in families
            labels = dict(re.findall(r'(\w+)="((?:[^"\\\n]|\\.)*)"', match[2]))
            parsed.append((match[1], labels, float(match[3])))
    return parsed


def test_metrics_have_the_latest_result_of_each_series_in_seconds(
    served: Served, copied: Copied
) -> None:
    stepped(copied, served)
    answer = served.client.get("/p/main/metrics")
    assert answer.headers["Content-Type"] == metrics.TYPE
    parsed = samples(answer.text)
    point = served.client.get(f"/p/main/series/{key(served)}.json").json()["points"][-1]
    values = {
        (name, labels.get("bench"), labels.get("quantile")): value for name, labels, value in parsed
    }
    assert values["rtstone_latest_seconds", "dk.periodic", "0.5"] == pytest.approx(
        point["p50"] * 1e-9
    )
    assert values["rtstone_latest_seconds", "dk.periodic", "1"] == pytest.approx(
        point["max"] * 1e-9
    )
    assert values["rtstone_latest_missed_activations", "dk.periodic", None] == 0
    assert values["rtstone_runs", None, None] == 8
    worse = served.client.get("/p/main/overview.json").json()["worse_total"]
    assert values["rtstone_worse_changes", None, None] == worse > 0
    assert samples(served.client.get("/metrics").text) == parsed


def test_labels_are_escaped(served: Served, copied: Copied) -> None:
    copied("r", day=NOW - 1, target='a"b\\c')
    served.settled()
    parsed = samples(served.client.get("/metrics").text)
    assert parsed


def test_the_dashboard_asks_for_what_there_is(served: Served, copied: Copied) -> None:
    path = Path(answers.__file__).parent / "grafana.json"
    dashboard = json.loads(path.read_text("utf-8"))
    stepped(copied, served)
    by_metric: dict[str, set[str]] = {}
    quantiles = set()
    for name, labels, _ in samples(served.client.get("/metrics").text):
        by_metric.setdefault(name, set()).update(labels)
        quantiles.add(labels.get("quantile"))
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    queried = 0
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            for name, condition in re.findall(r"(rtstone_\w+)\{([^}]*)\}", target["expr"]):
                queried += 1
                labels = dict(re.findall(r'(\w+)=~?"([^"]*)"', condition))
                assert labels.keys() <= by_metric[name]
                assert labels.get("quantile") in quantiles
                used = {value[1:] for value in labels.values() if value.startswith("$")}
                assert used <= variables
            words = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert words <= set().union(*by_metric.values())
    assert queried == len(dashboard["panels"])
    for variable in dashboard["templating"]["list"]:
        match = re.match(r"label_values\((rtstone_\w+)(?:\{.*\})?, (\w+)\)", variable["query"])
        assert variable["type"] == "datasource" or (match and match[2] in by_metric[match[1]])


# ---- webhooks -----------------------------------------------------------------------------------


class Receiver:
    """A receiver of webhooks that answers with the next of some statuses."""

    def __init__(self, *statuses: int) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        left = list(statuses)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:  # noqa: N805
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                self.got.append((dict(handler.headers), body))
                status = left.pop(0) if left else 204
                handler.send_response(status)
                if status == 302:
                    handler.send_header("Location", f"{self.url}/elsewhere")
                handler.end_headers()

            def log_message(handler, *_: object) -> None:  # noqa: N805
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextlib.contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    receiver = Receiver(*statuses)
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()


def test_a_change_is_told_once_and_signed(
    database: Database, places: Places, copied: Copied
) -> None:
    with receiving() as receiver:
        hooks = (Webhook("chat", f"{receiver.url}/hook?a=b", "secret"),
                 Webhook("other", receiver.url, "x", project="lab"))  # fmt: skip
        settings = Settings(places.store, url="https://rt.example.org", webhooks=hooks)
        for n in range(8):
            copied(f"r-{n}", day=NOW - 8 + n, scale=1.0 + (n > 4))
        for _ in range(2):
            reconcile(database, places)
            while analyse_next(database, places):
                pass
            webhooks.announce(database, places, settings)
            webhooks.deliver_due(database, hooks)
    ((headers, body),) = receiver.got
    now = headers["X-Rtstone-Timestamp"]
    expected = hmac.new(b"secret", now.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Rtstone-Signature"] == f"sha256={expected}"
    message = json.loads(body)
    assert message["link"] == "https://rt.example.org/p/main/compare?run=r-4&run=r-5"
    assert (message["target"], message["run"]) == ("sim", "r-5")
    assert len(message["changes"]) >= 3
    assert counts(database)["deliveries"] == 0


def test_what_fails_is_tried_again_and_redirections_are_not_followed(database: Database) -> None:
    with receiving(500, 302) as receiver:
        hooks = [Webhook("chat", receiver.url, "secret")]
        with database.writing() as connection:
            connection.execute(sql.insert(deliveries).values(
                hook="chat", body="{}", made=0.0, tries=0, next=0.0))  # fmt: skip
        for tries in range(1, 3):
            webhooks.deliver_due(database, hooks)
            webhooks.deliver_due(database, hooks)  # it is not due again yet
            with database.writing() as connection:
                row = connection.execute(sql.select(deliveries)).one()
                assert (row.tries, len(receiver.got)) == (tries, tries)
                assert row.next > time() + 5
                connection.execute(sql.update(deliveries).values(next=0.0))
        webhooks.deliver_due(database, hooks)
    assert [headers.get("X-Rtstone-Signature", "")[:7] for headers, _ in receiver.got] == 3 * [
        "sha256="
    ]
    assert counts(database)["deliveries"] == 0
    assert webhooks.post(Webhook("gone", receiver.url, "s"), b"{}") is not None


def test_an_old_store_is_no_news(database: Database, places: Places, copied: Copied) -> None:
    hooks = (Webhook("chat", "http://127.0.0.1:9/", "secret"),)
    for n in range(8):
        copied(f"r-{n}", day=NOW - 80 + n, scale=1.0 + (n > 4))
    reconcile(database, places)
    assert analyse_next(database, places)
    webhooks.announce(database, places, Settings(places.store, webhooks=hooks))
    assert counts(database)["deliveries"] == 0
    with database.reading() as connection:
        rows = connection.execute(sql.select(changes.c.notified)).scalars().all()
        assert rows
        assert all(rows)
        assert queries.unannounced(connection, "main") == []
