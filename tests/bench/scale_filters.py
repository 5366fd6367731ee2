"""Measures pages of filtered lists in any order, totals, and values of custom fields in a million.

`python -m tests.bench.scale_filters` measures these only. The subscribers have 5 tags and 10 custom
fields each, see `scale_filters_fill.py`.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from rosterd.server.features.custom_fields.store import types
from rosterd.server.features.custom_fields.store_values import frequent_values
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.query.plan import (
    COUNT_ALL,
    Counting,
    Order,
    PagePosition,
    plan_of,
    read_in_order,
)
from rosterd.server.features.subscribers.query.store_groups import count_groups
from rosterd.server.features.subscribers.query.store_pages import page_without_total, read_page
from rosterd.server.storage.database import Database
from rosterd.server.storage.databases import database_at
from rosterd.server.values.database_url import parse_database_url

from .. import reaper
from ..postgres import running
from ..storage.helpers import after_page, tree_of
from .scale_fill import ACCOUNT
from .scale_filters_fill import fill_for_filters

SIZE = 1_000_000
# The default number of connections to PostgreSQL.
CONNECTIONS = 8
LIMIT = 20
# Each filter is measured for at least this time, and at least so often.
SECONDS, REPETITIONS = 1.0, 5


class Case(NamedTuple):
    """The parameters of a list, a filter expression, and a page; that of an export has no total.

    `groups` is whether the matches are counted by status and by tag instead. `key` and `prefix` are
    a custom field and the prefix of its values, whose total is that of the suggestions. If
    `is_continued`, the page follows the first one, by a page token.
    """

    parameters: Mapping[str, Any] = {}
    filter: str = ""
    offset: int = 0
    limit: int = LIMIT
    has_total: bool = True
    key: str = ""
    prefix: str = ""
    order_by: Order = Order.CREATED
    descending: bool = False
    counting: Counting = COUNT_ALL
    groups: str = ""
    is_continued: bool = False
    following: PagePosition | None = None

    @property
    def position(self) -> PagePosition:
        return self.following or PagePosition(
            self.limit, self.offset, descending=self.descending, order_by=self.order_by
        )


PRO, HALF = "customFields.plan=pro", "NOT tags:half1 AND NOT tags:tenth3"
SPARSE = "tags:tenth3 AND customFields.level=3"
ORDERED = {
    "": Case(),
    " desc": Case(descending=True),
    ", page 40,000": Case(offset=799_980),
    ": status (75 %)": Case({"status": Status.CONFIRMED}),
    ": tag (0.1 %)": Case({"tag": "k7"}),
    ": tag (50 %), page 20,000": Case({"tag": "half1"}, offset=399_980),
    ": q (6 %)": Case({"q": "b"}),
    **{f": {text}": Case(filter=text) for text in (PRO, HALF, 'email="b*"', "firstName=Ada17")},
    f": {HALF}, page 10,000": Case(filter=HALF, offset=199_980),
    f": {PRO}, page 10,000": Case(filter=PRO, offset=199_980),
    f": {SPARSE}": Case(filter=SPARSE),
    f": {SPARSE}, page 250": Case(filter=SPARSE, offset=4_980),
    f": {HALF}, continued": Case(filter=HALF, is_continued=True),
    f": {HALF}, no total": Case(filter=HALF, counting=Counting(0)),
    f": {HALF}, at most 10,000": Case(filter=HALF, counting=Counting(10_000)),
    ': email:"a1b2"': Case(filter='email:"a1b2"'),
}
ORDERS = (Order.EMAIL, Order.LAST_NAME, Order.STATUS_CHANGED, Order.UPDATED)
CASES: dict[str, Case] = {
    "no filter": Case(),
    "page 10,000 of 100": Case(offset=999_900, limit=100),
    "status (75 %)": Case({"status": Status.CONFIRMED}),
    "tag (100 %)": Case({"tag": "all"}),
    "tag (0.1 %)": Case({"tag": "k7"}),
    "q (16 matches)": Case({"q": "a1b2"}),
    "q (6 %)": Case({"q": "b"}),
    "q (100 %)": Case({"q": "ada"}),
    "q (6 %), page 1,000": Case({"q": "b"}, offset=19_980),
    "status and tag (10 %)": Case({"status": Status.UNSUBSCRIBED, "tag": "all"}),
    "status and tag (75 %)": Case({"status": Status.CONFIRMED, "tag": "all"}),
    "export of a domain": Case(filter="email.domain=d95.example", limit=500, has_total=False),
    "values of plan": Case(key="plan"),
    "values of code (all different)": Case(key="code"),
    "values of code (16 matches)": Case(key="code", prefix="a1b2"),
    "values of city (56 %)": Case(key="city", prefix="city 1"),
    "values of level": Case(key="level"),
    "export of q (16 matches)": Case({"q": "a1b2"}, limit=500, has_total=False),
    "export of q (100 %)": Case({"q": "ada"}, limit=500, has_total=False),
    "tag (50 %), page 20,000": Case({"tag": "half1"}, offset=399_980),
    f"q (6 %) and {PRO}": Case({"q": "b"}, filter=PRO),
    f"q (16 matches) and {PRO}": Case({"q": "a1b2"}, filter=PRO),
    f"{PRO}, page 10,000": Case(filter=PRO, offset=199_980),
    f"{PRO}, page 16,000, no total": Case(filter=PRO, offset=319_980, counting=Counting(0)),
    **{
        f"{text}, {name}": case._replace(filter=text)
        for text in (PRO, 'email:"b2"')
        for name, case in {
            "no total": Case(counting=Counting(0)),
            "at most 10,000": Case(counting=Counting(10_000)),
            "continued": Case(is_continued=True),
        }.items()
    },
    # The first revision and the middle one of `scale_filters_fill`.
    **{
        f"updated after ({percent} %)": Case(
            {"updated_after": revision}, limit=100, order_by=Order.UPDATED
        )
        for percent, revision in ((100, 0), (50, 1_760_000_500_000_000), (1, 1_760_000_990_000_000))
    },
    "q (100 %), no total": Case({"q": "ada"}, counting=Counting(0)),
    **{
        f"{order}{name}": case._replace(order_by=order)
        for order in ORDERS
        for name, case in ORDERED.items()
    },
    **{
        f"by {group}: {name}": case._replace(groups=group)
        for group in ("status", "tag")
        for name, case in {
            PRO: Case(filter=PRO),
            HALF: Case(filter=HALF),
            "tag (0.1 %)": Case({"tag": "k7"}),
            "q (6 %)": Case({"q": "b"}),
            'email="b*"': Case(filter='email="b*"'),
            'email:"b2"': Case(filter='email:"b2"'),
        }.items()
    },
} | {
    text: Case(filter=text)
    for text in (
        "tags:half1 OR status=CONFIRMED",
        "NOT tags:half1",
        "tags:half1 AND tags:tenth3",
        "email.domain=example.com",
        "email.domain=d95.example",
        "firstName=Ada17",
        'lastName="Love*"',
        'email="b*"',
        'email="b*" AND status=CONFIRMED',
        'email:"a1b2"',
        'email:"MAIL.EX"',
        'email:"é"',
        'email.domain:"95"',
        'name:"A17 L"',
        'name:"LOVE"',
        'email:"1b2" AND name:"a17"',
        'email:"b2" OR customFields.plan=pro',
        "consentSource:*",
        "tagCount > 4",
        'customFields.city:"TY 17"',
        "customFields.score > customFields.spent",
        "customFields.plan=pro",
        'customFields.code="a1b2*"',
        "customFields.score > 500000",
        "customFields.plan=pro AND tags:k7",
        "customFields.plan=pro AND customFields.optin=true",
        "NOT customFields.optin=true AND tags:half1 AND status=CONFIRMED",
        "firstName=Ada17 AND customFields.plan=pro AND status=CONFIRMED",
        'firstName="Ada1*" AND customFields.plan=pro AND tags:half1',
        'email="a1*" AND customFields.plan=pro AND tags:half1',
        'email="b*" AND tags:half1',
        'email="b*" AND customFields.plan=pro',
        "email.domain=example.com AND tags:half1 AND status=CONFIRMED",
        "email.domain=example.com AND customFields.plan=pro AND customFields.optin=true",
        "email.domain=example.com OR customFields.plan=pro OR customFields.optin=true",
        "confirmedAt > 2025-10-09 AND customFields.plan=pro AND tags:half1",
        "tags:all AND tags:half1 AND tags:tenth3",
        "customFields.plan=pro AND customFields.optin=true AND tags:half1",
        "customFields.plan=pro OR customFields.optin=true OR tags:half1",
        "customFields.score > 500000 AND customFields.level > 3 AND customFields.born > 2021-06-01",
        "customFields.score > 500000 OR customFields.level > 3 OR customFields.born > 2021-06-01",
    )
}


async def _medians(url: str, names: Sequence[str]) -> dict[str, tuple[float, int]]:
    database = database_at(parse_database_url(url), CONNECTIONS)
    await database.open()
    field_types = await database.read(partial(types, ACCOUNT))
    found = {name: await _median(database, CASES[name], field_types) for name in names}
    await database.close()
    return found


async def _median(
    database: Database, case: Case, field_types: Mapping[str, int]
) -> tuple[float, int]:
    times: list[float] = []
    total = 0
    if case.is_continued:
        tree = tree_of(case.filter, field_types, **case.parameters)
        first = await read_page(database, ACCOUNT, plan_of(tree), case.position)
        following = after_page(case.position, first)
        case = case._replace(following=following, counting=Counting(known=first.total))
    # The first run reads the pages of the file, and does not count.
    while len(times) <= REPETITIONS or sum(times) < SECONDS:
        started = time.perf_counter()
        tree = tree_of(case.filter, field_types, **case.parameters)
        total = await _read(database, tree, case, field_types)
        times.append(time.perf_counter() - started)
        if len(times) > 10 * REPETITIONS:
            break
    return statistics.median(times[1:]) * 1000, total


async def _read(database: Database, tree: Any, case: Case, field_types: Mapping[str, int]) -> int:
    """Returns the number of matches, or of rows of a page without a total."""
    if case.key:
        read = partial(frequent_values, ACCOUNT, case.key, field_types[case.key], case.prefix)
        return sum(total for _, total in (await database.read(read)).totals)
    if case.groups:
        count = partial(count_groups, ACCOUNT, tree, with_tags=case.groups == "tag")
        return sum((await database.read(count)).by_status.values())
    if not case.has_total:
        export = partial(page_without_total, ACCOUNT, read_in_order(tree), case.position)
        return len(await database.read(export))
    found = await read_page(database, ACCOUNT, plan_of(tree), case.position, case.counting)
    return len(found.rows) if found.total is None else found.total


def measure(urls: Mapping[str, str], names: Sequence[str] = tuple(CASES)) -> None:
    """Prints the medians of filters, in milliseconds by database."""
    table = Table("ms for page 1 with its total, or as named", "matches", *urls, box=None)
    columns = [asyncio.run(_medians(url, names)) for url in urls.values()]
    for name, (_, total) in columns[0].items():
        if any(column[name][1] != total for column in columns):
            raise SystemExit(f"the databases have different totals for {name}")
        table.add_row(name, f"{total:,}", *(f"{column[name][0]:.1f}" for column in columns))
    Console(highlight=False, width=130).print(table)


@contextmanager
def filled() -> Iterator[dict[str, str]]:
    """Fills an account on both databases, and yields their URLs by the name of the database."""
    with tempfile.TemporaryDirectory(dir=".") as folder, running(on_disk=True) as server:
        urls = {
            "SQLite": f"sqlite:///{folder}/filters.db",
            "PostgreSQL": server.new_database("TEMPLATE template0"),
        }
        for url in urls.values():
            fill_for_filters(url, SIZE)
        server.run("CHECKPOINT")
        yield urls


def main(measure: Callable[[Mapping[str, str]], None]) -> None:
    """Measures the account that only this program fills, by the URLs of its databases."""
    reaper.start()
    with filled() as urls:
        measure(urls)


if __name__ == "__main__":
    main(measure)
