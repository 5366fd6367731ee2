"""The data file in a ZIP archive."""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress

import pytest

from rosterd.http_gateway.streams import archives
from rosterd.http_gateway.streams.archives import ArchiveError, content

CSV = b"email\n" + b"".join(b"p%d@example.com\n" % number for number in range(20_000))


def archive(
    files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as written:
        written.comment = comment
        for name, data in files.items():
            written.writestr(name, data)
    return file.getvalue()


def unpacked(data: bytes) -> bytes:
    return b"".join(content(io.BytesIO(data)))


def changed(data: bytes, offset: int, value: int) -> bytes:
    """Sets a byte of the only entry in the list of an archive."""
    array = bytearray(data)
    array[array.rindex(b"PK\x01\x02") + offset] = value
    return bytes(array)


@pytest.mark.parametrize(
    ("files", "method"),
    [
        ({"list.TXT": CSV}, zipfile.ZIP_STORED),
        ({"notes.pdf": b"%PDF", "d/": b"", "d/export.ndjson": CSV}, zipfile.ZIP_DEFLATED),
        (
            {"__MACOSX/._a.csv": b"x", ".DS_Store": b"x", "a/.DS_Store": b"x", "a/b.json": CSV},
            zipfile.ZIP_DEFLATED,
        ),
    ],
)
def test_one_data_file_is_read(files: dict[str, bytes], method: int) -> None:
    assert unpacked(archive(files, method, comment=b"from Substack")) == CSV


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (archive({"subscribed.csv": CSV, "cleaned.csv": CSV}), ["subscribed.csv, cleaned.csv"]),
        (archive({f"{n}.csv": CSV for n in range(12)}), ["12 data files", "9.csv and 2 more"]),
        (archive({"export": archive({"a.csv": CSV})}), ["another archive: export"]),
        (archive({"[Content_Types].xml": b"", "xl/workbook.xml": b""}), ["Excel", "as CSV"]),
        (archive({}), ["no file"]),
        (changed(archive({"a.csv": CSV}), 8, 0b1), ["encrypted: a.csv"]),
        (changed(archive({"a.csv": CSV}), 8, 0b100000), ["cannot be read", "Unpack it first"]),
        (archive({"a.csv": CSV}, zipfile.ZIP_BZIP2), ["deflate: a.csv"]),
        (archive({"a.csv": b"a" * 1_000_000}), ["100 times its size", "a.csv"]),
        (archive({"a.csv": CSV})[:-30], ["damaged"]),
        (archive({"n" * 60_000 + str(n): b"" for n in range(20)}), ["too many files"]),
    ],
)
def test_other_archives_are_errors_that_name_their_files(data: bytes, parts: list[str]) -> None:
    with pytest.raises(ArchiveError) as caught:
        unpacked(data)

    assert [part for part in parts if part not in str(caught.value)] == []
    assert len(str(caught.value)) < 1_100


def test_file_is_unpacked_in_chunks_and_no_further_than_its_stated_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = bytearray(archive({"a.csv": CSV}))
    assert max(map(len, content(io.BytesIO(data)))) <= archives.CHUNK_BYTES < len(CSV)
    # An archive that states a smaller size than that of its file.
    position = data.rindex(b"PK\x01\x02") + 24
    data[position : position + 4] = (100_000).to_bytes(4, "little")
    size = 0

    with pytest.raises(ArchiveError, match="damaged"):  # noqa: PT012 - the loop is the reader
        for chunk in content(io.BytesIO(data)):
            size += len(chunk)

    assert size <= 100_000
    monkeypatch.setattr(archives, "MAX_BYTES", 1_000)
    with pytest.raises(ArchiveError, match="more than"):
        unpacked(archive({"a.csv": CSV}))


def test_damaged_archives_have_no_other_errors() -> None:
    whole, source = archive({"a.csv": CSV[:2_000]}), random.Random(1)

    for _ in range(2_000):
        data = bytearray(whole)
        for _ in range(source.randint(1, 4)):
            data[source.randrange(len(data))] = source.randrange(256)
        with suppress(ArchiveError):
            unpacked(bytes(data[: source.choice([len(data), source.randrange(len(data))])]))
