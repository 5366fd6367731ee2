"""Removes the addresses of erased persons from operations."""

from __future__ import annotations

from collections.abc import Collection

from peewee import Expression

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.emails import json_without_address, pattern_of
from . import store
from .models import Operation
from .rules import State
from .store_filters import PUT_REQUEST

_WITH_ADDRESS = Statement(
    lambda _: Operation.select(Operation.id, Operation.request).where(
        store.IN_ACCOUNT & Expression(Operation.request, "ILIKE", param("pattern"))
    )
)


def remove_from_operations(account_id: str, addresses: Collection[str], tx: Transaction) -> None:
    """Removes addresses, given by `text_key`, from the requests of all operations.

    A running operation that contains one ends, because its filter would match other subscribers.
    """
    for address in addresses:
        pattern = pattern_of(address)
        for operation_id, text in tx.all(_WITH_ADDRESS, account_id=account_id, pattern=pattern):
            request = json_without_address(text, address)
            if request == text:
                continue
            tx.run(PUT_REQUEST, account_id=account_id, id=operation_id, request=request)
            row = store.find(account_id, operation_id, tx)
            if row.state == State.RUNNING:
                store.end(account_id, row, State.FAILED, tx)
