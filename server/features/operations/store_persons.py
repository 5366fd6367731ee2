"""Removes the addresses of erased persons from operations."""

from __future__ import annotations

from collections.abc import Collection

from ...rpc.errors import SubscriberNotFound
from ...storage.statements import Statement
from ...storage.transaction import Transaction
from ...values.emails import json_without_addresses
from . import store
from .models import Operation
from .store_filters import PUT_REQUEST

_REQUESTS = Statement(
    lambda _: Operation.select(Operation.id, Operation.request, Operation.error).where(
        store.IN_ACCOUNT
    )
)

_ERASED = "The request contained the address of a person whose data was erased."


def remove_from_operations(account_id: str, addresses: Collection[str], tx: Transaction) -> None:
    """Removes addresses, given by `text_key`, from the requests of all operations.

    A running operation that contains one, or a part of it in its filter or search, ends, because it
    would select other subscribers.
    """
    for operation_id, text, error in tx.all(_REQUESTS, account_id=account_id):
        if error and (without := json_without_addresses(error, addresses)) != error:
            row = store.find(account_id, operation_id, tx)
            store.put(account_id, row._replace(error=without), tx)
        request = json_without_addresses(text, addresses)
        if request == text:
            continue
        tx.run(PUT_REQUEST, account_id=account_id, id=operation_id, request=request)
        row = store.find(account_id, operation_id, tx)
        if row.is_running:
            store.fail(account_id, row, SubscriberNotFound.reason, _ERASED, tx)
