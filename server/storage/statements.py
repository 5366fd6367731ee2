"""SQL that is built once.

Building a Peewee query costs thirty times as much as running it, so a query is
written as a function of the dialect, built when it is first used, and kept as
text and the order of its parameters. Values are given by name at each run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from peewee import Database, Expression, Field, ModelSelect, Node, Value

# Gives the items of a list the form in which a driver takes them.
Bind = Callable[[Sequence[Any]], Any]


class Placeholder:
    """The place of a named value in a built query; `bind` gives a list the form that it takes."""

    __slots__ = ("bind", "name")

    def __init__(self, name: str, bind: Bind | None = None) -> None:
        self.name = name
        self.bind = bind


def param(name: str) -> Value:
    """Stands in a query for the value that is given under this name at each run."""
    return Value(Placeholder(name), converter=False)


class Dialect(Protocol):
    """What differs between the databases."""

    def any_of(self, field: Field, name: str) -> Expression:
        """Compares a column with every item of the list given under this name.

        The text of the query does not depend on the length of the list.
        """

    def within(self, field: Field, query: Node) -> Expression:
        """Compares a column with every item of the one column that a query gives."""

    def joined(self, field: Field) -> Node:
        """Joins the values of a group into one text with commas; null if there are none."""

    def object_of(self, key: Field, value: Field) -> Node:
        """Makes one JSON object of a group: values in JSON, by key. Without any, {} or null."""

    def locking(self, query: ModelSelect[Any], *, skips: bool = False) -> Node:
        """Locks the rows that a query selects until the transaction ends.

        Rows that another transaction has locked are waited for, or left out if it `skips`
        them. Where there is one writer, no row is.
        """

    def insert_all(self, account_id: Field, fields: Sequence[Field], name: str) -> Node:
        """Inserts rows of one account: the list given under this name, a value for every field.

        The account is given under the name of its field. A row whose key is taken is
        passed over. The text of the query does not depend on how many rows there are.
        """


class Prepared(NamedTuple):
    """A query as text; `arguments` puts named values into its order."""

    sql: str
    names: tuple[str, ...]
    binds: Mapping[str, Bind]

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        if not self.binds:
            return [values[name] for name in self.names]
        return [
            self.binds[name](values[name]) if name in self.binds else values[name]
            for name in self.names
        ]


class Statement:
    """A query that is built once for each dialect.

    `build` is given the dialect and returns a Peewee query whose values are all
    `param(name)` or constants that never change. One that is `without_account_lock` may write while
    another transaction writes to the account: what it relies on it locks by itself.
    """

    def __init__(
        self, build: Callable[[Dialect], Node], *, without_account_lock: bool = False
    ) -> None:
        self._build = build
        self.without_account_lock = without_account_lock
        self._prepared: dict[type, Prepared] = {}

    def prepared(self, dialect: Dialect, database: Database) -> Prepared:
        """Returns the query in this dialect, building it the first time."""
        known = self._prepared.get(type(dialect))
        if known is None:
            sql, values = database.get_sql_context().parse(self._build(dialect))
            if not all(isinstance(value, Placeholder) for value in values):
                raise TypeError(f"a statement may only hold named parameters: {sql}")
            names = tuple(value.name for value in values)
            binds = {value.name: value.bind for value in values if value.bind is not None}
            known = self._prepared[type(dialect)] = Prepared(sql, names, binds)
        return known
