"""Cases that cover every choice of every parameter of every bench, from an agent's list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.agent.speak import Json, pick

# Parameters that keep a case short if few samples are not enough.
SHORT = {"samples": "4", "warmup": "1", "time": "300000000", "batch": "1"}
SPEED = "100"  # KWIPS; so low that no Hartstone test loads the CPU
LARGEST = 64 << 10  # bytes; larger sizes only take longer


def _choices(param: Json) -> list[str]:
    """Return the values of a parameter if they can be enumerated; of a size, both ends."""
    if param["type"] == "choice":
        return list(param["choices"])
    if param["type"] == "bool":
        return ["0", "1"]
    if param["type"] == "size":
        return [str(param["min"]), str(max(param["min"], min(param["max"], LARGEST)))]
    return []


def _cases(bench: Json) -> Iterator[str]:
    params = {p["name"]: p for p in bench["params"]}
    words = {name: value for name, value in SHORT.items() if name in params}
    for name, param in params.items():  # the minimum of loops, periods and durations
        if param["type"] in {"int", "duration"} and name not in {*SHORT, "prio", "speed", "rate"}:
            words[name] = str(param["min"])
    yield bench["id"] + _words_of(words)
    if "speed" in params:  # only in the first case: it takes longer than all others together
        words["speed"] = SPEED
    for name, param in params.items():
        for value in _choices(param):
            yield bench["id"] + _words_of(words | {name: value})


def _words_of(words: dict[str, str]) -> str:
    return "".join(f" {name}={value}" for name, value in words.items())


def every_choice(listed: Sequence[Json]) -> list[str]:
    """Return the commands of a session that uses each choice of each parameter once."""
    benches = pick(listed, "bench")
    cases = [case for bench in benches for case in _cases(bench)]
    return [f"case {i} {case}" for i, case in enumerate(cases)]


def are_answered(commands: Sequence[str], records: Sequence[Json]) -> None:
    """Check that each case has a result, or says what the system lacks."""
    ends = {r["id"]: r for r in pick(records, "end")}
    results = {r["id"] for r in pick(records, "result")}
    wrong = []
    for command in commands:
        i = int(command.split()[1])
        end = ends.get(i)
        if not end:
            wrong.append(f"{command}: no end")
        elif end["status"] == "failed" or (end["status"] == "ok") != (i in results):
            wrong.append(f"{command}: {end['status']}, {end['reason']}")
        elif end["status"] == "unsupported" and not end["reason"]:
            wrong.append(f"{command}: unsupported without a reason")
    assert not wrong, "\n".join(wrong)
