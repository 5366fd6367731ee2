"""Parsing of CSV that arrives in pieces."""

from __future__ import annotations

import itertools
import time
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.v1 import http_pb2
from rosterd.http_gateway.request_errors import RequestError
from rosterd.http_gateway.streams.charsets import Converter
from rosterd.http_gateway.streams.csv_lines import CsvParser, encode
from rosterd.http_gateway.streams.records import MAX_RECORD_BYTES

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


TABLES = {"quoted line breaks": (
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
"sep= with a semicolon": ("sep=;\r\na,b;c\r\n1;2\r\n", [(2, ["a,b", "c"]), (3, ["1", "2"])]),
"sep= with a tab in quotes": ('"sep=\t"\na,b\tc\n', [(2, ["a,b", "c"])]),
"CR": ("sep=;\ra;b\r\r1;\"2\r3\"\r4;5", [(2, ["a", "b"]), (5, ["1", "2\r3"]), (6, ["4", "5"])]),
"CR, LF and CRLF": (
        'a,b\r1,2\r\n\r3,"4\r\n5"\n6,"7"\r"8",9\n\r\r\n10,\r11,"',
        [
            (1, ["a", "b"]), (2, ["1", "2"]), (5, ["3", "4\r\n5"]), (6, ["6", "7"]),
            (7, ["8", "9"]), (10, ["10", ""]), (11, ["11", '"']),
        ],
    ),
"blanks around quotes": (
        'a, "b" ,\t"c"\n "1, ""2"", " ,x , y\n"" , " \n" , \t"z"\n',
        [(1, ["a", "b", "c"]), (2, ['1, "2", ', "x ", " y"]), (4, ["", " \n", "z"])],
    ),
"malformed quotes": (
        'a,b\n"1" x,"2, 3"\n4,"5\n6,""\n"7,8\n9,10"\n"x" ,y"\n',
        [
            (1, ["a", "b"]), (2, ['"1" x', "2, 3"]), (3, ["4", '"5']), (4, ["6", ""]),
            (6, ["7,8\n9,10"]), (7, ["x", 'y"']),
        ],
    ),
"NUL": ("a,b\n1,\0\n2,3\n", [(1, ["a", "b"]), (2, ["1", "\ufffd"]), (3, ["2", "3"])]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_result_does_not_depend_on_how_the_body_is_split(name: str) -> None:
    text, expected = TABLES[name]

    assert read(text.encode()) == expected
    for pieces in splits(BOM + text.encode()):
        assert read(*pieces) == expected, pieces


class Dialect(NamedTuple):
    """How a table is written."""

    delimiter: str
    ends: list[str]
    quotes_all: bool
    blanks: str
    charset: str
    has_mark: bool
    names_delimiter: bool
    length: int

    def cell(self, text: str) -> str:
        if self.quotes_all or text.startswith((" ", "\t")) or set(text) & set('"\r\n,;\t|'):
            blanks = self.blanks.replace(self.delimiter, "")
            return f'{blanks}"{text.replace(chr(34), chr(34) * 2)}"{blanks}'
        return text

    def body(self, lines: list[str]) -> bytes:
        ends = itertools.cycle(self.ends)
        first = [f"sep={self.delimiter}"] if self.names_delimiter else []
        text = "".join(line + next(ends) for line in [*first, *lines])
        return (BOM.decode() * self.has_mark + text).encode(self.charset)

    def read(self, lines: list[str]) -> list[tuple[bool, list[str]]]:
        """Returns whether each row is malformed, and its cells."""
        body = self.body(lines)
        converter = Converter("" if self.charset in ("utf-8", "utf-16") else self.charset, "")
        parser, target = CsvParser("lines"), message("ItemsRequest")
        for start in range(0, len(body), self.length):
            piece = body[start : start + self.length]
            for text in converter.feed(piece, is_last=start + self.length >= len(body)):
                add(parser, parser.feed(text), target)
        add(parser, parser.finish(), target)
        return [(line.malformed, list(line.cells)) for line in target.lines]


DIALECTS = st.builds(
    Dialect,
    st.sampled_from([",", ";", "\t"]),
    st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["", " "]),
    st.sampled_from(["utf-8", "utf-16", "windows-1252", "utf-16-le"]),
    st.just(False),
    st.booleans(),
    st.integers(1, 40),
) | st.builds(
    Dialect,
    st.sampled_from([",", "|"]),
    st.just(["\n"]),
    st.just(False),
    st.just("\t "),
    st.just("utf-8"),
    st.just(True),
    st.just(True),
    st.integers(1, 40),
)


def tables(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[list[str]]]:
    """Returns tables with a header, and rows of as many cells."""
    return st.integers(2, 4).flatmap(
        lambda count: st.lists(
            st.lists(texts, min_size=count, max_size=count), min_size=1, max_size=8
        ).map(lambda rows: [list("abcd"[:count]), *rows])
    )


@given(tables(st.text('a,;\t"\r\n é', max_size=5)), DIALECTS)
def test_table_in_any_dialect_is_read_as_it_was_written(
    table: list[list[str]], dialect: Dialect
) -> None:
    lines = [dialect.delimiter.join(map(dialect.cell, row)) for row in table]

    assert dialect.read(lines) == [(False, row) for row in table]


# The start of a quoted cell, seen from within quotes, is a quote with text after it.
@given(
    tables(st.text("ab,;\n é", min_size=1, max_size=4).map(lambda text: f"x{text}x") | st.just("")),
    DIALECTS,
    st.sampled_from(['x{0}"open', '"open', '"B" x{0}y', 'x{0}"a"b"{0}"c"', '"', 'x{0}"{0}']),
    st.data(),
)
def test_one_malformed_row_fails_alone(
    table: list[list[str]], dialect: Dialect, defect: str, data: st.DataObject
) -> None:
    lines = [dialect.delimiter.join(map(dialect.cell, row)) for row in table]
    position = data.draw(st.integers(1, len(lines)))
    lines.insert(position, defect.format(dialect.delimiter))

    rows = dialect.read(lines)

    assert rows.pop(position)[0]
    assert rows == [(False, row) for row in table]


def violation(*pieces: bytes) -> tuple[str, str]:
    """Returns the code and the message of the violation that ends the parsing of a body."""
    with pytest.raises(RequestError) as caught:
        read(*pieces)
    (detail,) = caught.value.error.details
    assert detail.field == ""
    return detail.code, detail.message


@pytest.mark.parametrize(
    ("body", "code", "position"),
    [(b'a,"b"c\n1,2\n', "INVALID_FORMAT", "line 1"),
(b'\na,"b\n1,2\n', "INVALID_FORMAT", "line 2"),
(b"a,b\n1,\xff\n", "INVALID_FORMAT", "line 2, byte 3"),
(b'a,b\n"1\n\nx\xe9\n\n",2\n', "INVALID_FORMAT", "line 4, byte 2"),
(b"sep=x\na,b\n", "INVALID_VALUE", "line 1"),
(b"a,b\0\n1,2\n", "INVALID_CHARACTER", "line 1"),
(b"a,b\n1,2\n3," + b"x" * MAX_RECORD_BYTES, "TOO_LONG", "line 3"),
],
    ids=["text after a quote in the header",
"unclosed quote in the header",
"not UTF-8",
"not UTF-8 in quotes",
"unknown delimiter",
"NUL",
"long line",
],
)  # fmt: skip
def test_invalid_csv_is_rejected_with_its_position(body: bytes, code: str, position: str) -> None:
    actual, text = violation(body)

    assert actual == code
    assert text.endswith(f"({position})")
    length = max(999, len(body) // 32)
    pieces = (body[start : start + length] for start in range(0, len(body), length))
    assert violation(*pieces)[0] == code


@pytest.mark.parametrize("line", [b"x\n", pytest.param(b"\n", marks=pytest.mark.verify)])
def test_unclosed_quote_fails_its_row_when_the_record_is_too_long(line: bytes) -> None:
    parser = CsvParser("lines")
    assert len(list(parser.feed(b'a,b\n1,"2\n'))) == 2

    pending = 0
    for _ in range(2 * MAX_RECORD_BYTES // 65_536):
        for record in parser.feed(line * (65_536 // len(line))):
            pending += 1
            if record is not None:
                assert record == (2, b'1,"""2"', True)
                assert pending < 4 + MAX_RECORD_BYTES
                return
    pytest.fail("the record has no end")


def seconds(body: bytes, length: int) -> float:
    started = time.perf_counter()
    cells(*(body[start : start + length] for start in range(0, len(body), length)))
    return time.perf_counter() - started


@pytest.mark.verify
@pytest.mark.parametrize(
    "cell", [b"x\n", b'""', b"x", b'x","\n'], ids=["lines", "quotes", "text", "malformed lines"]
)
def test_parsing_time_is_linear_in_the_size_of_the_body(cell: bytes) -> None:
    # Quadratic parsing of half a mebibyte in single bytes would take minutes.
    short, long = (b'a,b\n"' + cell * (size // len(cell)) + b'"\n' for size in (65_536, 524_288))

    assert seconds(long, 1) < 30 * max(seconds(short, 1), 0.01)


def test_lines_are_written_as_defined_by_rfc_4180() -> None:
    rows = [["id", "name"], ["1", 'a "b", c'], ["2", "d\ne"], ["3", "f\rg"], ["", "é"], [""]]
    text = encode([http_pb2.CsvLine(cells=row) for row in rows])

    assert text == ('id,name\r\n1,"a ""b"", c"\r\n2,"d\ne"\r\n3,"f\rg"\r\n,é\r\n""\r\n'.encode())
    assert cells(text) == rows
