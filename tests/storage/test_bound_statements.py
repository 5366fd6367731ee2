"""Every statement in the code binds each account table to one account, as parsed by PostgreSQL.
On Citus, a statement runs on one node only if it compares the account_id column of every
distributed table with the account. A join to a table that is compared is not enough in all cases.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any, cast

from pglast import ast as tree
from pglast import parse_sql
from pglast.enums import A_Expr_Kind, BoolExprType, JoinType
from playhouse.postgres_ext import Psycopg3Database

from rosterd import server
from rosterd.server.features.audit import store as audit
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.subscribers.query.plan import COUNT_ALL, Counting, Order, PagePosition
from rosterd.server.features.subscribers.query.store_groups import MATCHES, count_groups
from rosterd.server.features.subscribers.query.store_pages import ids_after, page_without_total
from rosterd.server.features.webhooks.query import store_pages as deliveries
from rosterd.server.features.webhooks.rules import DeliveryState
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.account_rows import AccountTable
from rosterd.server.storage.citus.distribution import REFERENCE_TABLES
from rosterd.server.storage.dialects import PostgresDialect
from rosterd.server.storage.references import Reference
from rosterd.server.storage.resource import LargeDeletion, Resource
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, THEIRS, page, tree_of
from .test_migrate import models

ROOT = Path(server.__file__).parent
DATABASE, DIALECT = Psycopg3Database("roster"), PostgresDialect()
# Distributed tables. The others are reference tables.
OWNED = {model._meta.table_name for model in models()} - set(REFERENCE_TABLES)

# Statements that do not bind the account, and the reason.
UNBOUND = {
    "features.accounts.store_keys._IDENTIFY": "resolves a key to its account; reference table",
    "features.accounts.store_keys._ACCOUNT_OF_KEY": "operator command by key id; reference table",
    "features.accounts.store_keys._LIST_KEYS": "operator command; reference table",
    "features.accounts.store._LIST_ACCOUNTS": "operator command and first start; reference table",
    "features.accounts.store._IDS_BEYOND": "maintenance of all accounts; reference table",
    "features.accounts.store._INSERT_ACCOUNT": "creates an account; reference table",
    "features.accounts.store._FIND_ACCOUNT_BY_EMAIL": "operator command; reference table",
    "features.subscribers.store_reading._NEWEST": "once at start, on each node",
    "features.operations.store._WITH_RUNNING": "operations of all accounts, on each node",
    "features.webhooks.delivery.store_queue._ALL": "once at start, on each node",
    "features.webhooks.delivery.store_queue._WITH_WORK": (
        "delivery for all accounts, on each node"
    ),
    "features.webhooks.delivery.store_queue._BACKLOG": ("backlog of all accounts, on each node"),
    "features.webhooks.delivery.store_queue._OLDEST_EVENT": "backlog of all accounts, on each node",
    "storage.installation._FIND": "one row per installation; reference table",
    "storage.installation._INSERT": "one row per installation; reference table",
    "storage.installation._UPDATE": "one row per installation; reference table",
    "storage.installation._LOCK": "one row per installation; reference table",
    "storage.installation._ALL_KEYS": "data keys of the installation; reference table",
    "storage.installation._INSERT_KEYS": "data keys of the installation; reference table",
    "storage.installation._DELETE_KEYS": "data keys of the installation; reference table",
}
# The same of every resource: once at start, and deleted rows of all accounts, on each node.
UNBOUND_OF_RESOURCES = ("_newest", "_accounts")

# Functions that build statements. All of them are called below.
MAKERS = {
    "features.audit.store._count",
    "features.audit.store._rows",
    "features.subscribers.store_changes._update",
    "features.subscribers.query.store_pages._select_page",
    "features.subscribers.query.store_pages._select_among",
    "features.subscribers.query.store_pages._select_count",
    "features.subscribers.query.store_pages._select_ids",
    "features.subscribers.query.store_pages._select_count_up_to",
    "features.subscribers.query.store_groups._select_groups",
    "features.subscribers.query.store_orders.select_range",
    "features.subscribers.query.store_orders._select_scanned",
    "features.subscribers.query.store_orders._count_scanned",
    "features.subscribers.query.store_orders._select_sorted",
    "features.subscribers.query.store_pages._count_candidates",
    "features.subscribers.query.store_search._counting",
    "features.subscribers.query.store_search._scanning",
    "features.subscribers.query.store_search._sorting",
    "features.sessions.store._of_both",
    "features.webhooks.query.store_matches.select_page",
    "features.webhooks.query.store_matches.select_count",
    "features.webhooks.query.store_matches.select_nth_of_each",
    "storage.account_rows.__init__",
    "storage.references.__init__",
    "storage.resource.__init__",
}

FIELDS = {"plan": DataType.TEXT, "score": DataType.NUMBER}
EXPRESSIONS = (
    "tags:a AND status=CONFIRMED",
    "NOT tags:a AND NOT tags:b*",
    "tags:* OR firstName=Ada OR email.domain=x.de",
    'customFields.plan="a*" AND (customFields.score > 1 OR NOT customFields.plan:*)',
    "(tags:a OR tags:b) AND (tags:c OR NOT tags:d) AND NOT (tags:a AND tags:b)",
    'email="a@x.de" AND status=CONFIRMED AND confirmedAt:*',
    f"customFields.plan={'a' * 80}",
)


class Recorder:
    """Records statements like a transaction. Returns no rows, and the same number of all counts."""

    now = 0

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    def all(self, statement: Statement, **_: Any) -> list[Any]:
        self.statements.append(statement)
        return []

    def one(self, statement: Statement, **_: Any) -> tuple[int, int]:
        self.statements.append(statement)
        return 1_000_000, 1_000_000

    def scalar(self, statement: Statement, **_: Any) -> int:
        self.statements.append(statement)
        return 1_000_000


def modules() -> Iterator[str]:
    for file in sorted(ROOT.rglob("*.py")):
        has_statements = re.search(r"(Statement|Resource)\(", file.read_text())
        if has_statements and "migrations" not in file.parts:
            yield ".".join(file.relative_to(ROOT).with_suffix("").parts)


def named_statements() -> dict[str, Statement]:
    """Returns the statements that are module attributes, or those of one, by qualified name."""
    found = {}
    for name in modules():
        for attribute, item in vars(import_module(f"rosterd.server.{name}")).items():
            if isinstance(item, Statement):
                found[f"{name}.{attribute}"] = item
            for each in item if isinstance(item, tuple) else (item,):
                if isinstance(each, (Resource, LargeDeletion, Reference)):
                    found |= statements_of(each, f"{name}.{attribute}{getattr(each, 'name', '')}")
    return found


def statements_of(owner: Any, name: str) -> dict[str, Statement]:
    """Returns the statements that are attributes of an object, by qualified name."""
    return {
        f"{name}.{attribute}": item
        for attribute, item in vars(owner).items()
        if isinstance(item, Statement)
    }


def account_table_statements() -> dict[str, Statement]:
    """Returns the statements for the rows of an account in each of its tables."""
    found = {}
    for model in models():
        if "account_id" in model._meta.fields:
            key = [field.column_name for field in model._meta.get_primary_keys()]
            table = AccountTable(model._meta.table_name, key)
            found |= statements_of(table, f"storage.account_rows.{table.name}")
    return found


def subscriber_page_statements() -> dict[str, Statement]:
    """Returns the subscriber page statements of up to two filters and of all.

    Orders other than that of creation are combined with up to one filter and with all.
    """
    every = {
        "status": 2,
        "tag": "t",
        "email": "e",
        "q": "a",
        "first_id": OURS,
        "end_id": OURS,
        "updated_after": 1,
        "updated_before": 2,
    }
    found = {}
    for chosen in chain.from_iterable(combinations(every, n) for n in (0, 1, 2, len(every))):
        orders = Order if len(chosen) in (0, 1, len(every)) else (Order.CREATED,)
        for descending, order_by in product((False, True), orders):
            recorder = Recorder()
            tx = cast(Transaction, recorder)
            filters = tree_of(**cast(dict[str, Any], {name: every[name] for name in chosen}))
            position = PagePosition(2, descending=descending, order_by=order_by)
            for counting in (COUNT_ALL, Counting(0), Counting(10)):
                page(OURS, filters, position, tx, counting)
                for key in (None, 1):
                    page(OURS, filters, position._replace(after=OURS, after_key=key), tx, counting)
            if order_by is Order.CREATED:
                page_without_total(OURS, filters, position._replace(after=OURS), tx)
            order = f"{order_by.value} {'descending' if descending else 'ascending'}"
            for number, statement in enumerate(recorder.statements):
                found[f"{'+'.join(chosen) or 'everyone'}, {order}, {number}"] = statement
    return found


def expression_statements() -> dict[str, Statement]:
    """Returns the statements of pages with filter expressions."""
    found = {}
    for text in EXPRESSIONS:
        recorder = Recorder()
        tx = cast(Transaction, recorder)
        for conditions in (tree_of(text, FIELDS), tree_of(text, FIELDS, end_id=OURS)):
            page(OURS, conditions, PagePosition(2), tx)
            ids_after(OURS, conditions, OURS, 2, tx)
            count_groups(OURS, conditions, tx, with_tags=True)
        for number, statement in enumerate(recorder.statements):
            found[f"{text}, {number}"] = statement
    return found


def delivery_page_statements() -> dict[str, Statement]:
    """Returns the delivery page statements for all statuses and combinations of filters."""
    every = {"event_types": ["tag.deleted"], "event_id": OURS, "first_id": OURS, "end_id": OURS}
    of_search = {"webhook_id": THEIRS, "subscriber_id": OURS, "http_status": 503}
    found = {}
    for status in (None, *DeliveryState):
        for chosen in _combinations(every):
            recorder = Recorder()
            tx = cast(Transaction, recorder)
            filters = deliveries.Filter(status, **{name: every[name] for name in chosen})
            deliveries.page(OURS, THEIRS, filters, Page(1, 2), tx)
            for others in _combinations(of_search):
                search = deliveries.Search(filters, **{name: of_search[name] for name in others})
                deliveries.page_of_all(OURS, search, Page(1, 2), tx)
            for number, statement in enumerate(recorder.statements):
                name = f"deliveries {status} {'+'.join(chosen)}, {number}"
                found[name] = statement
    return found


def _combinations(names: Collection[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(names, n) for n in range(len(names) + 1))


def audit_page_statements() -> dict[str, Statement]:
    """Returns the statements of pages of the audit log for all combinations of filters."""
    found = {}
    names = audit.Filter._fields
    for chosen in _combinations(names):
        recorder = Recorder()
        filters = audit.Filter(**dict.fromkeys(chosen, OURS))
        audit.page(OURS, filters, Page(1, 2), cast(Transaction, recorder))
        for number, statement in enumerate(recorder.statements):
            found[f"audit {'+'.join(chosen)}, {number}"] = statement
    return found


@cache
def numbered(statement: Statement) -> tuple[str, tuple[str, ...]]:
    """Returns a statement as PostgreSQL prepares it, and its parameter names by number."""
    prepared = statement.prepared(DIALECT, DATABASE)
    first, *rest = prepared.sql.split("%s")
    assert len(rest) == len(prepared.names)
    return first + "".join(
        f"${number}{text}" for number, text in enumerate(rest, 1)
    ), prepared.names


def distinct(statements: dict[str, Statement]) -> dict[str, Statement]:
    """Returns the first statement of each text."""
    by_text: dict[str, str] = {}
    for name, statement in statements.items():
        by_text.setdefault(numbered(statement)[0], name)
    return {name: statements[name] for name in by_text.values()}


def is_unbound(name: str) -> bool:
    return name in UNBOUND or name.rpartition(".")[2] in UNBOUND_OF_RESOURCES


@cache
def every_statement() -> dict[str, Statement]:
    """Returns all statements by name. Building them takes seconds, so no import does."""
    pages = subscriber_page_statements() | expression_statements()
    pages |= delivery_page_statements() | audit_page_statements()
    return named_statements() | account_table_statements() | distinct(pages)


# Named statements can have the same text, and parsing one takes a millisecond.
@cache
def parse(text: str) -> Any:
    """Returns the syntax tree of a statement."""
    (raw,) = parse_sql(text)
    return raw.stmt


def walk(node: Any) -> Iterator[Any]:
    """Yields a node and all its descendants."""
    remaining = [node]
    while remaining:
        node = remaining.pop()
        if isinstance(node, tuple):
            remaining += node
        elif isinstance(node, tree.Node):
            yield node
            remaining += [getattr(node, name) for name in node]


def tables_in_from(item: Any) -> tuple[list[Any], list[Any]]:
    """Returns the tables and the join conditions of a FROM item."""
    if isinstance(item, tree.RangeVar):
        return [item], []
    if isinstance(item, tree.JoinExpr):
        sides = [tables_in_from(side) for side in (item.larg, item.rarg)]
        join_conditions = [item.quals] if item.jointype == JoinType.JOIN_INNER else []
        return [t for tables, _ in sides for t in tables], [
            *join_conditions,
            *(c for _, conditions in sides for c in conditions),
        ]
    return [], []


def is_account(node: Any, names: tuple[str, ...]) -> bool:
    if isinstance(node, tree.TypeCast):
        node = node.arg
    return isinstance(node, tree.ParamRef) and names[(node.number or 0) - 1] == "account_id"


def bound_by(condition: Any, names: tuple[str, ...]) -> set[str]:
    """Returns the tables whose account_id must equal the account if a condition is true."""
    if isinstance(condition, tree.BoolExpr) and condition.boolop != BoolExprType.NOT_EXPR:
        each = [bound_by(argument, names) for argument in condition.args]
        is_and = condition.boolop == BoolExprType.AND_EXPR
        return set.union(*each) if is_and else set.intersection(*each)
    is_comparison = (
        isinstance(condition, tree.A_Expr)
        and condition.kind == A_Expr_Kind.AEXPR_OP
        and [word.sval for word in condition.name] == ["="]
    )
    if not is_comparison or not isinstance(condition.lexpr, tree.ColumnRef):
        return set()
    *table, column = [word.sval for word in condition.lexpr.fields]
    if column != "account_id" or not is_account(condition.rexpr, names):
        return set()
    return {table[0] if table else ""}


def account_tables(node: Any) -> bool:
    if node.relname == MATCHES:
        # A table expression, whose query is checked like every other.
        return False
    assert node.relname in OWNED | set(REFERENCE_TABLES), f"{node.relname} is no table"
    return node.relname in OWNED


def unbound_tables(node: Any, names: tuple[str, ...]) -> list[str]:
    """Returns the tables that one level of a statement reads or changes without binding the
    account.
    """
    if isinstance(node, tree.InsertStmt):
        return is_unbound_insert(node, names)
    sources = {
        tree.SelectStmt: ("fromClause",),
        tree.DeleteStmt: ("relation", "usingClause"),
        tree.UpdateStmt: ("relation", "fromClause"),
    }.get(type(node), ())
    items: list[Any] = []
    for source in sources:
        item = getattr(node, source)
        items += item if isinstance(item, tuple) else [item] if item else []
    if not items:
        return []
    read = [tables_in_from(item) for item in items]
    conditions = [node.whereClause, *(c for _, clauses in read for c in clauses)]
    bound = set().union(*(bound_by(condition, names) for condition in conditions))
    tables = [table for names, _ in read for table in names]
    return [
        table.relname
        for table in tables
        if account_tables(table)
        and (table.alias.aliasname if table.alias else table.relname) not in bound
        and not ("" in bound and len(tables) == 1)
    ]


def is_unbound_insert(node: Any, names: tuple[str, ...]) -> list[str]:
    """Returns the table if the INSERT statement could add rows of other accounts."""
    columns = [column.name for column in node.cols]
    if not account_tables(node.relation):
        return []
    at = columns.index("account_id")
    query = node.selectStmt
    rows = query.valuesLists or [[target.val for target in query.targetList]]
    # The tables of the query are checked as those of every other.
    is_bound = all(is_account(row[at], names) or is_column_of_account(row[at]) for row in rows)
    return [] if is_bound else [node.relation.relname]


def is_column_of_account(node: Any) -> bool:
    return isinstance(node, tree.ColumnRef) and (node.fields or ())[-1].sval == "account_id"


def tables_of(statement: Statement) -> set[str]:
    tree_of_statement = parse(numbered(statement)[0])
    return {node.relname for node in walk(tree_of_statement) if isinstance(node, tree.RangeVar)}


def unbound(statement: Statement) -> list[str]:
    """Returns the account tables that a statement does not bind to the account."""
    return unbound_in(*numbered(statement))


@cache
def unbound_in(text: str, names: tuple[str, ...]) -> list[str]:
    """Returns the account tables that a text with these parameters does not bind."""
    return [table for node in walk(parse(text)) for table in unbound_tables(node, names)]


# One test covers hundreds of statements, because parsing one takes a millisecond.
def test_every_account_table_in_a_statement_is_bound_to_the_account() -> None:
    tables = {name: unbound(it) for name, it in every_statement().items() if not is_unbound(name)}

    assert tables
    assert {name: found for name, found in tables.items() if found} == {}


def test_unbound_statements_are_listed_and_do_not_mix_kinds_of_tables() -> None:
    statements = every_statement()
    nameless = {name for name, it in statements.items() if "account_id" not in numbered(it)[1]}

    assert nameless == {name for name in statements if is_unbound(name)} >= UNBOUND.keys()
    for name in nameless:
        # A reference table cannot reference a distributed table.
        tables = tables_of(statements[name])
        assert tables <= set(REFERENCE_TABLES) or tables <= OWNED, name


def test_statements_are_created_only_in_stores() -> None:
    makers = set()
    for name in modules():
        module = ast.parse((ROOT / f"{name.replace('.', '/')}.py").read_text())
        functions = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)]
        makers |= {
            f"{name}.{function.name}"
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Statement"
        }

    assert makers == MAKERS
