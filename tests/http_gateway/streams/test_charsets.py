"""Conversion of bodies to UTF-8."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.http_gateway.request_errors import RequestError
from rosterd.http_gateway.streams.charsets import CHARSETS, Converter

from .test_ndjson import splits


def converted(charset: str, *pieces: bytes) -> bytes:
    converter = Converter(charset, "charset")
    feeds = [(piece, False) for piece in pieces] + [(b"", True)]
    return b"".join(
        text for data, is_last in feeds for text in converter.feed(data, is_last=is_last)
    )


def test_charsets_are_named_as_their_codecs() -> None:
    assert [codecs.lookup(name).name for name in CHARSETS] == list(CHARSETS)


@given(body=st.binary(max_size=20))
def test_utf_8_is_passed_on_without_changes(body: bytes) -> None:
    if not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        for pieces in splits(body):
            assert converted("", *pieces) == converted("UTF8", *pieces) == body


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("", "utf-16"),
        ("windows-1252", "utf-16"),
        ("UTF-16LE", "utf-16-le"),
        ("Windows-1252", "cp1252"),
    ],
    ids=[
        "UTF-16",
        "UTF-16 wins",
        "UTF-16LE",
        "Windows-1252",
    ],
)
@given(text=st.text("aé\n,ß", max_size=10))
def test_text_in_another_encoding_is_converted(charset: str, encoding: str, text: str) -> None:
    for pieces in splits(text.encode(encoding)):
        assert converted(charset, *pieces).decode() == text


def test_utf_16_big_endian_is_detected() -> None:
    assert converted("", b"\xfe\xff\0a\0\n").decode() == "a\n"


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("charset", "body", "valid", "message"),
    [
        ("windows-1252", b"a\nb,\xe9\nc\x81d", "a\nb,é\nc", "cp1252 (line 3, byte 2)"),
        ("utf-16-be", b"\0a\0\n\0b\xd8\0\0c", "a\nb", "utf-16-be (line 2, byte 3)"),
        ("utf-16", b"a\0\n\0", "", "utf-16 (line 1, byte 1)"),
        ("", b"\xff\xfea\0\n\0b\0c", "a\nb", "utf-16 (line 2, byte 3)"),
    ],
    ids=["undefined byte", "lone surrogate", "no byte order mark", "incomplete"],
)
def test_invalid_byte_is_rejected_with_its_position_after_the_text_before_it(
    charset: str, body: bytes, valid: str, message: str, size: int
) -> None:
    converter, text = Converter(charset, "charset"), b""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]

    with pytest.raises(RequestError) as raised:  # noqa: PT012 - the loop is the client
        for piece, is_last in [*((piece, False) for piece in pieces), (b"", True)]:
            for converted_piece in converter.feed(piece, is_last=is_last):
                text += converted_piece

    assert text.decode() == valid
    assert raised.value.error.details[0].message == f"must be encoded in {message}"


@pytest.mark.parametrize("charset", ["klingon", "zlib", "a\0b"])
def test_unknown_charset_is_rejected(charset: str) -> None:
    with pytest.raises(RequestError) as raised:
        Converter(charset, "charset")

    assert raised.value.error.details[0].field == "charset"
