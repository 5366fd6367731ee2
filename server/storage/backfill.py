"""Changes stored rows for a migration, in chunks while services run.

A migration defines its TABLE and `backfill(db, position, limit)`. The function changes up to
`limit` rows after a position, which is empty at first, and returns the position of the last one and
their number, or None if there are no more. Each chunk is a transaction that also stores the
position, so that it continues after an interruption, and the memory does not depend on the number
of rows. Programs must work before, during and after it. Several processes can run backfills: each
skips a chunk that another one works on. A contracting migration finishes all of them first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from peewee import BigIntegerField, Database, Model, PostgresqlDatabase, TextField
from playhouse.migrations import Migration

CHUNK_ROWS = 1_000


class Backfill(Model):
    """A migration whose rows are not all changed yet."""

    name = TextField(primary_key=True)
    position = TextField(default="")
    done = BigIntegerField(default=0)
    total = BigIntegerField()

    class Meta:
        table_name = "schema_backfill"


class Progress(NamedTuple):
    """The rows that the last chunk and all chunks have changed, and the expected number."""

    name: str
    rows: int
    done: int
    total: int

    def __str__(self) -> str:
        return f"schema migration {self.name}: {self.done:,} of {self.total:,} rows"


def count_rows(table: str, database: Database) -> int:
    (count,) = database.execute_sql(f'SELECT count(*) FROM "{table}"').fetchone()  # noqa: S608 - a name
    return int(count)


def advance(database: Database, folder: Path) -> Progress | None:
    """Runs the next chunk, in the current transaction. Returns None if nothing is left to do.

    Omits the backfills of migrations that are not in the folder, those of a later version.
    """
    migrations: Mapping[str, Migration] = {
        each.name: each for each in Migration.load_directory(str(folder))
    }
    waiting = Backfill.select().where(Backfill.name << list(migrations)).order_by(Backfill.name)
    if isinstance(database, PostgresqlDatabase):
        waiting = waiting.for_update(skip_locked=True)
    row = waiting.bind(database).first()
    if row is None:
        return None
    is_this = Backfill.name == row.name
    chunk = migrations[row.name].load().backfill(database, row.position, CHUNK_ROWS)
    if chunk is None:
        Backfill.delete().where(is_this).bind(database).execute()
        return Progress(row.name, 0, row.done, row.done)
    position, rows = chunk
    changes = {Backfill.position: position, Backfill.done: row.done + rows}
    Backfill.update(changes).where(is_this).bind(database).execute()
    return Progress(row.name, rows, row.done + rows, max(row.total, row.done + rows))
