"""The dialects of SQLite and PostgreSQL. `Dialect` documents the methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from peewee import OP, SQL, Case, Expression, Field, ModelInsert, ModelSelect, Node, NodeList, fn

from ..values.numbers import NUMBER_PATTERN
from ..values.texts import case_variants
from .statements import Placeholder, Within


class SqliteDialect:
    """Passes lists as JSON text.

    SQLite inserts rows from JSON without holding the GIL, so that Python can read the next
    request meanwhile. `jsonb_each` instead of `json_each` parses each row once, not once per
    value.
    """

    counts_inserted_rows = True

    def any_of(self, field: Field, name: str) -> Expression:
        items = SQL("(SELECT value FROM json_each(?))", [Placeholder(name, _json)])
        return Within(field, items)

    def within(self, field: Field, query: Node) -> Expression:
        return Within(field, query)

    def object_of(self, key: Field, value: Field) -> Node:
        query: Node = fn.JSON_GROUP_OBJECT(key, fn.JSON(value))
        return query

    def texts_of(self, key: Field, value: Field) -> Node:
        query: Node = fn.JSON_GROUP_OBJECT(key, value)
        return query

    def domain_of(self, address: Node) -> Node:
        query: Node = fn.SUBSTR(address, fn.INSTR(address, SQL("'@'")) + SQL("1"))
        return query

    def domain_in_scan(self, address: Field) -> Node:
        # The unary + keeps SQLite from using the index on domains. That index does not contain the
        # address, so SQLite would look up the row of each entry.
        return self.domain_of(NodeList((SQL("+"), address), glue=""))

    def joined_in_scan(self, column: Field) -> Node:
        return column

    def mailbox_of(self, address: Field) -> Node:
        # Finds the first + or @.
        end = fn.INSTR(fn.REPLACE(address, SQL("'@'"), SQL("'+'")), SQL("'+'")) - SQL("1")
        query: Node = fn.REPLACE(fn.SUBSTR(address, SQL("1"), end), SQL("'.'"), SQL("''"))
        return query

    def text_of(self, value: Field) -> Node:
        return Expression(value, "->>", SQL("'$'"))

    def number_of(self, text: Field) -> Node:
        return text.cast("REAL")

    def text_of_plain(self, value: Field) -> Node:
        return _without_fraction(value)

    def contains(self, text: Node, name: str, *, is_lowercase: bool = False) -> Node:  # noqa: ARG002
        # LIKE ignores the case of ASCII only, and GLOB no case; it takes three times as long. One
        # of the patterns is null. Peewee's names of these operators are ILIKE and LIKE.
        like = Expression(text, OP.ILIKE, SQL("? ESCAPE '\\'", [Placeholder(name, _like_pattern)]))
        glob = Expression(text, OP.LIKE, SQL("?", [Placeholder(name, _glob_pattern)]))
        contained: Node = fn.COALESCE(like, glob)
        return contained

    def locking(self, query: ModelSelect[Any], *, skips: bool = False) -> Node:  # noqa: ARG002
        # SQLite has no row locks.
        return query

    def insert_all(
        self, account_id: Field, fields: Sequence[Field], name: str, shared: Sequence[Field] = ()
    ) -> ModelInsert:
        columns = (account_id, *shared)
        values = ["?"] * len(columns) + [f"value ->> {index}" for index in range(len(fields))]
        placeholders = [*(Placeholder(each.name) for each in columns), Placeholder(name, _json)]
        # Without WHERE, SQLite would parse ON CONFLICT as the condition of a join.
        text = f"SELECT {', '.join(values)} FROM jsonb_each(?) WHERE true"  # noqa: S608 - no values in it
        rows = SQL(text, placeholders)
        insert: ModelInsert = account_id.model.insert_from(rows, (*columns, *fields))
        return insert.on_conflict_ignore()


class PostgresDialect:
    """Passes values to compare as an array, which an index can use, and rows as JSON text.

    Writing JSON is much faster than writing arrays of rows in the Python driver.
    """

    counts_inserted_rows = False

    def any_of(self, field: Field, name: str) -> Expression:
        return Expression(field, "=", SQL("ANY(%s::text[])", [Placeholder(name, list)]))

    def within(self, field: Field, query: Node) -> Expression:
        # PostgreSQL always evaluates the array first. It would run IN as a join, and without
        # statistics it may choose the wrong join order.
        return Expression(field, "=", fn.ANY(fn.ARRAY(query)))

    def object_of(self, key: Field, value: Field) -> Node:
        query: Node = fn.JSON_OBJECT_AGG(key, value.cast("json")).cast("text")
        return query

    def texts_of(self, key: Field, value: Field) -> Node:
        query: Node = fn.JSON_OBJECT_AGG(key, value).cast("text")
        return query

    def domain_of(self, address: Node) -> Node:
        query: Node = fn.SPLIT_PART(address, SQL("'@'"), SQL("2"))
        return query

    def domain_in_scan(self, address: Field) -> Node:
        # PostgreSQL has statistics of the domains, and reads their index only if that is faster.
        return self.domain_of(address)

    def joined_in_scan(self, column: Field) -> Node:
        # PostgreSQL has no statistics of the query. It would look up each of its rows with an index
        # of the column, which an expression does not have.
        return Expression(column, OP.CONCAT, SQL("''"))

    def mailbox_of(self, address: Field) -> Node:
        parts = fn.REPLACE(address, SQL("'@'"), SQL("'+'"))
        local = fn.SPLIT_PART(parts, SQL("'+'"), SQL("1"))
        query: Node = fn.REPLACE(local, SQL("'.'"), SQL("''"))
        return query

    def text_of(self, value: Field) -> Node:
        text = Expression(value.cast("json"), "#>>", SQL("'{}'"))
        return NodeList((text, SQL('COLLATE "C"')), parens=True)

    def number_of(self, text: Field) -> Node:
        # PostgreSQL may evaluate this for rows of other fields too, so it must not fail.
        is_number = Expression(text, "~", SQL(f"'^{NUMBER_PATTERN}$'"))
        return Case(None, ((is_number, text.cast("DOUBLE PRECISION")),))

    def text_of_plain(self, value: Field) -> Node:
        return NodeList((_without_fraction(value), SQL('COLLATE "C"')), parens=True)

    def contains(self, text: Node, name: str, *, is_lowercase: bool = False) -> Node:
        # With the collation "C", LOWER converts ASCII only. Of the other characters, those that
        # are equal to one of the part are converted; null if there are none.
        lower = text if is_lowercase else fn.LOWER(text)
        others = SQL("%s", [Placeholder(name, _variants)])
        folded = SQL("%s", [Placeholder(name, _folded_variants)])
        converted = fn.COALESCE(fn.TRANSLATE(lower, others, folded), lower)
        part = SQL("%s", [Placeholder(name)])
        return Expression(fn.STRPOS(converted, part), ">", SQL("0"))

    def locking(self, query: ModelSelect[Any], *, skips: bool = False) -> Node:
        locked: Node = query.for_update(skip_locked=skips)
        return locked

    def insert_all(
        self, account_id: Field, fields: Sequence[Field], name: str, shared: Sequence[Field] = ()
    ) -> ModelInsert:
        values = ["%s", *(f"%s::{_type_of(field)}" for field in shared)] + [
            f"(value ->> {index})::{_type_of(field)}" for index, field in enumerate(fields)
        ]
        columns = (account_id, *shared)
        placeholders = [*(Placeholder(each.name) for each in columns), Placeholder(name, _json)]
        text = f"SELECT {', '.join(values)} FROM jsonb_array_elements(%s::jsonb)"  # noqa: S608 - no values in it
        rows = SQL(text, placeholders)
        insert: ModelInsert = account_id.model.insert_from(rows, (*columns, *fields))
        return insert.on_conflict_ignore()


def _without_fraction(value: Field) -> Node:
    # A quote, which is in no number, marks the end.
    ended = fn.REPLACE(Expression(value, OP.CONCAT, SQL("'\"'")), SQL("'.0\"'"), SQL("''"))
    text: Node = fn.REPLACE(ended, SQL("'\"'"), SQL("''"))
    return text


def _type_of(field: Field) -> str:
    return "DOUBLE PRECISION" if field.field_type == "DOUBLE" else str(field.field_type)


def _json(items: Sequence[Any]) -> str:
    return orjson.dumps(items).decode()


def _variants(part: str) -> str | None:
    """Returns the characters beyond ASCII that are not folded and equal to one of a folded part."""
    return "".join(case_variants(each)[1:] for each in _with_variants(part)) or None


def _folded_variants(part: str) -> str | None:
    """Returns the folded character for each of `_variants`."""
    return "".join(each * (len(case_variants(each)) - 1) for each in _with_variants(part)) or None


def _with_variants(part: str) -> list[str]:
    return [each for each in dict.fromkeys(part) if not each.isascii()]


def _like_pattern(part: str) -> str | None:
    """Returns the pattern for LIKE in SQLite, or None if `_glob_pattern` is needed."""
    if _variants(part) is not None:
        return None
    for special in ("\\", "%", "_"):
        part = part.replace(special, f"\\{special}")
    return f"%{part}%"


def _glob_pattern(part: str) -> str | None:
    """Returns the pattern for GLOB in SQLite, or None if that for LIKE is enough."""
    if _variants(part) is None:
        return None
    return "".join(["*", *map(_one_of, part), "*"])


def _one_of(folded: str) -> str:
    """Returns what matches a character in GLOB."""
    variants = case_variants(folded)
    if folded.isascii() and folded.isalpha():
        variants += folded.upper()
    return f"[{variants}]" if len(variants) > 1 or folded in "*?[" else folded
