"""Creates custom fields for the unknown columns of a CSV file."""

from __future__ import annotations

from collections.abc import Collection

from ...custom_fields.rules import DataType, derive_key
from ...custom_fields.store import ColumnField, create
from ...errors import CustomFieldAlreadyExists, Detail, ValidationError, invalid
from ...storage.transaction import Transaction
from ...texts import caseless_key, has_control_characters
from ..csv_format import CUSTOM_FIELDS
from .columns import Columns, UnknownColumns

# The bound of the label of a new custom field.
MAX_LABEL_LENGTH = 80


class NewFields:
    """The custom fields that an import creates. A column without a name is ignored."""

    def __init__(
        self, account_id: str, columns: Columns, existing: Collection[ColumnField]
    ) -> None:
        """Raises ValidationError if a field cannot be created."""
        self._account_id = account_id
        self._labels: list[str] = []
        self.columns: list[ColumnField] = []
        if columns.action is not UnknownColumns.CREATE_FIELDS:
            return
        keys, faults = {field.key for field in existing}, []
        for name in filter(str.strip, columns.unknown):
            label = _label(name)
            fault = _fault(label, keys)
            if fault is not None:
                faults.append(Detail(name, *fault))
                continue
            key = derive_key(label)
            keys.add(key)
            self._labels.append(label)
            self.columns.append(ColumnField(key, caseless_key(label), DataType.TEXT))
        if faults:
            raise ValidationError(faults, "A column cannot become a custom field.")

    def create(self, tx: Transaction) -> None:
        """Stores the fields. Raises CustomFieldLimitReached.

        Raises ValidationError if another client created one of them meanwhile.
        """
        for label, column in zip(self._labels, self.columns, strict=True):
            try:
                create(self._account_id, column.key, label, DataType.TEXT, "", tx)
            except CustomFieldAlreadyExists:
                raise invalid(
                    label, "TAKEN", "is a custom field by now; repeat the import"
                ) from None


def _label(name: str) -> str:
    prefix = name[: len(CUSTOM_FIELDS)]
    return name[len(CUSTOM_FIELDS) :] if prefix.lower() == CUSTOM_FIELDS.lower() else name.strip()


def _fault(label: str, keys: Collection[str]) -> tuple[str, str] | None:
    """Returns the code and the message of the reason why a label is invalid, or None."""
    if len(label) > MAX_LABEL_LENGTH:
        return "TOO_LONG", f"must have at most {MAX_LABEL_LENGTH} characters as a custom field"
    if has_control_characters(label):
        return "INVALID_CHARACTER", "must not contain control characters"
    try:
        key = derive_key(label)
    except ValidationError as error:
        return error.details[0].code, error.details[0].message
    if key in keys:
        return "DUPLICATE_FIELD", f"derives the key {key} of another custom field"
    return None
