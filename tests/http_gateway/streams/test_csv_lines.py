"""Parsing of CSV that arrives in pieces."""

from __future__ import annotations

import csv
import io
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from roster.v1 import http_pb2

from http_gateway.request_errors import RequestError
from http_gateway.streams.csv_lines import CsvParser, encode
from http_gateway.streams.records import MAX_RECORD_BYTES

from ..stream_service import message
from .test_ndjson import BOM, add, splits


def read(*pieces: bytes) -> list[tuple[int, list[str]]]:
    """Returns the number and the cells of each line."""
    parser, target = CsvParser("lines"), message("ItemsRequest")
    for piece in pieces:
        add(parser, parser.feed(piece), target)
    add(parser, parser.finish(), target)
    return [(line.number, list(line.cells)) for line in target.lines]


def cells(*pieces: bytes) -> list[list[str]]:
    return [row for _, row in read(*pieces)]


TABLES = {
    "plain": ("a,b\r\n1,2\r\n", [(1, ["a", "b"]), (2, ["1", "2"])]),
    "no line break at the end": ("a,b\n1,2", [(1, ["a", "b"]), (2, ["1", "2"])]),
    "quoted line breaks": (
        'a,b\r\n"1\r\n\n2",x\r\n3,"4\n"\r\n',
        [(1, ["a", "b"]), (4, ["1\r\n\n2", "x"]), (6, ["3", "4\n"])],
    ),
    "quotes": (
        'a,b\n"""",""\n"x""y","z, ""w"""\n5" pipe,a"b"c\n',
        [(1, ["a", "b"]), (2, ['"', ""]), (3, ['x"y', 'z, "w"']), (4, ['5" pipe', 'a"b"c'])],
    ),
    "blank lines": ("\n\r\na,b\n\n1,2\n\n", [(3, ["a", "b"]), (5, ["1", "2"])]),
    "rows of different lengths": ("a,b\n1\n1,2,3\n,\n", [
        (1, ["a", "b"]), (2, ["1"]), (3, ["1", "2", "3"]), (4, ["", ""]),
    ]),
    "semicolons": ('a;"b;,,,"\n1,5;2\n', [(1, ["a", "b;,,,"]), (2, ["1,5", "2"])]),
    "tabs": ("a\tb\n1,5;\t2\n", [(1, ["a", "b"]), (2, ["1,5;", "2"])]),
    "one column": ("a\n1;2\n", [(1, ["a"]), (2, ["1;2"])]),
    "header with a line break": (
        '"a;\n,",b,c\n"1\n2",3\n',
        [(2, ["a;\n,", "b", "c"]), (4, ["1\n2", "3"])],
    ),
    "sep= with a semicolon": ("sep=;\r\na,b;c\r\n1;2\r\n", [(2, ["a,b", "c"]), (3, ["1", "2"])]),
    "sep= with a vertical bar": ("SEP=|\na|b,c\n1|2\n", [(2, ["a", "b,c"]), (3, ["1", "2"])]),
    "sep= with a tab in quotes": ('"sep=\t"\na,b\tc\n', [(2, ["a,b", "c"])]),
    "sep= in another line": ("a,b\nsep=;\n", [(1, ["a", "b"]), (2, ["sep=;"])]),
    "beyond ASCII": ('é,"€\n😀"\n', [(2, ["é", "€\n😀"])]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_result_does_not_depend_on_how_the_body_is_split(name: str) -> None:
    text, expected = TABLES[name]

    assert read(text.encode()) == expected
    for pieces in splits(BOM + text.encode()):
        assert read(*pieces) == expected, pieces


@given(
    st.lists(st.lists(st.text('a,;\t"\r\n é', max_size=4), min_size=2, max_size=4), min_size=1),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.integers(1, 40),
)
def test_output_of_the_standard_library_can_be_parsed(
    table: list[list[str]], delimiter: str, end: str, quoting: Any, length: int
) -> None:
    table = [["head", "er"], *table]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(table)
    body = text.getvalue().encode()
    pieces = [body[start : start + length] for start in range(0, len(body), length)]

    # A bare CR must be quoted, but QUOTE_MINIMAL quotes only the line break that it writes.
    if quoting == csv.QUOTE_MINIMAL and end == "\n" and "\r" in text.getvalue():
        return
    assert cells(*pieces) == table


def violation(*pieces: bytes) -> tuple[str, str]:
    """Returns the code and the message of the violation that ends the parsing of a body."""
    with pytest.raises(RequestError) as caught:
        read(*pieces)
    (detail,) = caught.value.error.details
    assert detail.field == ""
    return type(detail).Code.Name(detail.code), detail.message


@pytest.mark.parametrize(
    ("body", "code", "position"),
    [
        (b'a,b\n"1"2,3\n', "INVALID_FORMAT", "line 2"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "INVALID_FORMAT", "line 3"),
        (b'a,b\n1,"', "INVALID_FORMAT", "line 2"),
        (b"a,b\n1\r2,3\n", "INVALID_FORMAT", "line 2"),
        (b',,,;"a,";b\n1,2\n3,4\n', "INVALID_FORMAT", "line 1"),
        (b"a,b\n1,\xff\n", "INVALID_FORMAT", "line 2, byte 3"),
        (b'a,b\n"1\n\nx\xe9\n\n",2\n', "INVALID_FORMAT", "line 4, byte 2"),
        ("a,b\n1,2\n".encode("utf-16"), "INVALID_FORMAT", "line 1, byte 1"),
        (b"sep=x\na,b\n", "INVALID_VALUE", "line 1"),
        (b"a,b\n1,\0\n", "INVALID_CHARACTER", "line 2"),
        (b"a,b\n1,2\n3," + b"x" * MAX_RECORD_BYTES, "TOO_LONG", "line 3"),
        (b'a,b\n"' + b"x\n" * (MAX_RECORD_BYTES // 2), "TOO_LONG", "line 2"),
    ],
    ids=[
        "text after a quote", "unclosed quote", "quote at the end", "bare CR",
        "quote after another delimiter in the header", "not UTF-8", "not UTF-8 in quotes",
        "UTF-16", "unknown delimiter", "NUL",
        "long line", "long cell of many lines",
    ],
)  # fmt: skip
def test_invalid_csv_is_rejected_with_its_position(body: bytes, code: str, position: str) -> None:
    actual, text = violation(body)

    assert actual == code
    assert text.endswith(f"({position})")
    length = max(999, len(body) // 32)
    pieces = (body[start : start + length] for start in range(0, len(body), length))
    assert violation(*pieces)[0] == code


def test_cell_can_be_as_long_as_a_record() -> None:
    cell = "x" * (MAX_RECORD_BYTES - len('"",b\n'))

    assert cells(b'a,b\n"' + cell.encode() + b'",b\n') == [["a", "b"], [cell, "b"]]


@pytest.mark.parametrize(
    "piece",
    [
        b"x" * 65_536,
        pytest.param(b'x\n""' * 16_384, marks=pytest.mark.verify),
        pytest.param(b"\n" * 65_536, marks=pytest.mark.verify),
    ],
    ids=["text", "quotes", "line breaks"],
)
def test_unclosed_quote_is_rejected_when_the_record_is_too_long(piece: bytes) -> None:
    parser = CsvParser("lines")
    assert len(list(parser.feed(b'a,b\n"'))) == 1

    with pytest.raises(RequestError):  # noqa: PT012 - the loop is the client
        for number in range(1_000):
            assert number * len(piece) <= MAX_RECORD_BYTES
            assert list(filter(None, parser.feed(piece))) == []


def seconds(body: bytes, length: int) -> float:
    started = time.perf_counter()
    cells(*(body[start : start + length] for start in range(0, len(body), length)))
    return time.perf_counter() - started


@pytest.mark.verify
@pytest.mark.parametrize("cell", [b"x\n", b'""', b"x"], ids=["lines", "quotes", "text"])
def test_parsing_time_is_linear_in_the_size_of_the_body(cell: bytes) -> None:
    # Quadratic parsing of half a mebibyte in single bytes would take minutes.
    short, long = (b'a,b\n"' + cell * (size // len(cell)) + b'"\n' for size in (65_536, 524_288))

    assert seconds(long, 1) < 30 * max(seconds(short, 1), 0.01)


def test_lines_are_written_as_defined_by_rfc_4180() -> None:
    rows = [["id", "name"], ["1", 'a "b", c'], ["2", "d\ne"], ["3", "f\rg"], ["", "é"], [""]]
    text = encode([http_pb2.CsvLine(cells=row) for row in rows])

    assert text == ('id,name\r\n1,"a ""b"", c"\r\n2,"d\ne"\r\n3,"f\rg"\r\n,é\r\n""\r\n'.encode())
    assert cells(text) == rows
