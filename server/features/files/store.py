"""Stores the sizes of files and the places of their parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from peewee import SQL, fn

from ...rpc.errors import FileQuotaExceeded, Internal
from ...storage.resource import Resource
from ...storage.statements import Statement, param, params
from ...storage.transaction import Transaction
from .models import FilePart, StoredFile

# The bytes of all files of an account.
MAX_BYTES = 8 * 1024**3


class FileMissing(Exception):
    """A file was deleted or has expired, or its bytes are lost, as after a restore."""


class WrongOffset(Exception):
    """An offset is not the size of the file, which is `size`."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(size)


class FileRow(NamedTuple):
    """A file; `size` in bytes, times in milliseconds."""

    id: str
    size: int
    created_at: int
    expires_at: int


class PartRow(NamedTuple):
    """A part of a file from the byte `start` on. `size` is that of its plain bytes.

    The encrypted bytes are `content`, or the file `name` on disk.
    """

    part: int
    start: int
    size: int
    name: str
    content: bytes | None

    @property
    def end(self) -> int:
        return self.start + self.size


_FILES = Resource(
    FileRow,
    StoredFile.id,
    Internal,
    changed=(StoredFile.size, StoredFile.expires_at),
    among=StoredFile.expires_at > param("now"),
)
_OF_ACCOUNT = FilePart.account_id == param("account_id")
_OF_FILE = _OF_ACCOUNT & (FilePart.file_id == param("file_id"))
_PART_COLUMNS = [getattr(FilePart, name) for name in PartRow._fields]
_PART = Statement(
    lambda _: FilePart.select(*_PART_COLUMNS).where(_OF_FILE & (FilePart.part == param("part"))),
    has_one_plan=True,
)
_PART_AT = Statement(
    lambda _: (
        FilePart.select(*_PART_COLUMNS)
        .where(_OF_FILE & (FilePart.start <= param("at")))
        .order_by(FilePart.account_id.desc(), FilePart.file_id.desc(), FilePart.part.desc())
        .limit(SQL("1"))
    ),
    has_one_plan=True,
)
_DELETE_PART = Statement(
    lambda _: FilePart.delete().where(_OF_FILE & (FilePart.part == param("part")))
)
_INSERT_PART = Statement(
    lambda _: FilePart.insert(params(FilePart.account_id, FilePart.file_id, *_PART_COLUMNS))
)
_DELETE_PARTS = Statement(lambda _: FilePart.delete().where(_OF_FILE))
_DELETE = Statement(lambda _: StoredFile.delete().where(_FILES.one))
_BYTES = Statement(lambda _: StoredFile.select(fn.SUM(StoredFile.size)).where(_FILES.in_account))
_EXPIRED = Statement(
    lambda _: (
        StoredFile.select(StoredFile.id)
        .where(_FILES.in_account & (StoredFile.expires_at <= param("now")))
        .limit(SQL("1"))
    )
)
_SIZES = Statement(
    lambda dialect: StoredFile.select(StoredFile.id, StoredFile.size).where(
        _FILES.in_account & dialect.any_of(StoredFile.id, "ids")
    ),
    has_one_plan=True,
)
_ALL = Statement(
    lambda _: StoredFile.select(*_FILES.columns).where(
        _FILES.in_account & (StoredFile.expires_at > param("now"))
    )
)
_PARTS = Statement(
    lambda _: (
        FilePart.select(FilePart.file_id, FilePart.part, FilePart.start, FilePart.size)
        .where(_OF_ACCOUNT)
        .order_by(FilePart.account_id, FilePart.file_id, FilePart.part)
    )
)
_NAMES = Statement(lambda _: FilePart.select(FilePart.file_id, FilePart.name).where(_OF_ACCOUNT))


def create(account_id: str, expires_at: int, tx: Transaction) -> FileRow:
    """Stores an empty file."""
    row = FileRow(tx.new_id(), 0, tx.now, expires_at)
    _FILES.insert(account_id, row, tx)
    return row


