"""Converts accounts and API keys to messages."""

from __future__ import annotations

from google.protobuf.json_format import ParseDict

from roster.v1 import accounts_pb2, api_keys_pb2

from ...rpc.messages import timestamp
from ...storage.transaction import Transaction
from . import store
from .store_keys import ApiKeyRow


def account_message(row: store.AccountRow | None, tx: Transaction) -> accounts_pb2.Account:
    """Returns the message of the caller's account, with its logo."""
    assert row is not None  # an account with a key or a session is never deleted
    _, logo = store.find_logo(row.id, tx)
    return accounts_pb2.Account(
        id=row.id,
        email=row.email,
        email_verified=row.email_verified,
        display_name=row.display_name,
        color=row.color,
        logo=logo,
        created_at=timestamp(row.created_at),
    )


def api_key_message(row: ApiKeyRow) -> api_keys_pb2.ApiKey:
    return ParseDict(row.as_json(), api_keys_pb2.ApiKey())
