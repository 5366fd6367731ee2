"""NDJSON, in any pieces: which records it holds, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from http_gateway.request_errors import RequestError
from http_gateway.routing.bindings import bindings_of
from http_gateway.streams.ndjson import Ndjson
from http_gateway.streams.records import MAX_RECORD_BYTES, Form, Record

from ..made import SERVICE, message

REQUESTS = {
    binding.rpc.rpartition("/")[2]: binding.request_records for binding in bindings_of(SERVICE)
}
BOM = b"\xef\xbb\xbf"


def form(rpc: str = "Both") -> Ndjson:
    requests = REQUESTS[rpc]
    assert requests is not None
    return Ndjson(requests)


def read(*pieces: bytes, rpc: str = "Both") -> Any:
    """Returns the request message that a body in these pieces makes."""
    reader, into = form(rpc), message("Put" if rpc == "Both" else "PutStrict")
    for piece in pieces:
        add(reader, reader.cut(piece), into)
    add(reader, reader.rest(), into)
    return into


def add(form: Form, records: Iterator[Record | None], message: Any) -> None:
    """Adds records to a message. Raises RequestError for one that cannot be read at all."""
    added = form.add([record for record in records if record is not None], message)
    if added.fault is not None:
        raise added.fault


def rows(*pieces: bytes) -> list[tuple[str, list[str]]]:
    """Returns the name in each row and the fields that it has faults in."""
    return [(item.name, [f.field for f in item.faults]) for item in read(*pieces).items]


def splits(body: bytes) -> Iterator[tuple[bytes, ...]]:
    """Yields a body cut in two at every place, and into single bytes."""
    for place in range(len(body) + 1):
        yield body[:place], body[place:]
    yield tuple(body[place : place + 1] for place in range(len(body)))


@pytest.mark.parametrize(
    "body",
    [
        '{"name":"a"}\n{"name":"b","size":2}\n',
        '{"name":"é€😀"}\r\n\r\n \n{"name":"b"}',
        '{"name":"a\\n{b}"}\nno json\n[1]\n{"name":7}',
    ],
    ids=ascii,
)
def test_it_does_not_matter_where_the_pieces_end(body: str) -> None:
    whole = BOM + body.encode()
    expected = read(body.encode())
    assert len(expected.items) >= 2

    for pieces in splits(whole):
        assert read(*pieces) == expected, pieces


def test_blank_lines_are_no_records_and_the_last_line_needs_no_end() -> None:
    assert rows(b'\n{"name":"a"}\r\n\r\n \t\r\n{"name":"b"}') == [("a", []), ("b", [])]
    assert rows(b"") == rows(b"\n\n") == rows(BOM) == []


def test_a_mark_at_the_start_is_passed_over_and_nowhere_else() -> None:
    assert rows(BOM + b'{"name":"a"}\n' + BOM + b'{"name":"b"}\n') == [("a", []), ("", [""])]


@pytest.mark.parametrize(
    "line",
    [
        b"x",
        b'{"name":"a"',
        b'{"name":"a"} {"name":"b"}',
        b'{"name":"a"},',
        b'{"name":NaN}',
        b'{"name":"\xff"}',
        b'{"name":"\xed\xa0\x80"}',
        b'{"name":"a","name":"b"}',
        b"[" * 33 + b"]" * 33,
        b"[" * 100_000,
        b"[]",
        b'"a"',
        b"7",
        b"null",
    ],
    ids=lambda line: repr(line[:24]),
)
def test_a_line_that_is_no_object_is_a_row_at_fault_as_a_whole(line: bytes) -> None:
    body = b'{"name":"a"}\n' + line + b'\n{"name":"b"}\n'

    assert rows(body) == [("a", []), ("", [""]), ("b", [])]


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        (b'{"name":7}', ["name"]),
        (b'{"size":"x","name":[]}', ["name", "size"]),
        (b'{"name":"a","other":1}', ["other"]),
        (b'{"faults":[]}', ["faults"]),
    ],
)
def test_what_is_wrong_with_a_record_is_noted_in_it(line: bytes, faults: list[str]) -> None:
    ((_, found),) = rows(line)

    assert sorted(found) == faults


def refused(*pieces: bytes, rpc: str = "Both") -> tuple[str, str, str]:
    """Returns the code, path and message of the fault that ends a body."""
    with pytest.raises(RequestError) as caught:
        read(*pieces, rpc=rpc)
    (detail,) = caught.value.error.details
    return (
        type(detail).Code.Name(detail.code),
        detail.field,
        detail.message,
    )


def test_where_records_have_no_place_for_faults_the_first_fault_names_its_line() -> None:
    assert refused(b'{"name":"a"}\n\n{"name":7}\n', rpc="Strictly") == (
        "INVALID_TYPE",
        "stricts[1].name",
        "must be a string (line 3)",
    )
    code, path, text = refused(b'{"name":"a"}\nx\n', rpc="Strictly")
    assert (code, path) == ("INVALID_JSON", "stricts[1]")
    assert text.endswith("(line 2)")


def test_a_record_may_have_a_mebibyte_and_no_more() -> None:
    name = "x" * (MAX_RECORD_BYTES - len('{"name":""}\n'))
    line = json.dumps({"name": name}, separators=(",", ":")).encode() + b"\n"
    assert len(line) == MAX_RECORD_BYTES

    assert [item.name for item in read(line).items] == [name]

    for pieces in ((b"\n" + line[:-3] + b'x"}\n',), (b"\n" + line[:-3], b'x"}\n')):
        code, path, text = refused(*pieces)
        assert (code, path) == ("TOO_LONG", "")
        assert text.endswith("(line 2)")


def test_a_record_that_never_ends_is_refused_as_soon_as_it_is_too_long() -> None:
    reader, piece = form(), b"x" * 65_536

    with pytest.raises(RequestError):  # noqa: PT012 - the loop is the client
        for number in range(1_000):
            assert number * len(piece) <= MAX_RECORD_BYTES
            assert list(filter(None, reader.cut(piece))) == []
