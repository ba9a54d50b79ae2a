"""The symbols of a kernel: of made ones of every layout, and of the lab's real one."""

from __future__ import annotations

import numpy as np
import pytest

from rtstone.explain import image, kallsyms
from tests.explain import kernel_images
from tests.explain.kernel_images import BASE, Symbol

PERCPU = [Symbol(0, "A", "fixed_percpu_data"), Symbol(0x1000, "A", "cpu_info")]


@pytest.mark.parametrize(
    ("order", "percpu"),
    [("6.1", False), ("6.1", True), ("6.2", False), ("6.2", True), ("6.4", False), ("6.4", True),
     ("7.2", False)],
)  # fmt: skip
@pytest.mark.parametrize("count", [2100, 2304, 3001])
def test_every_symbol_is_read(order: str, percpu: bool, count: int) -> None:
    symbols = kernel_images.symbols(count)
    every = PERCPU + symbols if percpu else symbols
    table = kallsyms.decode(kernel_images.image(every, order=order, percpu=percpu))
    entries = zip(table.addresses, table.kinds, table.names, strict=True)
    assert list(entries) == symbols


def test_names_of_128_bytes_and_more_are_read() -> None:
    symbols = kernel_images.symbols()
    end = symbols[-1].address
    longest = [Symbol(end + i, "t", "Zq9" * (40 + i) + "x") for i in range(60)]
    table = kallsyms.decode(kernel_images.image(symbols + longest))
    assert table.names[-60:] == [symbol.name for symbol in longest]


def test_functions_end_at_the_next_symbol_and_have_the_first_name() -> None:
    symbols = [
        *kernel_images.symbols(),
        *(
            Symbol(BASE + 0x1000000 + address, kind, name)
            for address, kind, name in [
                (0, "T", "first"),
                (0, "W", "alias"),
                (16, "d", "data"),
                (32, "r", "table"),
                (32, "t", "second"),
                (32, "t", "$x"),
                (96, "W", "third"),
                (100, "B", "_edata"),
            ]
        ),
    ]
    functions = kallsyms.functions(kallsyms.decode(kernel_images.image(symbols)))
    triples = list(zip(functions.starts, functions.ends, functions.names, strict=True))
    at = BASE + 0x1000000
    assert triples[-3:] == [
        (at, at + 16, "first"),
        (at + 32, at + 96, "second"),
        (at + 96, at + 100, "third"),
    ]
    assert functions.starts == sorted(set(functions.starts))
    assert functions.find(at + 15) == ("first", at)
    assert functions.find(at + 16) is None
    assert functions.find(at + 99) == ("third", at + 96)
    assert functions.find(at + 100) is None


def test_a_name_from_a_kernel_controls_no_terminal() -> None:
    symbols = kernel_images.symbols()
    symbols.insert(-1, Symbol(symbols[-1].address - 8, "T", "\x1b[2Jx"))
    functions = kallsyms.functions(kallsyms.decode(kernel_images.image(symbols)))
    assert functions.names[-1] == "?[2Jx"


def offset_of(part: str, symbols: list[Symbol]) -> int:
    """Return where a table begins in an image."""
    tables = kernel_images.tables(symbols)
    names = list(tables)
    return kernel_images.TABLES + sum(len(tables[name]) for name in names[: names.index(part)])


def test_a_kernel_without_tables_is_refused() -> None:
    symbols = kernel_images.symbols()
    data = kernel_images.image(symbols)
    index = offset_of("token_index", symbols)
    for damaged in (
        b"",
        bytes(5000),
        data[:index],
        data[: index + 500],
        data[: kernel_images.TABLES],
    ):
        with pytest.raises(ValueError, match="no symbol table was found in the kernel"):
            kallsyms.decode(damaged)


@pytest.mark.parametrize(
    ("part", "at"),
    [("names", 0), ("markers", 8), ("num_syms", 0), ("offsets", 4003),
     ("token_table", 300), ("token_index", 200)],
)  # fmt: skip
def test_tables_that_contradict_each_other_are_refused(part: str, at: int) -> None:
    symbols = kernel_images.symbols()
    data = bytearray(kernel_images.image(symbols))
    data[offset_of(part, symbols) + at] ^= 0x41
    with pytest.raises(ValueError, match="symbol"):
        kallsyms.decode(bytes(data))


def test_calls_in_the_real_kernel_lead_to_functions() -> None:
    kernel = kernel_images.fetched()
    unpacked = image.kernel(kernel.image.read_bytes())
    functions = kallsyms.functions(kallsyms.decode(unpacked))
    assert len(functions.starts) > 50_000
    begin = functions.starts[0]
    words = np.frombuffer(unpacked, "<u4", 10_000_000 // 4, begin % kallsyms.ALIGNED)
    calls = np.flatnonzero(words >> 26 == 0x25)  # bl
    steps = (words[calls].astype(np.int64) & 0x3FFFFFF ^ 0x2000000) - 0x2000000
    targets = 4 * (calls + steps)
    assert len(calls) > 100_000
    assert np.isin(targets, np.array(functions.starts) - begin).mean() > 0.99
    assert functions.names.count("__schedule") == 1