def find(account_id: str, file_id: str, tx: Transaction) -> FileRow:
    """Returns a file. Raises FileMissing, also if it has expired."""
    row = _FILES.find_or_none(account_id, file_id, tx)
    if row is None:
        raise FileMissing
    return row


def sizes(account_id: str, ids: Sequence[str], tx: Transaction) -> dict[str, int]:
    """Returns the sizes of files by their IDs."""
    return dict(tx.all(_SIZES, account_id=account_id, ids=list(ids)))


def every(account_id: str, tx: Transaction) -> dict[str, FileRow]:
    """Returns the files of an account that have not expired, by ID."""
    rows = map(FileRow._make, tx.all(_ALL, account_id=account_id, now=tx.now))
    return {row.id: row for row in rows}


def bytes_in_parts(account_id: str, tx: Transaction) -> dict[str, int]:
    """Returns the bytes in the parts of all files that follow each other from the first on."""
    found: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for file_id, part, start, size in tx.all(_PARTS, account_id=account_id):
        if (part, start) == (numbers.get(file_id, 0), found.get(file_id, 0)):
            numbers[file_id], found[file_id] = part + 1, start + size
    return found


def find_part(account_id: str, file_id: str, part: int, tx: Transaction) -> PartRow | None:
    row = tx.one(_PART, account_id=account_id, file_id=file_id, part=part)
    return None if row is None else PartRow._make(row)


def part_at(account_id: str, file_id: str, at: int, tx: Transaction) -> PartRow | None:
    """Returns the last part that begins at a byte or before it; None if the file has no parts."""
    row = tx.one(_PART_AT, account_id=account_id, file_id=file_id, at=at)
    return None if row is None else PartRow._make(row)


def put_part(account_id: str, file_id: str, part: PartRow, size: int, tx: Transaction) -> None:
    """Stores a part at the end of a file of `size` bytes, or instead of its last part.

    Raises FileMissing, WrongOffset and FileQuotaExceeded.
    """
    row = find(account_id, file_id, tx)
    if row.size != size:
        raise WrongOffset(row.size)
    total = int(tx.scalar(_BYTES, account_id=account_id) or 0)
    if total + part.end - size > MAX_BYTES:
        raise FileQuotaExceeded(limit=MAX_BYTES)
    tx.run(_DELETE_PART, account_id=account_id, file_id=file_id, part=part.part)
    tx.run(_INSERT_PART, account_id=account_id, file_id=file_id, **part._asdict())
    _FILES.update(account_id, row._replace(size=part.end), tx)


def set_expiry(account_id: str, file_id: str, expires_at: int, tx: Transaction) -> None:
    """Changes when a file expires. Raises FileMissing."""
    row = find(account_id, file_id, tx)
    _FILES.update(account_id, row._replace(expires_at=expires_at), tx)


def delete(account_id: str, file_id: str, tx: Transaction) -> None:
    """Deletes a file if it exists. `Files.collect` removes its bytes on disk."""
    tx.run(_DELETE_PARTS, account_id=account_id, file_id=file_id)
    tx.run(_DELETE, account_id=account_id, id=file_id)


def has_expired(account_id: str, tx: Transaction) -> bool:
    """Whether an account has files that have expired."""
    return tx.one(_EXPIRED, account_id=account_id, now=tx.now) is not None


def purge(account_id: str, tx: Transaction) -> int:
    """Deletes one expired file, and returns the number of deleted files."""
    file_id = tx.scalar(_EXPIRED, account_id=account_id, now=tx.now)
    if file_id is None:
        return 0
    delete(account_id, file_id, tx)
    return 1


def names(account_id: str, tx: Transaction) -> Collection[tuple[str, str]]:
    """Returns the ID of the file and the name on disk of all parts of an account."""
    return {(file_id, name) for file_id, name in tx.all(_NAMES, account_id=account_id)}
