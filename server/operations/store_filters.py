"""Keeps the filters of running operations valid when tags or custom fields change.

A filter such as `NOT tags:"customer"` would match other subscribers after the tag was renamed or
deleted.
"""

from __future__ import annotations

from typing import Any

import orjson

from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from ..subscribers.filters.expression import parsed
from ..subscribers.filters.references import Uses, uses_of, with_renamed_tag
from ..texts import caseless_key
from . import store
from .models import Operation
from .rules import ActionKind, State

_PUT_REQUEST = Statement(
    lambda _: Operation.update({Operation.request: param("request")}).where(store.ONE),
    has_one_plan=True,
)


class OperationFilters:
    """Updates running operations after a rename, and ends them after a deletion."""

    def rename_tag(self, account_id: str, before: str, name: str, tx: Transaction) -> None:
        """Writes the new name of a tag into the filters and actions that name it."""
        key = caseless_key(before)
        for row in store.running(account_id, tx):
            batch = row.batch
            texts = [with_renamed_tag(text, key, name) for text in batch.texts]
            value: Any = batch.value
            if batch.action in (ActionKind.ADD_TAGS, ActionKind.REMOVE_TAGS):
                value = [name if caseless_key(tag) == key else tag for tag in value]
            changed = batch._replace(
                texts=texts, filter=texts[0] if batch.filter else "", value=value
            )
            if changed != batch:
                request = orjson.dumps([*changed]).decode()
                tx.run(_PUT_REQUEST, account_id=account_id, id=row.id, request=request)

    def release_tag(self, account_id: str, name: str, tx: Transaction, *, force: bool) -> None:  # noqa: ARG002
        """Ends the operations that filter by a tag."""
        _release(account_id, Uses([caseless_key(name)], []), tx)

    def release_custom_field(
        self,
        account_id: str,
        key: str,
        tx: Transaction,
        *,
        force: bool,  # noqa: ARG002
    ) -> None:
        """Ends the operations that filter by a custom field."""
        _release(account_id, Uses([], [key]), tx)


def _release(account_id: str, named: Uses, tx: Transaction) -> None:
    for row in store.running(account_id, tx):
        if any(uses_of(parsed(text)).names_any(named) for text in row.batch.texts):
            store.end(account_id, row, State.FAILED, tx)
