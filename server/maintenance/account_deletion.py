"""Deletes an account with all of its data, while services run.

1. The API keys, sessions and sign-in links are deleted. Services cache keys, so the next step waits
   until none accepts them. A running import checks its key in each transaction.
2. The rows of each table are deleted in short transactions.
3. The last transaction deletes what running work has added meanwhile, and the account itself.
4. On SQLite, the large files of the account are deleted from the disk.

The account exists until the last step, so an interrupted deletion can be repeated.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ..config import Settings
from ..features.accounts import store as accounts
from ..features.accounts import store_keys
from ..features.sessions import store as sessions
from ..storage.account_rows import CHUNK, AccountTable, account_tables
from ..storage.databases import Begin
from ..storage.sqlite.file import files_folder
from .pauses import paused_after

# A service accepts a deleted key for at most 5 seconds.
SECONDS_UNTIL_KEYS_STOP = 6.0
# Receives the number of rows that were deleted so far.
ReportProgress = Callable[[int], None]


def delete_account(
    account_id: str, begin: Begin, report_progress: ReportProgress
) -> dict[str, int]:
    """Deletes an account, and returns the number of its rows by table."""
    removed: Counter[str] = Counter()
    with begin() as tx:
        tables = account_tables(tx.database)
        removed["api_key"] += store_keys.delete_keys(account_id, tx)
        session_ids, links = sessions.delete_all(account_id, tx)
    removed.update({"session": len(session_ids), "sign_in_link": links})
    time.sleep(SECONDS_UNTIL_KEYS_STOP)
    while True:
        for table in tables:
            while _delete_some(account_id, table, begin, removed) == CHUNK:
                report_progress(removed.total())
        if _finish(account_id, tables, begin, removed):
            return {name: rows for name, rows in removed.items() if rows}


def remove_files(database_url: str, account_id: str) -> None:
    """Removes the large files of a deleted account that are not in the database."""
    location = Settings.database_url.parse(database_url)
    if isinstance(location, Path):
        shutil.rmtree(files_folder(location) / account_id, ignore_errors=True)


def _delete_some(account_id: str, table: AccountTable, begin: Begin, removed: Counter[str]) -> int:
    with paused_after(), begin() as tx:
        rows = table.delete_some(account_id, tx)
    removed[table.name] += rows
    return rows


def _finish(
    account_id: str, tables: Sequence[AccountTable], begin: Begin, removed: Counter[str]
) -> bool:
    """Deletes the rest of the rows and the account. Returns False if there are too many rows."""
    with begin() as tx:
        rest = Counter({table.name: table.delete_some(account_id, tx) for table in tables})
        is_last = max(rest.values()) < CHUNK
        if is_last:
            accounts.delete_account(account_id, tx)
    removed.update(rest)
    return is_last
