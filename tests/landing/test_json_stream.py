"""A stream of JSON is cut as a parser would cut it, in pieces of any size, and in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.landing.archives import JsonStream, LandingRequest, documents, land_files, open_file
from pipelines.landing.raw_folder import LandingError, raw_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.settings import Settings
    from pipelines.vault import Vault

MIB = 1 << 20
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\\\[]{},: é'),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(alphabet='k"\\\\]'), below, max_size=4),
    max_leaves=12,
)


class Slow(io.BytesIO):
    """A file of which each read brings a few bytes."""

    def __init__(self, content: bytes, step: int) -> None:
        super().__init__(content)
        self._step = step

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a few bytes, whatever is wanted."""
        return super().read(min(self._step, size) if size and size > 0 else self._step)


@pytest.mark.parametrize("step", [1, 3, 1000])
@pytest.mark.parametrize("element", ['"a]b\\\\"', '"}"', '{"[":"]}"}', '[1,"[",["\\""]]', "-1.5e3", "null", '""'])
def test_brackets_and_quotes_in_texts_end_nothing(element: str, step: int) -> None:
    """An element is whole between others, wherever the pieces of the file end."""
    stream = JsonStream(Slow(f'[0,{element},"x"]'.encode(), step), 1000)
    assert list(stream.elements()) == [b"0", element.encode(), b'"x"']


@pytest.mark.slow
@given(st.lists(JSON), st.integers(1, 7), st.sampled_from([None, 2]))
def test_elements_are_those_of_a_parser(values: list[Any], step: int, indent: int | None) -> None:
    """Each element is the text that a parser finds, wherever the pieces of the file end."""
    text = json.dumps(values, indent=indent).encode()
    stream = JsonStream(Slow(text, step), 1000)
    assert list(stream.elements()) == [bytes(each) for each in msgspec.json.decode(text, type=list[msgspec.Raw])]
    assert (stream.peek(), stream.offset) == (b"", len(text))


@pytest.mark.slow
@given(st.lists(JSON), st.integers(1, 7), st.integers(1, 9))
def test_long_elements_are_cut(values: list[Any], step: int, longest: int) -> None:
    """Of an element beyond the limit just enough is kept to show that it is beyond it; the next one is unharmed."""
    text = json.dumps(values).encode()
    found = [bytes(each)[: longest + 1] for each in msgspec.json.decode(text, type=list[msgspec.Raw])]
    assert list(JsonStream(Slow(text, step), longest).elements()) == found


@given(st.binary(max_size=40) | st.text(alphabet='[]{}",:\\\\ 1a').map(str.encode), st.integers(1, 7))
def test_any_bytes_come_to_an_end(text: bytes, step: int) -> None:
    """Whatever the bytes are, they are taken in order and come to an end."""
    stream = JsonStream(Slow(b"[" + text, step), 10)
    taken = list(stream.elements())
    assert len(taken) <= len(text) + 1
    assert stream.offset <= len(text) + 1


@pytest.mark.slow
@given(st.dictionaries(st.text(alphabet='k"\\\\/~'), JSON, max_size=5), st.integers(1, 7))
def test_a_pointer_leads_to_a_member(values: dict[str, Any], step: int) -> None:
    """A pointer leads where it does in the parsed document, and the wrapper's end is found after it."""
    text = json.dumps({"first": [1, values, 2]}).encode() + b" next"
    for name, value in values.items():
        stream = JsonStream(Slow(text, step), 1000)
        assert stream.go_to(("first", "1", name)) == 3
        assert json.loads(stream.value().text) == value
        assert stream.skip_out(3)
        assert stream.peek() == b"n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        b'["' + b"a" * 24 * MIB + b'"]',
        b'["' + b"\\\\" * 12 * MIB + b'"]',
        b'["' + b'\\"' * 12 * MIB,
        b"[" + b"1" * 24 * MIB + b"]",
        b"[" + b" " * 24 * MIB + b"]",
        b'{"a":"' + b"a" * 24 * MIB,
    ],
    ids=range(6),
)
def test_the_worst_inputs_take_little_memory(tmp_path: Path, settings: Settings, text: bytes) -> None:
    """Megabytes of one string, of backslashes, digits or blanks: each byte is looked at once and forgotten."""
    file = tmp_path / "worst.json"
    file.write_bytes(text)
    limits = msgspec.structs.replace(settings.landing, max_bytes=MIB)
    tracemalloc.start()
    try:
        longest = max((len(each) for each in documents(file, whole=True, limits=limits)), default=0)
        assert tracemalloc.get_traced_memory()[1] < 12 * MIB
    finally:
        tracemalloc.stop()
    assert longest <= MIB + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b"[" * MIB, 1),
        (b"[" + b"{" * MIB + b"}" * MIB + b"]", 1),
        (b'[{"' + b'":"' * MIB, 1),
        (b"[" + b"," * 100_000, 100_001),
        (b"[" + b"[]," * 100_000, 100_001),
    ],
    ids=range(5),
)
def test_brackets_take_a_step_each(tmp_path: Path, settings: Settings, text: bytes, count: int) -> None:
    """Megabytes of brackets and commas come to an end: quadratic, each would take hours."""
    file = tmp_path / "worst.json"
    file.write_bytes(text)
    assert sum(1 for _ in documents(file, whole=True, limits=settings.landing)) == count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "pointer", "content"),
    [
        ("orders", "", b"\0" * 20 * MIB),
        ("orders", "", b'[{"id":"' + b"1" * 20 * MIB),
        ("menus", "", b"{" + b" " * 20 * MIB),
        ("orders", "/a", b'{"b":"' + b"x" * 20 * MIB),
    ],
)
def test_a_small_file_that_holds_much_is_refused(
    settings: Settings, vault: Vault, tmp_path: Path, kind: str, pointer: str, content: bytes
) -> None:
    """A gzip file that unpacks to hundreds of times its size is refused by name, and nothing of it lands."""
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(content, 6))
    with pytest.raises(LandingError, match=r"bomb\.json\.gz unpacks to more than 200 times its size"):
        land_files(settings, vault, kind, LandingRequest([bomb], documents_pointer=pointer))
    assert raw_files(settings.data_dir, kind).observations == []


def test_bomb_is_refused_early(settings: Settings, tmp_path: Path) -> None:
    """Of a file of 4 MB that unpacks to 4 GiB, a hundredth is read, in a few MiB of memory."""
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(bytes(64 * MIB), 9) * 64)  # members of one file: 4 GiB
    assert bomb.stat().st_size < 5 * MIB
    tracemalloc.start()
    try:
        for whole in (True, False):
            with pytest.raises(LandingError, match=r"unpacks to more than 200 times"):
                list(documents(bomb, whole=whole, limits=settings.landing))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * MIB
    with open_file(bomb, settings.landing.max_unpack_ratio) as file:
        pieces = iter(lambda: file.read(MIB), b"")
        with pytest.raises(LandingError):
            list(pieces)
        assert file.tell() < 43 * MIB  # a hundredth


def test_what_repeats_itself_is_no_bomb(
    settings: Settings, vault: Vault, raw: Callable[[str, str], list[dict[str, Any]]], tmp_path: Path
) -> None:
    """A small file may unpack to many times its size, and the ratio is a setting."""
    file = tmp_path / "orders.json.gz"
    file.write_bytes(gzip.compress(b'{"id":1}\n' + b" " * 2 * MIB + b'\n{"id":2}\n'))
    land_files(settings, vault, "orders", LandingRequest([file]))
    assert [row["id"] for row in raw("observations", "orders")] == [1, 2]
