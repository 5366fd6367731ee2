"""Authentication on both databases: the day of the last use, and the secret before a rotation."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret
from rosterd.server.features.accounts.uses import Uses
from rosterd.server.rpc.errors import Unauthorized
from rosterd.server.rpc.interceptors.auth_throttling import AuthThrottle
from rosterd.server.rpc.interceptors.authenticate import Authenticate
from rosterd.server.storage.database import Database
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock

from .opened import run

HOUR = 3_600_000
MIDNIGHT = 20_000 * 24 * HOUR
SECRETS = make_secret(), make_secret()
SECRET_HASHES = tuple(map(hash_secret, SECRETS))


def create(tx: Transaction, expires_at: int | None = None) -> tuple[str, str]:
    """Creates an account with a key, and returns the IDs of both."""
    account_id = store.create_account("ada@example.com", tx, verified=True).id
    secret_hash = SECRET_HASHES[0]
    key = store_keys.create_key(account_id, "ci", "read", secret_hash, tx, expires_at=expires_at)
    return account_id, key.id


async def call(authenticate: Authenticate, secret: str = SECRETS[0]) -> None:
    method = SimpleNamespace(is_public=False)
    metadata = [("authorization", f"Bearer {secret}")]
    call: Any = SimpleNamespace(method=method, metadata=metadata, client_address="")
    await authenticate.intercept(call)


def test_day_of_use_is_stored_once_by_a_task(url: str) -> None:
    clock = iter([MIDNIGHT - 1000, MIDNIGHT - 500, MIDNIGHT, MIDNIGHT + HOUR])

    async def scenario(database: Database) -> None:
        account, key_id = await database.write(create)
        uses = Uses(database, store_keys.record_use)

        def process() -> Authenticate:
            return Authenticate(database, clock.__next__, AuthThrottle(), uses, uses)

        async def stored() -> tuple[int, int | None]:
            changed = await uses.store()
            key = await database.read(partial(store_keys.find_key, account, key_id))
            return changed, key.last_used_at

        first = process()
        await call(first)
        assert (
            await database.read(partial(store_keys.find_key, account, key_id))
        ).last_used_at is None
        assert await stored() == (1, MIDNIGHT - 24 * HOUR)
        await call(process())
        assert await stored() == (0, MIDNIGHT - 24 * HOUR)
        # The entry of this process is not used beyond the day.
        await call(first)
        assert await stored() == (1, MIDNIGHT)
        await call(process())
        assert await stored() == (0, MIDNIGHT)

    run(url, scenario)


@pytest.mark.parametrize(
    ("grace_seconds", "ends_after"), [(0, 0), (600, 600_000), (7200, HOUR)], ids=str
)
def test_old_secret_works_until_the_grace_period_or_the_key_ends(
    url: str, grace_seconds: int, ends_after: int
) -> None:
    async def scenario(database: Database) -> None:
        now = system_clock()
        account, key_id = await database.write(partial(create, expires_at=now + HOUR))
        rotate = partial(store_keys.rotate_key, grace_seconds=grace_seconds)
        await database.write(partial(rotate, account, key_id, SECRET_HASHES[1]))

        async def works(secret: str, after: int) -> bool:
            uses = Uses(database, store_keys.record_use)
            authenticate = Authenticate(database, lambda: now + after, AuthThrottle(), uses, uses)
            try:
                await call(authenticate, secret)
            except Unauthorized:
                return False
            return True

        assert await works(SECRETS[1], HOUR - 1)
        assert not await works(SECRETS[1], HOUR)
        if grace_seconds:
            assert await works(SECRETS[0], ends_after - 1)
        # The rotation was a little later than `now`.
        assert not await works(SECRETS[0], ends_after + 60_000)

    run(url, scenario)
