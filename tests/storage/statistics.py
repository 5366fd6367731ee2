"""Counts subscribers again, for comparison with the stored statistics."""

from __future__ import annotations

from rosterd.server.storage.transaction import Transaction

from .helpers import select

_STORED = "SELECT name, total FROM statistic WHERE account_id = '{account}' AND day = 0"
_COUNTED = (
    "SELECT 'status:' || status, COUNT(*) FROM subscriber"
    " WHERE account_id = '{account}' GROUP BY status",
    "SELECT 'tag:' || tag_id || ':' || status, COUNT(*) FROM subscriber_tag AS t, subscriber AS s"
    " WHERE t.account_id = '{account}' AND s.account_id = '{account}' AND s.id = t.subscriber_id"
    " GROUP BY tag_id, status",
    "SELECT 'growth', COUNT(*) FROM subscriber WHERE account_id = '{account}' AND status = 2",
    "SELECT 'remaining', COUNT(*) FROM subscriber WHERE account_id = '{account}'",
)
_FLOWS = (
    "SELECT 'growth', SUM(CASE name WHEN 'growth' THEN total ELSE 0 END)"
    " FROM statistic WHERE account_id = '{account}' AND day > 0",
    "SELECT 'remaining',"
    " SUM(CASE WHEN name IN ('created', 'imported') THEN total"
    " WHEN name = 'deleted' THEN -total ELSE 0 END)"
    " FROM statistic WHERE account_id = '{account}' AND day > 0",
)


def stored(account: str, tx: Transaction) -> dict[str, int]:
    """Returns the stored totals, and the totals that follow from the flows of all days."""
    return _totals((_STORED, *_FLOWS), account, tx)


def counted(account: str, tx: Transaction) -> dict[str, int]:
    """Returns what the statistics must be."""
    return _totals(_COUNTED, account, tx)


def _totals(queries: tuple[str, ...], account: str, tx: Transaction) -> dict[str, int]:
    rows = [row for query in queries for row in select(query.replace("{account}", account), tx)]
    return {name: int(total) for name, total in rows if total}
