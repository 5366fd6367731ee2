"""Keeps the filters of running operations valid when tags, custom fields or segments change.

A filter such as `NOT tags:"customer"` would match other subscribers after the tag was renamed or
deleted. A filter gets the new name of a tag that it names. The operation ends if the tag, field or
segment is deleted, or if a renamed tag newly matches the filter or no longer matches its prefix.

An operation that is being created is not stored yet. Each of these changes therefore increments the
name revision of the account, which is compared when the operation is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from peewee import EXCLUDED

from ...rpc.errors import (
    CustomFieldNotFound,
    Detail,
    RosterError,
    SegmentNotFound,
    SelectionChanged,
    TagNotFound,
)
from ...rpc.uses import Use, UsesOf
from ...storage.statements import Statement, param, params
from ...storage.transaction import Transaction
from ...values.texts import caseless_key
from ..custom_fields.rules import DataType
from ..custom_fields.value_conversion import converted
from ..subscribers.query.operands import custom_key, fields_of
from ..subscribers.query.references import names_tag, with_renamed_tag
from ..subscribers.query.syntax import parse
from ..subscribers.query.tree import comparisons
from . import store
from .models import NameRevision, Operation
from .rules import BatchRequest, JobRequest
from .store_actions import ACTIONS

Part = TypeVar("Part")
Filtered = BatchRequest | JobRequest

PUT_REQUEST = Statement(
    lambda _: Operation.update({Operation.request: param("request")}).where(store.ONE),
    has_one_plan=True,
)
_NAME_REVISION = Statement(
    lambda _: NameRevision.select(NameRevision.revision).where(
        NameRevision.account_id == param("account_id")
    ),
    has_one_plan=True,
)
_COUNT_CHANGE = Statement(
    lambda _: NameRevision.insert(
        params(NameRevision.account_id, NameRevision.revision)
    ).on_conflict(
        conflict_target=[NameRevision.account_id],
        update={NameRevision.revision: NameRevision.revision + EXCLUDED.revision},
    ),
    has_one_plan=True,
)


def name_revision(account_id: str, tx: Transaction) -> int:
    """Returns the number of changes of tags, custom fields and segments that filters can name."""
    return tx.scalar(_NAME_REVISION, account_id=account_id) or 0


class OperationFilters:
    """Updates running operations after a rename, and ends them after a deletion."""

    def tag_uses(self, account_id: str, tx: Transaction) -> UsesOf:
        """Returns a function from the name of a tag to the operations that its deletion ends."""
        return _uses_of(account_id, _terms, _name_tag, tx)

    def custom_field_uses(self, account_id: str, tx: Transaction) -> UsesOf:
        """Returns a function from the key of a field to the operations that its deletion ends."""
        return _uses_of(account_id, _terms, _name_custom_field, tx)

    def segment_uses(self, account_id: str, tx: Transaction) -> UsesOf:
        """Returns a function from the ID of a segment to the operations that its deletion ends."""
        return _uses_of(account_id, lambda batch: batch.segment_id, str.__eq__, tx)

    def rename_tag(self, account_id: str, before: str, name: str, tx: Transaction) -> None:
        """Writes the new name of a tag into the filters and actions that name it."""
        key, new_key = caseless_key(before), caseless_key(name)

        def moves_into_or_out_of(each: Any) -> bool:
            is_name = names_tag(each, key) and not each.is_prefix
            return not is_name and names_tag(each, key) != names_tag(each, new_key)

        path_of = partial(_path_of, lambda terms: any(map(moves_into_or_out_of, terms)))
        message = f"selects other subscribers since the tag {before} was renamed to {name}"
        _end(account_id, path_of, SelectionChanged, message, tx)
        for row in store.running_filtered(account_id, tx):
            changed = _with_renamed_tag(row.filtered, key, name)
            if changed != row.filtered:
                request = store.as_text(changed)
                tx.run(PUT_REQUEST, account_id=account_id, id=row.id, request=request)

    def change_custom_field_type(
        self, account_id: str, key: str, data_type: DataType, tx: Transaction
    ) -> None:
        """Converts the values that operations set, and ends those that filter by a custom field.

        The same filter can match other values with another type.
        """

        def path_of(batch: Filtered) -> str:
            if _with_converted_value(batch, key, data_type) is None:
                return f"action.setCustomFields.{key}"
            return _path_of(partial(_name_custom_field, key=key), batch)

        message = f"has a value of the custom field {key}, whose type was changed"
        _end(account_id, path_of, SelectionChanged, message, tx)
        for row in store.running_filtered(account_id, tx):
            changed = _with_converted_value(row.filtered, key, data_type)
            if changed is not None and changed != row.filtered:
                request = store.as_text(changed)
                tx.run(PUT_REQUEST, account_id=account_id, id=row.id, request=request)

    def release_tag(self, account_id: str, name: str, tx: Transaction, *, force: bool) -> None:  # noqa: ARG002
        """Ends the operations that filter by a tag, also if by a prefix or its presence."""
        path_of = partial(_path_of, partial(_name_tag, name=name))
        _end(account_id, path_of, TagNotFound, f"names the tag {name}, which was deleted", tx)

    def release_custom_field(
        self,
        account_id: str,
        key: str,
        tx: Transaction,
        *,
        force: bool,  # noqa: ARG002
    ) -> None:
        """Ends the operations that filter by a custom field."""
        path_of = partial(_path_of, partial(_name_custom_field, key=key))
        message = f"names the custom field {key}, which was deleted"
        _end(account_id, path_of, CustomFieldNotFound, message, tx)

    def change_segment(self, account_id: str, tx: Transaction) -> None:
        """Counts a change of the filter of a segment. Running operations keep the filter."""
        tx.run(_COUNT_CHANGE, account_id=account_id, revision=1)

    def release_segment(self, account_id: str, segment_id: str, tx: Transaction) -> None:
        """Ends the operations on a segment."""

        def path_of(batch: Filtered) -> str:
            return "segmentId" if batch.segment_id == segment_id else ""

        _end(account_id, path_of, SegmentNotFound, "was deleted", tx)


def _with_renamed_tag(batch: Filtered, key: str, name: str) -> Filtered:
    texts = [with_renamed_tag(text, key, name) for text in batch.texts]
    message = batch.message
    if batch.filter:
        message = {**message, "filter": texts[0]}
    if isinstance(batch, BatchRequest) and ACTIONS[batch.action].names_tags:
        tags = [name if caseless_key(tag) == key else tag for tag in batch.value]
        message = {**message, "action": {batch.action: tags}}
    changed: Filtered = batch._replace(texts=texts, message=message)
    return changed


def _with_converted_value(batch: Filtered, key: str, data_type: DataType) -> Filtered | None:
    """Returns the request with the value that it sets converted; None if that is not exact."""
    if not isinstance(batch, BatchRequest) or not ACTIONS[batch.action].sets_values:
        return batch
    values = batch.value
    if values.get(key) is None:
        return batch
    value = converted(values[key], data_type)
    if value is None:
        return None
    action = {batch.action: {**values, key: value}}
    return batch._replace(message={**batch.message, "action": action})


def _path_of(is_affected: Callable[[list[Any]], bool], batch: Filtered) -> str:
    """Returns the JSON path of a filter whose terms are affected, or an empty text."""
    paths = ["filter", "segmentId"] if batch.filter else ["segmentId"]
    for path, text in zip(paths, batch.texts, strict=False):
        if is_affected(list(comparisons(parse(text)))):
            return path
    return ""


def _terms(batch: Filtered) -> list[Any]:
    return [each for text in batch.texts for each in comparisons(parse(text))]


def _name_tag(terms: list[Any], name: str) -> bool:
    """Whether a tag is among the terms, also by a prefix or its presence."""
    key = caseless_key(name)
    return any(names_tag(each, key) for each in terms)


def _name_custom_field(terms: list[Any], key: str) -> bool:
    return any(custom_key(field) == key for each in terms for field in fields_of(each))


def _uses_of(
    account_id: str,
    part_of: Callable[[Filtered], Part],
    is_named: Callable[[Part, str], bool],
    tx: Transaction,
) -> UsesOf:
    """Reads the running operations once for any number of names. `part_of` is what names them."""
    batches = [
        (Use("OPERATION", row.id), part_of(row.filtered))
        for row in store.running_filtered(account_id, tx)
    ]
    return lambda name: [use for use, part in batches if is_named(part, name)]


def _end(
    account_id: str,
    path_of: Callable[[Filtered], str],
    error: type[RosterError],
    message: str,
    tx: Transaction,
) -> None:
    """Ends the running operations that a change affects, and counts the change.

    `path_of` returns the JSON path of what the change affects, or an empty text. The message
    follows it in a sentence.
    """
    tx.run(_COUNT_CHANGE, account_id=account_id, revision=1)
    for row in store.running_filtered(account_id, tx):
        if path := path_of(row.filtered):
            detail = Detail(path, "INVALID_VALUE", message)
            part = path.split(".")[0].removesuffix("Id")
            store.fail(account_id, row, error.reason, f"The {part} {message}.", tx, detail)
