"""Builds SQL statements once and runs them many times.

Building a Peewee query costs much more than running it. A query is therefore a function
of the dialect. Its first use builds and caches the SQL text and the order of the
parameters. Each run passes values by name.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, Protocol

from peewee import (
    OP,
    ColumnBase,
    Context,
    Database,
    Expression,
    Field,
    ModelInsert,
    ModelSelect,
    Node,
    Value,
)

Parameters = ParamSpec("Parameters")
# Converts a value to the form that the driver or the SQL accepts.
Bind = Callable[[Any], Any]


class Placeholder:
    """A named parameter of a built query; `bind` converts its value."""

    __slots__ = ("bind", "name")

    def __init__(self, name: str, bind: Bind | None = None) -> None:
        self.name = name
        self.bind = bind


def param(name: str) -> Value:
    """Returns a named parameter, whose value is passed at each run."""
    return Value(Placeholder(name), converter=False)


def params(*columns: Field) -> dict[Field, Value]:
    """Returns the columns of an insert or update with parameters of the same names."""
    return {column: param(column.name) for column in columns}


class Within(Expression):
    """`value IN query`. Peewee's own would build the query twice, to check for an empty list."""

    def __init__(self, value: Node, query: Node) -> None:
        super().__init__(value, OP.IN, query)

    def _is_rhs_empty(self, *_: object) -> bool:
        return False


class Fragment(ColumnBase):
    """A part of a query whose SQL is built once for each key, with other parameters each time.

    A filter can have many conditions of few kinds, and Peewee takes long to build each of them.
    `build` receives names of parameters to use instead of `names`, and returns a query or an
    expression. Its tables must have explicit aliases that differ from those of the query around it.
    """

    _built: ClassVar[dict[Hashable, tuple[str, Sequence[Placeholder]]]] = {}

    def __init__(
        self, key: Hashable, names: Sequence[str], build: Callable[[Sequence[str]], Node]
    ) -> None:
        self._key = key
        self._names = names
        self._build = build

    def build(self) -> Node:
        """Returns the query or expression."""
        return self._build(self._names)

    def __sql__(self, ctx: Context) -> Context:
        key = self._key, ctx.subquery, ctx.state.param
        built = self._built.get(key)
        if built is None:
            positions = tuple(map(str, range(len(self._names))))
            built = self._built[key] = self._sql(ctx, self._build(positions))
        text, placeholders = built
        ctx.literal(text)
        for each in placeholders:
            if each.name.isdecimal():
                each = Placeholder(self._names[int(each.name)], each.bind)
            ctx.value(each, False, add_param=False)
        return ctx

    @staticmethod
    def _sql(ctx: Context, node: Node) -> tuple[str, Sequence[Placeholder]]:
        # An expression, or an operand of a set operation, which has no parentheses.
        with ctx.as_new()(
            in_expr=True,
            in_function=False,
            in_projection=False,
            bare_subquery=False,
            subquery=ctx.subquery,
            converter=None,
        ) as new:
            text, placeholders = new.sql(node).query()
        return text, placeholders


class Dialect(Protocol):
    """The SQL that differs between databases.

    `counts_inserted_rows` is whether the number of changed rows of `insert_all` excludes skipped
    ones, so that RETURNING, which takes time for each row, is not needed.
    """

    counts_inserted_rows: bool

    def any_of(self, field: Field, name: str) -> Expression:
        """Compares a column with all items of the list parameter `name`.

        The SQL text does not depend on the length of the list.
        """

    def within(self, field: Field, query: Node) -> Expression:
        """Compares a column with all rows of a one-column query."""

    def object_of(self, key: Field, value: Field) -> Node:
        """Builds a JSON object from a group of keys and JSON values; {} or null if it is empty."""

    def texts_of(self, key: Field, value: Field) -> Node:
        """Builds a JSON object from a group of keys and texts; {} or null if it is empty."""

    def number_of(self, text: Field) -> Node:
        """Selects the number of a text that is one of JSON; null or 0 of other texts."""

    def text_of_plain(self, value: Field) -> Node:
        """Selects the text of a number or a boolean in JSON, without `.0` after an integer."""

    def domain_of(self, address: Node) -> Node:
        """Selects the part of an email address after the at sign."""

    def domain_in_scan(self, address: Field) -> Node:
        """Selects the domain in a scan of subscribers, if many of them can have it."""

    def joined_in_scan(self, column: Field) -> Node:
        """Selects a text column that is compared with a query that has many rows."""

    def mailbox_of(self, address: Field) -> Node:
        """Selects the part of an address before its tag (`+`) or at sign, without dots."""

    def text_of(self, value: Field) -> Node:
        """Selects the text of a JSON string."""

    def contains(self, text: Node, name: str, *, is_lowercase: bool = False) -> Node:
        """Whether a text contains the parameter `name`, which is the result of `fold_case`.

        `is_lowercase` is whether the text has no capital letters of ASCII, which need converting.
        Null if the text is null.
        """

    def locking(self, query: ModelSelect[Any], *, skips: bool = False) -> Node:
        """Locks the selected rows until the transaction ends (FOR UPDATE).

        Waits for rows that another transaction has locked, or omits them if `skips`. Does
        nothing on SQLite, which has one writer.
        """

    def insert_all(
        self, account_id: Field, fields: Sequence[Field], name: str, shared: Sequence[Field] = ()
    ) -> ModelInsert:
        """Inserts the rows of the list parameter `name`, each with a value per field.

        All rows have the same values of the fields `shared`, which are parameters of their names.

        All rows belong to one account, the parameter `account_id.name`. Skips rows with an
        existing key. The SQL text does not depend on the number of rows.

        RETURNING yields the inserted rows. The number of changed rows includes skipped ones on
        Citus, so a caller must not rely on it.
        """


