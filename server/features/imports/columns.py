"""Determines the fields that the columns of a CSV file set.

`columnMap` takes precedence over the preset, and the preset over the names of fields. A built-in
field takes precedence over a custom field with the same name, and the key of a custom field over
a label.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ...rpc.errors import Detail, ValidationError, invalid
from ...rpc.file_columns import column_name, columns_named, mapped_columns
from ...values.file_dates import DateFormat
from ...values.suggestions import MAX_SUGGESTIONS, did_you_mean
from ...values.texts import column_key, repaired_encoding, word_key
from ..custom_fields.rules import DataType
from ..custom_fields.store import ColumnField
from ..subscribers.csv_format import CUSTOM_FIELDS
from ..subscribers.rules import Failure
from .cells import FIELD_NAMES, OPTED_IN, OPTED_OUT_FLAG, REVERSED_NAME
from .consent_columns import is_other_channel
from .consent_faults import consent_faults, consent_texts
from .presets import Preset, detect

# The maximum length of the list of unknown columns in an error. The size of gRPC metadata is
# limited.
MAX_LISTED = 2_000
# The maximum length of the label of a new custom field.
MAX_LABEL_LENGTH = 80
# Fields that clients do not set are ignored, so that an export can be imported.
_READ_ONLY = ("id", "updatedAt", "confirmUrl", "unsubscribeUrl")
_NAMES = (
    {column_key(name): name for name in FIELD_NAMES}
    | {"emailaddress": "email"}
    | dict.fromkeys(map(column_key, _READ_ONLY), "")
)
# Targets of columnMap for a full name.
_FULL_NAMES = {
    "firstname+lastname": "name",
    "first+last": "name",
    "lastname+firstname": REVERSED_NAME,
    "last+first": REVERSED_NAME,
}
# Fields that several columns can set.
_COMBINED = ("tags", OPTED_IN, OPTED_OUT_FLAG)
_FLAGS = {column_key(name): name for name in (OPTED_IN, OPTED_OUT_FLAG)}
# The last columns of a file of failed rows, which are ignored, so that it can be imported, and the
# reasons in it. The last reason is that of an opt-out that was stored without some cells.
FAILURE = ["line", "reason", "field"]
DROPPED_CELLS = "DROPPED_CELLS"
REASONS = frozenset((*Failure.__members__, DROPPED_CELLS))
# The prefix of a target of columnMap that is the label of a new custom field.
_NEW = "new:"
_NO_FIELD = "; create a custom field with this label before the import"
_DUPLICATE = (
    "sets the same field as another column; map it by position, such as columnMap=#{0}=FIELD, or"
    " ignore it with columnMap=#{0}="
)


class UnknownColumns(IntEnum):
    """Actions for unknown columns, with the numbers of UnknownColumns.Action."""

    FAIL = 1
    IGNORE = 2
    CREATE_FIELDS = 3


class NewColumn(NamedTuple):
    """A column that becomes a custom field, as the option newFields states."""

    column: str
    label: str
    data_type: DataType


class ColumnOptions(NamedTuple):
    """The options of an import that apply to columns and cells; None is the default."""

    preset: Preset | None = None
    column_map: Sequence[str] = ()
    unknown: UnknownColumns | None = None
    date_format: DateFormat | None = None
    null_keys: frozenset[str] = frozenset()
    status_map: Sequence[str] = ()
    ignored: Sequence[str] = ()
    new_fields: Sequence[NewColumn] = ()


class Column(NamedTuple):
    """The name of a column, and the fields that it sets.

    Of several columns for one field, the one with the lowest rank is used.
    """

    position: int
    name: str
    fields: tuple[str, ...]
    rank: int


class UnknownColumn(NamedTuple):
    """A column that sets no field, and the label of a custom field for it.

    `data_type` is that of a field which the client asked for with newFields.
    """

    position: int
    label: str
    data_type: DataType | None = None


class Columns:
    """The columns of a header."""

    def __init__(
        self,
        cells: Sequence[str],
        fields: Iterable[ColumnField],
        options: ColumnOptions,
        created: Mapping[int, str],
        *,
        is_checked: bool = True,
    ) -> None:
        """`created` are the keys of the custom fields for unknown columns, by position.

        Raises ValidationError if the map is invalid and, unless the columns are not checked, if one
        is unknown, looks like consent, is a duplicate or missing.
        """
        names = [column_key(cell) for cell in cells]
        if names[-len(FAILURE) :] == FAILURE:
            cells, names = cells[: -len(FAILURE)], names[: -len(FAILURE)]
        self.preset = options.preset or detect(cells, names)
        self.known: list[Column] = []
        self.unknown: list[UnknownColumn] = []
        self.action = options.unknown or (
            UnknownColumns.IGNORE
            if self.preset is not None and self.preset.is_lenient
            else UnknownColumns.FAIL
        )
        self._cells = cells
        creates = self.action is UnknownColumns.CREATE_FIELDS
        by_name = _names(fields)
        names = [
            name if name in by_name or (bare := _bare_name(cell)) in names else bare or name
            for cell, name in zip(cells, names, strict=True)
        ]
        names = self.names = [
            name if cell.isascii() or name in by_name else column_key(repaired_encoding(cell))
            for cell, name in zip(cells, names, strict=True)
        ]
        targets_by_name = {**by_name, **_FLAGS}
        mapped = mapped_columns(
            cells,
            options.column_map,
            lambda text: _fields_of(text, targets_by_name, creates=creates),
            targets_by_name.values(),
            _NO_FIELD,
        )
        ignored = {
            index
            for number, column in enumerate(options.ignored)
            for index in columns_named(cells, column, f"ignoreColumns[{number}]")
        } | {index for index, targets in mapped.items() if not targets}
        self.ignored_by_client = ignored
        new_fields = _new_columns(cells, options.new_fields, ignored | mapped.keys())
        by_client = ignored | mapped.keys()
        # A new field does not say that a column has nothing about consent.
        mapped |= {position: (_NEW + each.label,) for position, each in new_fields.items()}
        mapped |= {position: (CUSTOM_FIELDS + key,) for position, key in created.items()}
        claimed = {field for targets in mapped.values() for field in targets}
        from_preset = list(self.preset.columns) if self.preset else []
        for index, (cell, name) in enumerate(zip(cells, names, strict=True)):
            if index in mapped:
                targets, rank = mapped[index], 0
                if targets and targets[0].startswith(_NEW):
                    new = new_fields.get(index)
                    label, data_type = targets[0].removeprefix(_NEW), new and new.data_type
                    self.unknown.append(UnknownColumn(index, label, data_type))
                    continue
            elif index in ignored:
                targets, rank = (), 0
            elif self.preset and name in self.preset.columns:
                targets = tuple(filter(None, self.preset.columns[name].split("+")))
                rank = 1 + from_preset.index(name)
            else:
                target = _target(cell, name, by_name)
                if target is None or (creates and _is_custom(target) and target in claimed):
                    self.unknown.append(UnknownColumn(index, label_of(cell)))
                    continue
                targets, rank = (target,) if target else (), 1 + len(from_preset)
                claimed.update(targets)
            self.known.append(Column(index, cell, targets, rank))
        known = {column.position: column.fields for column in self.known}
        # The positions of unknown columns and custom fields that the client did not choose.
        self.not_chosen = [
            index
            for index, name in enumerate(names)
            if index not in by_client
            and (index not in known or any(map(_is_custom, known[index])))
            and not is_other_channel(name)
            and not cells[index].lower().startswith(CUSTOM_FIELDS.lower())
        ]
        self._read_only = {index for index, name in enumerate(names) if by_name.get(name) == ""}
        set_fields = {**mapped, **{index: each for index, each in known.items() if each}}
        consent = consent_faults(
            cells,
            names,
            self.preset,
            known,
            {index for index, each in set_fields.items() if any(map(_is_custom, each))},
            mapped.keys(),
            ignored | self._read_only,
        )
        if self.preset and self.preset.email_is_first and not self._has_email():
            self._use_first_as_email()
        if is_checked:
            self._check(cells, mapped, {field for field in by_name.values() if field}, consent)

    @property
    def ignored(self) -> list[str]:
        """The names of the columns that are unknown or that the preset ignores."""
        marks = self.preset.marks if self.preset else {}
        without_fields = {each.position for each in self.known if each.rank and not each.fields}
        unknown = {column.position for column in self.unknown}
        return [
            column_name(self._cells, index)
            for index in sorted(unknown | (without_fields - self._read_only))
            if column_key(self._cells[index]) not in marks
        ]

    def _has_email(self) -> bool:
        return any("email" in column.fields for column in self.known)

    def _use_first_as_email(self) -> None:
        self.known = [column for column in self.known if column.position != 0]
        self.known.append(Column(0, self._cells[0], ("email",), 0))
        self.unknown = [column for column in self.unknown if column.position != 0]

    def _check(
        self,
        cells: Sequence[str],
        mapped: Mapping[int, tuple[str, ...]],
        names: Collection[str],
        consent: Mapping[int, Detail],
    ) -> None:
        """Raises ValidationError for all columns that are not valid.

        They look like consent, with the faults `consent`, are duplicate, unknown or missing.
        """
        faults = list[Detail]()
        if self.preset is None or not self.preset.is_lenient:
            faults = [
                Detail(cells[index], "DUPLICATE_FIELD", _DUPLICATE.format(index + 1))
                for index in self._duplicates(mapped)
            ]
        unknown = [
            column
            for column in self.unknown
            if self.action is UnknownColumns.FAIL
            and column.data_type is None
            and column.position not in consent
        ]
        faults += [
            Detail(
                column_name(cells, position),
                "UNKNOWN_FIELD",
                f"is not a known column (#{position + 1})"
                + (did_you_mean(cells[position], names) if number < MAX_SUGGESTIONS else ""),
            )
            for number, (position, *_) in enumerate(unknown)
        ]
        if not self._has_email():
            faults.append(Detail("email", "REQUIRED", "is a required column"))
        if faults or consent:
            # The number of details is limited, but every one of these columns is named.
            texts = []
            length = MAX_LISTED // 2 if consent and unknown else MAX_LISTED
            if consent:
                texts += consent_texts(consent.values(), length)
            if faults:
                texts.append("The header row is not valid.")
            if unknown:
                columns = ", ".join(
                    f"{cells[i]} (#{i + 1})" if cells[i].strip() else f"#{i + 1}"
                    for i, *_ in unknown
                )
                texts.append(
                    f"Unknown columns: {columns[:length]}. Use"
                    f" columnMap=#{unknown[0][0] + 1}=FIELD, unknownColumns=IGNORE, or a preset"
                    " such as preset=MAILCHIMP."
                )
            raise ValidationError([*consent.values(), *faults], " ".join(texts))

    def _duplicates(self, mapped: Mapping[int, tuple[str, ...]]) -> list[int]:
        """Returns the indexes of columns that set the same field as another one."""
        fields = [
            (column.position, field)
            for column in self.known
            for field in column.fields
            if field not in _COMBINED or column.position not in mapped
        ]
        counts = Counter(field for _, field in fields)
        return sorted({position for position, field in fields if counts[field] > 1})


def ends_with_failure(header: Sequence[str]) -> bool:
    """Whether a header has the columns of a file of failed rows."""
    return list(header[-len(FAILURE) :]) == FAILURE


def is_without_failure(cells: Sequence[str], header: Sequence[str]) -> bool:
    """Whether a line lacks only the columns that a file of failed rows added to the header.

    A line that still ends with the reason of its failure was not corrected.
    """
    count = len(FAILURE)
    is_complete = len(cells) == len(header) - count and list(header[-count:]) == FAILURE
    return is_complete and REASONS.isdisjoint(cells[-count:])


def label_of(name: str) -> str:
    """Returns the label of a custom field for a column, which is empty without a name.

    The middle of a long name is left out, because the names of similar questions often differ at
    the end.
    """
    if name[: len(CUSTOM_FIELDS)].lower() == CUSTOM_FIELDS.lower():
        name = name[len(CUSTOM_FIELDS) :]
    label = " ".join(name.split())
    if len(label) <= MAX_LABEL_LENGTH:
        return label
    half = (MAX_LABEL_LENGTH - 1) // 2
    return f"{label[:half]}\u2026{label[-half:]}"


def _is_custom(field: str) -> bool:
    """Whether a field is a custom field, which may be new."""
    return field.startswith((CUSTOM_FIELDS, _NEW))


def _bare_name(cell: str) -> str:
    """Returns the name of a field that is in a column name with punctuation, or an empty text.

    Such as `Status:`. The letters can be wide, or follow a byte order mark in another encoding.
    Fields that clients do not set, such as `ID #`, are not meant.
    """
    bare = word_key(unicodedata.normalize("NFKC", cell.removeprefix("\u00ef\u00bb\u00bf")))
    return bare if _NAMES.get(bare) else ""


def _target(cell: str, name: str, by_name: Mapping[str, str]) -> str | None:
    """Returns the field that a column sets by its name, "" for none, or None if it is unknown."""
    target = by_name.get(cell, by_name.get(name))
    if target is None and len(cell) > MAX_LABEL_LENGTH:
        return by_name.get(column_key(label_of(cell)))
    return target


def _names(fields: Iterable[ColumnField]) -> dict[str, str]:
    """Returns the fields by column name.

    Names are column keys. Keys of custom fields are also present as they are, because
    shoe_size and shoesize have the same column key.
    """
    custom = [(column, CUSTOM_FIELDS + column.key) for column in fields]
    names: dict[str, str] = {}
    for column, field in custom:
        names |= {field: field, column.key: field}
    for column, field in custom:
        names.setdefault(column_key(field), field)
        names.setdefault(column_key(column.key), field)
    for column, field in custom:
        names.setdefault(column_key(column.label_key), field)
    return {name: field for name, field in names.items() if column_key(name) not in _NAMES} | _NAMES


def _new_columns(
    cells: Sequence[str], new_fields: Iterable[NewColumn], decided: Collection[int]
) -> dict[int, NewColumn]:
    """Returns the columns of newFields by position. Raises ValidationError.

    `decided` are the positions that other options name.
    """
    new: dict[int, NewColumn] = {}
    for number, field in enumerate(new_fields):
        path = f"newFields[{number}].column"
        for index in columns_named(cells, field.column, path):
            if index in decided or index in new:
                raise invalid(path, "DUPLICATE_FIELD", "names a column that another option names")
            new[index] = field
    return new


def _fields_of(target: str, by_name: Mapping[str, str], *, creates: bool) -> tuple[str, ...] | None:
    """Returns the fields of a target, or None if one is unknown.

    If unknown columns become custom fields, an unknown target is the label of one.
    """
    if not target:
        return ()
    full_name = _FULL_NAMES.get(column_key(target))
    if full_name is not None:
        return (full_name,)
    fields = [by_name.get(part) or by_name.get(column_key(part)) for part in target.split("+")]
    if all(fields):
        return tuple(field for field in fields if field)
    is_new = creates and len(fields) == 1 and column_key(target) not in by_name
    return (_NEW + label_of(target),) if is_new else None
