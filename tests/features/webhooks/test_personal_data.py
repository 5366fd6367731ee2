"""Removes a person from many events in short transactions."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from rosterd.server.features.events.store import count_webhooks
from rosterd.server.features.files.store_content import Files
from rosterd.server.features.subscribers.store_changes import update_profiles
from rosterd.server.features.subscribers.store_history import person_of
from rosterd.server.features.suppressions.store import Suppressions
from rosterd.server.features.webhooks import personal_data
from rosterd.server.features.webhooks.personal_data import PersonalData
from rosterd.server.rpc.idempotency.idempotent_database import IdempotentDatabase
from rosterd.server.storage.database import Database
from rosterd.server.storage.transaction import Transaction

from ...postgres import Postgres
from ...storage.helpers import ENCRYPTION, OURS, SUBSCRIBERS, email, new, select
from ...storage.opened import run

AT_ONCE, EVENTS = 10, 34
LEFT = "SELECT COUNT(*) FROM event WHERE envelope LIKE '%%ada@example.com%%'"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_person_with_many_events_is_erased_in_transactions_of_limited_size(
    kind: str, new_file: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{new_file}"
    if kind == "postgres":
        postgres: Postgres = request.getfixturevalue("postgres")
        url = postgres.new_roster()
    monkeypatch.setattr(personal_data, "MAX_CHANGED_EVENTS", AT_ONCE)
    left: list[int] = []

    def fill(tx: Transaction) -> None:
        count_webhooks(OURS, 1, tx)
        SUBSCRIBERS.create(OURS, new(), tx)
        for number in range(EVENTS - 1):
            update_profiles(OURS, [(email("ada"), {"first_name": f"Ada {number}"})], tx)

    async def scenario(database: Database) -> None:
        idempotent, files = IdempotentDatabase(database, ENCRYPTION), Files(database, ENCRYPTION)
        data = PersonalData(idempotent, Suppressions(ENCRYPTION), files)
        await database.write(fill)
        person = await database.read(partial(person_of, OURS, email("ada")))
        write = database.write

        async def recorded(work: object) -> object:
            result = await write(work)
            left.append(await database.read(lambda tx: int(select(LEFT, tx)[0][0])))
            return result

        monkeypatch.setattr(database, "write", recorded)
        first = await data.remove_early(OURS, person)
        await database.write(lambda tx: data.remove(OURS, person, set(), first, tx))

    run(url, scenario)
    assert left == [24, 14, 4, 0]
