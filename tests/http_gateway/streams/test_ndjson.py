"""Parsing of NDJSON that arrives in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rosterd.http_gateway.request_errors import RequestError
from rosterd.http_gateway.routing.bindings import bindings_of
from rosterd.http_gateway.streams.json_values import JsonSplitter
from rosterd.http_gateway.streams.ndjson import NdjsonParser
from rosterd.http_gateway.streams.records import MAX_RECORD_BYTES, Record, RecordParser
from rosterd.server.serving.gateway_policy import POLICY

from ..stream_service import SERVICE, message

REQUESTS = {
    binding.rpc.rpartition("/")[2]: binding.request_records
    for binding in bindings_of(SERVICE, POLICY.annotations)
}
BOM = b"\xef\xbb\xbf"


def parser_of(rpc: str = "Exchange") -> NdjsonParser:
    requests = REQUESTS[rpc]
    assert requests is not None
    return NdjsonParser(requests)


def read(*pieces: bytes, rpc: str = "Exchange") -> Any:
    """Returns the request message for a body that arrives in these pieces."""
    parser, target = (
        parser_of(rpc),
        message("ItemsRequest" if rpc == "Exchange" else "StrictItemsRequest"),
    )
    for piece in pieces:
        add(parser, parser.feed(piece), target)
    add(parser, parser.finish(), target)
    return target


def add(parser: RecordParser, records: Iterator[Record | None], message: Any) -> None:
    """Adds records to a message. Raises RequestError for an invalid record."""
    added = parser.add([record for record in records if record is not None], message)
    if added.error is not None:
        raise added.error


def rows(*pieces: bytes) -> list[tuple[str, list[str]]]:
    """Returns the name and the invalid fields of each row."""
    return [(item.name, [f.field for f in item.faults]) for item in read(*pieces).items]


def splits(body: bytes) -> Iterator[tuple[bytes, ...]]:
    """Yields a body split into two pieces at each position, and into single bytes."""
    for position in range(len(body) + 1):
        yield body[:position], body[position:]
    yield tuple(body[position : position + 1] for position in range(len(body)))


@pytest.mark.parametrize(
    "body",
    [
        '{"name":"a"}\n{"name":"b","size":2}\n',
        '{"name":"é€😀"}\r\n\r\n \n{"name":"b"}',
        '{"name":"a\\n{b}"}\nno json\n[1]\n{"name":7}',
    ],
    ids=ascii,
)
def test_result_does_not_depend_on_how_the_body_is_split(body: str) -> None:
    whole = BOM + body.encode()
    expected = read(body.encode())
    assert len(expected.items) >= 2

    for pieces in splits(whole):
        assert read(*pieces) == expected, pieces


def test_blank_lines_are_ignored_and_the_last_line_needs_no_line_break() -> None:
    assert rows(b'\n{"name":"a"}\r\n\r\n \t\r\n{"name":"b"}') == [("a", []), ("b", [])]
    assert rows(b"") == rows(b"\n\n") == rows(BOM) == []


@pytest.mark.parametrize(
    "line",
    [
        b'{"name":"a"',
        b'{"name":"a"} {"name":"b"}',
        b'{"name":NaN}',
        b'{"name":"\xff"}',
        b"[" * 33 + b"]" * 33,
        b"[]",
        b"null",
    ],
    ids=lambda line: repr(line[:24]),
)
def test_line_that_is_not_an_object_is_an_invalid_row(line: bytes) -> None:
    body = b'{"name":"a"}\n' + line + b'\n{"name":"b"}\n'

    assert rows(body) == [("a", []), ("", [""]), ("b", [])]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b'{"size":"x","name":[]}', ["name", "size"]),
        (b'{"name":"a","other":1}', ["other"]),
        (b'{"faults":[]}', ["faults"]),
        # Once as an invalid field, and with each value.
        (b'{"name":"a","name":"b"}', ["name"] * 3),
    ],
)
def test_invalid_fields_are_stored_in_the_record(line: bytes, fields: list[str]) -> None:
    ((_, invalid),) = rows(line)

    assert sorted(invalid) == fields


def violation(*pieces: bytes, rpc: str = "Exchange") -> tuple[str, str, str]:
    """Returns the code, path and message of the violation that ends the parsing of a body."""
    with pytest.raises(RequestError) as caught:
        read(*pieces, rpc=rpc)
    (detail,) = caught.value.error.details
    return detail.code, detail.field, detail.message


def test_first_error_ends_the_body_if_records_have_no_field_for_errors() -> None:
    assert violation(b'{"name":"a"}\n\n{"name":7}\n', rpc="ExchangeStrict") == (
        "INVALID_TYPE",
        "stricts[1].name",
        "must be a string (line 3)",
    )
    code, path, text = violation(b'{"name":"a"}\nx\n', rpc="ExchangeStrict")
    assert (code, path) == ("INVALID_JSON", "stricts[1]")
    assert text.endswith("(line 2)")


def test_record_has_at_most_one_mebibyte() -> None:
    name = "x" * (MAX_RECORD_BYTES - len('{"name":""}\n'))
    line = json.dumps({"name": name}, separators=(",", ":")).encode() + b"\n"
    assert len(line) == MAX_RECORD_BYTES

    assert [item.name for item in read(line).items] == [name]

    for pieces in ((b"\n" + line[:-3] + b'x"}\n',), (b"\n" + line[:-3], b'x"}\n')):
        code, path, text = violation(*pieces)
        assert (code, path) == ("TOO_LONG", "")
        assert text.endswith("(line 2)")


def test_record_without_end_is_rejected_when_it_is_too_long() -> None:
    parser, piece = parser_of(), b"x" * 65_536

    with pytest.raises(RequestError):  # noqa: PT012 - the loop is the client
        for number in range(1_000):
            assert number * len(piece) <= MAX_RECORD_BYTES
            assert list(filter(None, parser.feed(piece))) == []


def values(*pieces: bytes) -> list[Any]:
    """Returns the values of a body that arrives in these pieces."""
    splitter = JsonSplitter()
    found = [record for piece in pieces for record in splitter.feed(piece) if record]
    found += [record for record in splitter.finish() if record]
    assert [record.line for record in found] == [*range(1, len(found) + 1)]
    return [json.loads(record.data) for record in found]


ITEMS = [{"a": 'x"\\[{,}]', "b": [1, {"c": "]"}], "é": "\\"}, {}, 5, "s,[", [], {"z": "\\\\"}]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("start", ["", " \n", "\ufeff"])
def test_items_of_an_array_are_records(indent: int | None, start: str) -> None:
    body = (start + json.dumps(ITEMS, indent=indent, ensure_ascii=False) + "\n").encode()

    for pieces in splits(body):
        assert values(*pieces) == ITEMS, pieces
    assert values(b" [ \n ] ") == values(b"[]") == values(b"") == values(b" \n") == []


@pytest.mark.parametrize(
    ("body", "count", "text"),
    [
        (b'[{"a":1},]', 1, "(item 2)"),
        (b"[1,2", 1, "(item 2)"),
        (b'["a', 0, "(item 1)"),
        (b"[1]\n{}", 1, "after the array"),
        (b"[1,[" + b"2," * (MAX_RECORD_BYTES // 2 + 1), 1, "(item 2)"),
    ],
)
def test_malformed_array_is_rejected_after_its_items(body: bytes, count: int, text: str) -> None:
    splitter, found = JsonSplitter(), []

    with pytest.raises(RequestError) as caught:  # noqa: PT012 - the loop is the client
        for start in range(0, len(body), 65_536):
            found.extend(filter(None, splitter.feed(body[start : start + 65_536])))
        found.extend(splitter.finish())

    assert len(found) == count
    assert caught.value.error.details[0].message.endswith(text)


@pytest.mark.parametrize(
    "body",
    [
        b'\n{"total":1,"page":{"items":[{"name":"a"}]}}',
        b'{\n"items":[{"name":"a"}]}',
        b'{"items":[' + b'{"name":"a"},' * 100_000,
    ],
)
def test_object_around_the_rows_is_rejected_with_the_accepted_forms(body: bytes) -> None:
    _, path, text = violation(body)

    assert (path, "one JSON array of objects" in text) == ("", True)


def test_row_with_an_unknown_array_fails_alone() -> None:
    assert rows(b'{"name":"a","x":[{}]}\n{"items":[{}]}\n{"name":"b"}') == [
        ("a", ["x"]),
        ("", ["items"]),
        ("b", []),
    ]
