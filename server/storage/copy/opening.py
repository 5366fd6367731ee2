"""Opens and locks the source and the target of a copy.

A SQLite file is locked for the whole copy, so that no server can write to it. A PostgreSQL
source can be served meanwhile; the copy does not include later writes. The source must
have the current schema, with all migrations finished; the target is migrated to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import apsw
from peewee import PeeweeException

from ..citus.distribution import bring_up_to_date
from ..database import StorageError
from ..migrate import check_complete, migrate
from ..postgres import DriverError
from ..postgres.connection import open_database
from ..postgres.transaction import driver_error
from ..sqlite.file import check_exists, connect, file_lock, make_folder, open_existing, prepare
from .endpoint import CopyEndpoint, PostgresEndpoint, SqliteEndpoint

_COPY_LOCK = 2_907_114_360_885_214_603


@contextmanager
def open_endpoints(
    source: Path | str, target: Path | str
) -> Iterator[tuple[CopyEndpoint, CopyEndpoint]]:
    """Opens a source and a target, each a SQLite path or a PostgreSQL URL, for a block.

    Raises StorageError if one of them cannot be opened, or fails within the block.
    """
    with ExitStack() as stack:
        try:
            yield _source(source, stack), _target(target, stack)
        except (PeeweeException, DriverError, apsw.Error) as error:
            reason = " ".join(str(driver_error(error) or error).split())
            raise StorageError(f"The copy failed: {reason}") from error


def _source(location: Path | str, stack: ExitStack) -> CopyEndpoint:
    if isinstance(location, Path):
        check_exists(location)
        stack.enter_context(file_lock(location))
        file = stack.enter_context(open_existing(location, read_only=True))
        check_complete(file, "the source")
        return SqliteEndpoint(file)
    server = stack.enter_context(open_database(location))
    check_complete(server, "the source")
    return PostgresEndpoint(server)


def _target(location: Path | str, stack: ExitStack) -> CopyEndpoint:
    if isinstance(location, Path):
        make_folder(location)
        stack.enter_context(file_lock(location))
        file = stack.enter_context(closing(connect(location)))
        prepare(file)
        migrate(file)
        return SqliteEndpoint(file)
    server = stack.enter_context(open_database(location))
    bring_up_to_date(server)
    if server.execute_sql(f"SELECT pg_try_advisory_lock({_COPY_LOCK})").fetchone() == (False,):
        raise StorageError("Another copy into this target is running. Wait for it to finish.")
    return PostgresEndpoint(server)
