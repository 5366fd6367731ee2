"""The two dialects that statements are built in. See `Dialect` for what the methods promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from peewee import SQL, Expression, Field, ModelSelect, Node, fn

from .statements import Placeholder


class SqliteDialect:
    """Lists travel as JSON text.

    SQLite takes as long for rows in JSON as for rows one by one, but it does so without
    the interpreter, which meanwhile reads the next request. Without the B, each value of a
    row would be looked for in a text that is parsed once more, which takes twice as long.
    """

    def any_of(self, field: Field, name: str) -> Expression:
        items = SQL("(SELECT value FROM json_each(?))", [Placeholder(name, _json)])
        return Expression(field, "IN", items)

    def within(self, field: Field, query: Node) -> Expression:
        return Expression(field, "IN", query)

    def joined(self, field: Field) -> Node:
        query: Node = fn.GROUP_CONCAT(field)
        return query

    def object_of(self, key: Field, value: Field) -> Node:
        query: Node = fn.JSON_GROUP_OBJECT(key, fn.JSON(value))
        return query

    def locking(self, query: ModelSelect[Any], *, skips: bool = False) -> Node:
        return query

    def insert_all(self, account_id: Field, fields: Sequence[Field], name: str) -> Node:
        values = ", ".join(f"value ->> {index}" for index in range(len(fields)))
        placeholders = [Placeholder(account_id.name), Placeholder(name, _json)]
        rows = SQL(f"SELECT ?, {values} FROM jsonb_each(?)", placeholders)  # noqa: S608 - no values in it
        query: Node = account_id.model.insert_from(rows, (account_id, *fields)).on_conflict_ignore()
        return query


class PostgresDialect:
    """Texts to compare with travel as an array, which an index takes; rows as JSON text.

    JSON is written in a twentieth of the time in which a driver in Python writes
    arrays of the same rows.
    """

    def any_of(self, field: Field, name: str) -> Expression:
        return Expression(field, "=", SQL("ANY(%s::text[])", [Placeholder(name, list)]))

    def within(self, field: Field, query: Node) -> Expression:
        # An array is found first, whatever is known of the table: where that is little,
        # a join may be done the wrong way round.
        return Expression(field, "=", fn.ANY(fn.ARRAY(query)))

    def joined(self, field: Field) -> Node:
        query: Node = fn.STRING_AGG(field, SQL("','"))
        return query

    def object_of(self, key: Field, value: Field) -> Node:
        query: Node = fn.JSON_OBJECT_AGG(key, value.cast("json")).cast("text")
        return query

    def locking(self, query: ModelSelect[Any], *, skips: bool = False) -> Node:
        locked: Node = query.for_update(skip_locked=skips)
        return locked

    def insert_all(self, account_id: Field, fields: Sequence[Field], name: str) -> Node:
        values = ", ".join(
            f"(value ->> {index})::{field.field_type}" for index, field in enumerate(fields)
        )
        placeholders = [Placeholder(account_id.name), Placeholder(name, _json)]
        rows = SQL(f"SELECT %s, {values} FROM jsonb_array_elements(%s::jsonb)", placeholders)  # noqa: S608 - no values in it
        query: Node = account_id.model.insert_from(rows, (account_id, *fields)).on_conflict_ignore()
        return query


def _json(items: Sequence[Any]) -> str:
    return orjson.dumps(items).decode()
