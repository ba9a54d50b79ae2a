"""Documents that are well typed but nonsense: values that a type allows, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from rtstone.documents.run import SCHEMA, Run
from rtstone.results.flags import BY_NAME

# Names that readers look for, so that they process the result.
NAMES = [
    "", "x", "null", "dk.periodic", "dk.sched", "ctx.ballast", "hart.ph", "sem.round",
    "posix.options", "rheal.switch", "det.bintime", "cyclictest", "none", "heavy", "irq", "sim",
    "local", "qemu:linux-6.1", "ns", "instructions", "%", "us", "cpu 0", "fifo",
    "breakdown utilisation",
    "no breakdown up to", "deadlines", "section_ns", "period", "ballast", "samples", "time", "cpus",
    "kernel.release", "kernel.name", "cpu.model", "machine.arch", "sched", "model", "model.label",
    "tool", "title", "label", "icount", "instructions_per_s", "p50", "p99", "mean", "seed", "seeds",
    "clock.source", "tool.measured", "0", "1",
]  # fmt: skip
NUMBERS = [0, 1, 2, 3, -1, 20, 1000, 10**6, 2**53, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 0.5, 1.0, -1.0, 1e-9, 5e-324, 1e-300, 999.9, 1e6, 1e15, 1e18, 1e300, -1e300]


def texts(key: str) -> st.SearchStrategy[str]:
    if key == "flags":
        return st.sampled_from([*BY_NAME, "no_flag"])
    if key == "schema":
        return st.just(SCHEMA)
    if key == "created":
        return st.sampled_from(
            [*["2026-01-01T00:00:00+00:00"] * 20, "2026-01-01T00:00:00", "", "now",
             "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z"]
        )  # fmt: skip
    return st.sampled_from(NAMES) | st.text(max_size=5)


def values(  # noqa: PLR0911  one case for each kind of type
    member_type: inspect.Type, key: str = "", depth: int = 0
) -> st.SearchStrategy[Any]:
    """Draw JSON values that this type allows."""
    most = 2 if depth < 6 else 1
    match member_type:
        case inspect.StructType(fields=fields, array_like=True):
            return st.tuples(*(values(f.type, f.encode_name, depth + 1) for f in fields)).map(list)
        case inspect.StructType(fields=fields, tag=tag, tag_field=name):
            drawn = {
                f.encode_name: values(f.type, f.encode_name, depth + 1)
                for f in fields
                if f.required or f.name == "schema"
            }
            other = {
                f.encode_name: values(f.type, f.encode_name, depth + 1)
                for f in fields
                if not f.required
                and f.name != "schema"
                and not (depth > 3 and _is_own(f, member_type))
            }
            if tag is not None and name is not None:
                drawn[name] = st.just(tag)
            return st.fixed_dictionaries(drawn, optional=other)
        case inspect.UnionType(types=types):
            return st.one_of(*(values(member_type, key, depth) for member_type in types))
        case inspect.ListType(item_type=item, min_length=least):
            least = least or 0
            return st.lists(
                values(item, key, depth + 1), min_size=least, max_size=max(most, least) + 1
            )
        case inspect.VarTupleType(item_type=item):
            return st.lists(values(item, key, depth + 1), max_size=most)
        case inspect.TupleType(item_types=items):
            return st.tuples(*(values(item, key, depth + 1) for item in items)).map(list)
        case inspect.DictType(value_type=item):
            return st.dictionaries(texts(""), values(item, "", depth + 1), max_size=most + 1)
        case inspect.LiteralType(values=words):
            return st.sampled_from(words)
        case inspect.IntType() | inspect.FloatType():
            return numbers(member_type)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.StrType():
            return texts(key)
        case inspect.AnyType():
            return st.none() | st.integers() | texts("") | st.lists(st.integers(), max_size=2)
        case inspect.Metadata():
            return values(member_type.type, key, depth)
    raise TypeError(member_type)


def _is_own(field: inspect.Field, struct: inspect.StructType) -> bool:
    """Return whether a member may be another object of its own type, without an end."""
    kinds = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
    return any(isinstance(kind, inspect.StructType) and kind.cls is struct.cls for kind in kinds)


def _fits(number: inspect.IntType | inspect.FloatType, value: float) -> bool:
    return (
        (number.ge is None or value >= number.ge) and (number.gt is None or value > number.gt)
        and (number.le is None or value <= number.le) and (number.lt is None or value < number.lt)
    )  # fmt: skip


def numbers(member_type: inspect.IntType | inspect.FloatType) -> st.SearchStrategy[Any]:
    choices = (
        NUMBERS if isinstance(member_type, inspect.IntType) else [*FLOATS, *map(float, NUMBERS)]
    )
    return st.sampled_from([value for value in choices if _fits(member_type, value)])


RUNS = values(inspect.type_info(Run), "run")


@st.composite
def mutated(draw: st.DrawFn, sound: Any, kind: Any = Run) -> Any:
    """Draw a valid document with up to three values replaced by others of their types."""
    copy = msgspec.json.decode(msgspec.json.encode(sound))
    for _ in range(draw(st.integers(1, 3))):
        copy = _replaced(draw, copy, inspect.type_info(kind), "run")
    return copy


def _replaced(draw: st.DrawFn, value: Any, member_type: inspect.Type, key: str) -> Any:
    kinds = _members(value, member_type)
    if not kinds or draw(st.integers(0, 7)) == 0:
        return draw(values(member_type, key, 4))
    place = draw(st.sampled_from(sorted(kinds, key=str)))
    if isinstance(value, dict) and place not in value:
        return value | {place: draw(values(kinds[place], str(place), 4))}
    name = key if isinstance(place, int) else str(place)
    replaced = _replaced(draw, value[place], kinds[place], name)
    if isinstance(value, dict):
        return value | {place: replaced}
    return [*value[:place], replaced, *value[place + 1 :]]


def _members(value: Any, member_type: inspect.Type) -> dict[Any, inspect.Type]:
    match member_type:
        case inspect.Metadata():
            return _members(value, member_type.type)
        case inspect.UnionType(types=types):
            return next(
                (members for member_type in types if (members := _members(value, member_type))), {}
            )
        case inspect.StructType(fields=fields) if isinstance(value, dict):
            return {f.encode_name: f.type for f in fields}
        case inspect.ListType(item_type=item) if isinstance(value, list):
            return dict.fromkeys(range(min(len(value), 8)), item)
        case inspect.TupleType(item_types=items) if isinstance(value, list):
            return dict(enumerate(items))
        case inspect.DictType(value_type=item) if isinstance(value, dict):
            return dict.fromkeys(value, item)
    return {}


def uniform(document: Any, number: float) -> Any:
    """Return the document with every float replaced by this number, where that is allowed."""

    def every(value: Any, member_type: inspect.Type) -> Any:
        if (members := _members(value, member_type)) and isinstance(value, dict):
            return {k: every(v, members[k]) if k in members else v for k, v in value.items()}
        if members:
            return [every(v, members[min(k, len(members) - 1)]) for k, v in enumerate(value)]
        kinds = member_type.types if isinstance(member_type, inspect.UnionType) else (member_type,)
        fitting = [
            kind for kind in kinds if isinstance(kind, inspect.FloatType) and _fits(kind, number)
        ]
        return number if fitting and isinstance(value, int | float) else value

    copy = msgspec.json.decode(msgspec.json.encode(document))
    return every(copy, inspect.type_info(Run))
