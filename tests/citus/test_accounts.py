"""Checks and deletions of accounts in a distributed database."""

from __future__ import annotations

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.maintenance import account_deletion
from rosterd.server.storage.databases import unit_of_work

from ..cli.commands import json_output
from ..storage.helpers import SUBSCRIBERS, new
from .cluster import Cluster
from .distributed import row_counts

pytestmark = pytest.mark.verify


def test_accounts_on_all_nodes_are_checked_and_deleted(
    citus: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_deletion, "SECONDS_UNTIL_KEYS_STOP", 0)
    url, ids = citus.new_roster(), []
    for number in range(8):
        with unit_of_work(url) as tx:
            ids.append(accounts.create_account(f"{number}@x.de", tx, verified=True).id)
            SUBSCRIBERS.create_many(ids[-1], {n: new(f"s{n}", "vip") for n in range(5)}, tx)

    report = json_output(url, "check")

    assert (report["accounts"], report["subscribers"], report["findings"]) == (8, 40, [])
    for account in ids:
        json_output(url, "accounts", "delete", account, "--yes")
    assert row_counts(url) == [(0, 0, 0, 0)]
