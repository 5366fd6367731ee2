"""SQL that is built once.

Building a Peewee query costs thirty times as much as running it, so a query is
written as a function of the dialect, built when it is first used, and kept as
text and the order of its parameters. Values are given by name at each run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson
from peewee import SQL, Database, Expression, Field, Node, Value, fn


class _Slot:
    """The place of a named value in a built query."""

    __slots__ = ("as_list", "name")

    def __init__(self, name: str, *, as_list: bool = False) -> None:
        self.name = name
        self.as_list = as_list


def param(name: str) -> Value:
    """Stands in a query for the value that is given under this name at each run."""
    return Value(_Slot(name), converter=False)


class Dialect(Protocol):
    """What differs between the databases."""

    def any_of(self, field: Field, name: str) -> Expression:
        """Compares a column with every item of the list given under this name.

        The text of the query does not depend on the length of the list.
        """

    def joined(self, field: Field) -> Node:
        """Joins the values of a group into one text with commas; null if there are none."""

    def object_of(self, key: Field, value: Field) -> Node:
        """Makes one JSON object of a group: values in JSON, by key. Without any, {} or null."""

    def insert_all(self, account_id: Field, fields: Sequence[Field], name: str) -> Node:
        """Inserts rows of one account: the list given under this name, a value for every field.

        The account is given under the name of its field. A row whose key is taken is
        passed over. The text of the query does not depend on how many rows there are.
        """

    def list_value(self, items: Sequence[Any]) -> Any:
        """Returns a list in the form in which `any_of` and `insert_all` bind it."""


class SqliteDialect:
    """Lists travel as JSON text.

    SQLite takes a quarter longer for rows in JSON than for rows one by one, but it
    does so without the interpreter, which meanwhile reads the next request.
    """

    def any_of(self, field: Field, name: str) -> Expression:
        items = SQL("(SELECT value FROM json_each(?))", [_Slot(name, as_list=True)])
        return Expression(field, "IN", items)

    def joined(self, field: Field) -> Node:
        query: Node = fn.GROUP_CONCAT(field)
        return query

    def object_of(self, key: Field, value: Field) -> Node:
        query: Node = fn.JSON_GROUP_OBJECT(key, fn.JSON(value))
        return query

    def insert_all(self, account_id: Field, fields: Sequence[Field], name: str) -> Node:
        values = ", ".join(f"value ->> {index}" for index in range(len(fields)))
        slots = [_Slot(account_id.name), _Slot(name, as_list=True)]
        rows = SQL(f"SELECT ?, {values} FROM json_each(?)", slots)  # noqa: S608 - no values in it
        query: Node = account_id.model.insert_from(rows, (account_id, *fields)).on_conflict_ignore()
        return query

    def list_value(self, items: Sequence[Any]) -> Any:
        return orjson.dumps(items).decode()


class Prepared(NamedTuple):
    """A query as text; `arguments` puts named values into its order."""

    sql: str
    names: tuple[str, ...]
    lists: frozenset[str]

    def arguments(self, values: Mapping[str, Any], dialect: Dialect) -> list[Any]:
        if not self.lists:
            return [values[name] for name in self.names]
        return [
            dialect.list_value(values[name]) if name in self.lists else values[name]
            for name in self.names
        ]


class Statement:
    """A query that is built once for each dialect.

    `build` is given the dialect and returns a Peewee query whose values are all
    `param(name)` or constants that never change.
    """

    def __init__(self, build: Callable[[Dialect], Node]) -> None:
        self._build = build
        self._prepared: dict[type, Prepared] = {}

    def prepared(self, dialect: Dialect, database: Database) -> Prepared:
        """Returns the query in this dialect, building it the first time."""
        known = self._prepared.get(type(dialect))
        if known is None:
            sql, values = database.get_sql_context().parse(self._build(dialect))
            if not all(isinstance(value, _Slot) for value in values):
                raise TypeError(f"a statement may only hold named parameters: {sql}")
            names = tuple(value.name for value in values)
            lists = frozenset(value.name for value in values if value.as_list)
            known = self._prepared[type(dialect)] = Prepared(sql, names, lists)
        return known