class Prepared(NamedTuple):
    """A query as SQL text; `arguments` orders named values for it. `binds` are by position."""

    sql: str
    names: tuple[str, ...]
    binds: Mapping[int, Bind]

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        arguments = [values[name] for name in self.names]
        for position, bind in self.binds.items():
            arguments[position] = bind(arguments[position])
        return arguments


class Statement:
    """A query that is built once for each dialect.

    `build` receives the dialect and returns a Peewee query. All of its values are `param(name)`
    or SQL constants. A statement `without_account_lock` can run while another transaction
    writes to the account; it locks the rows that it depends on itself. A statement that
    `has_one_plan` uses the same indexes for all values, so PostgreSQL plans it only once.
    """

    def __init__(
        self,
        build: Callable[[Dialect], Node],
        *,
        without_account_lock: bool = False,
        has_one_plan: bool = False,
    ) -> None:
        self._build = build
        self.without_account_lock = without_account_lock
        self.has_one_plan = has_one_plan
        self._prepared: dict[type, Prepared] = {}

    def prepared(self, dialect: Dialect, database: Database) -> Prepared:
        """Returns the query in this dialect; builds it on first use."""
        known = self._prepared.get(type(dialect))
        if known is None:
            sql, values = database.get_sql_context().parse(self._build(dialect))
            if not all(isinstance(value, Placeholder) for value in values):
                raise TypeError(f"a statement may only hold named parameters: {sql}")
            names = tuple(value.name for value in values)
            binds = {at: value.bind for at, value in enumerate(values) if value.bind is not None}
            known = self._prepared[type(dialect)] = Prepared(sql, names, binds)
        return known


def cached_by_account(
    size: int,
) -> Callable[[Callable[Parameters, Statement]], Callable[Concatenate[str, Parameters], Statement]]:
    """Caches the statements that a function returns; its callers pass their account first.

    All accounts use a statement, and the first one owns it. A full cache drops the oldest statement
    of the account with the most, so that one with many filters does not replace those of others.
    """

    def decorated(
        make: Callable[Parameters, Statement],
    ) -> Callable[Concatenate[str, Parameters], Statement]:
        statements: dict[Hashable, Statement] = {}
        owned: dict[str, OrderedDict[Hashable, None]] = {}
        owners: dict[Hashable, str] = {}
        changing = threading.Lock()

        @wraps(make)
        def cached(
            account_id: str, /, *args: Parameters.args, **kwargs: Parameters.kwargs
        ) -> Statement:
            key = (args, tuple(kwargs.values()))
            with changing:
                known = statements.get(key)
                if known is not None:
                    owned[owners[key]].move_to_end(key)
                    return known
                if len(statements) >= size:
                    # Of accounts with equally many, the one that adds a statement.
                    owner = max(owned, key=lambda each: (len(owned[each]), each == account_id))
                    oldest, _ = owned[owner].popitem(last=False)
                    del statements[oldest], owners[oldest]
                    if not owned[owner]:
                        del owned[owner]
                made = statements[key] = make(*args, **kwargs)
                owners[key] = account_id
                owned.setdefault(account_id, OrderedDict())[key] = None
                return made

        return cached

    return decorated
