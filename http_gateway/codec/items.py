"""Reads the items of repeated fields and the entries of maps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..request_errors import Violations, join
from .enums import UnknownEnumName
from .options import CodecOptions
from .scalars import READERS, InvalidValue, Reader
from .strict_json import InvalidRow
from .well_known import InPlaceReader

# A value can also be written as 1.0 or 1e2.
_INTEGER_KEY = re.compile(r"-?(?:0|[1-9][0-9]*)")

# Reads a JSON value into a repeated field or a map.
ItemsReader = Callable[[Any, str, Violations, Any], None]

# The maximum length of strings, and size of numbers, in errors of rows.
_MAX_TEXT = 100
_MAX_NUMBER = 1e15


def array(read: ItemsReader, max_items: int) -> ItemsReader:
    """Returns a reader of an array of at most `max_items` items; 0 is unlimited."""

    def read_array(value: Any, path: str, violations: Violations, target: Any) -> None:
        if type(value) is not list:
            violations.add(path, "INVALID_TYPE", "must be an array")
        elif max_items and len(value) > max_items:
            violations.add(path, "TOO_MANY", f"must contain at most {max_items} items")
        else:
            read(value, path, violations, target)

    return read_array


def scalar_items(read: Reader, options: CodecOptions) -> ItemsReader:
    def items(value: Any, path: str, violations: Violations, target: Any) -> None:
        for index, item in enumerate(value):
            try:
                target.append(read(item))
            except InvalidValue as error:
                if not _is_ignored(error, options):
                    violations.add(f"{path}[{index}]", error.code, str(error))

    return items


def independent_texts(value: Any, _path: str, _violations: Violations, target: Any) -> None:
    """Reads texts that the service checks one by one. An item that is none is not valid there."""
    target.extend(item if type(item) is str else _short_text(item) for item in value)


def message_items(read: InPlaceReader) -> ItemsReader:
    def items(value: Any, path: str, violations: Violations, target: Any) -> None:
        add = target.add
        for index, item in enumerate(value):
            read(item, f"{path}[{index}]", violations, add())

    return items


def read_invalid_row(errors_field: str, read: InPlaceReader, item: Any, row: Any) -> None:
    """Reads a row that is no object or has invalid values, and adds its errors."""
    violations = Violations(suggests=False)
    values = item if isinstance(item, dict) else {}
    repeated: Mapping[str, list[Any]] = {}
    if isinstance(item, InvalidRow):
        repeated = item.repeated
        for key in item.invalid:
            violations.add(key, "INVALID_VALUE", "is not valid")
        read(dict(item), "", violations, row)
        values = {key: value for key, value in item.items() if key not in repeated}
    add_row_errors(errors_field, row, violations.details, values)
    # The row fails, but the server checks whether any of the values is an opt-out.
    for key, texts in repeated.items():
        for text in filter(None, map(_short_text, texts)):
            getattr(row, errors_field).add(field=key or '""', text=text)


def add_row_errors(
    errors_field: str, row: Any, violations: Iterable[Any], values: Mapping[str, Any]
) -> None:
    """Adds an error to a row for each violation; without any, one for a row that is no object.

    A short value of the row is added, because the server knows more date formats and words.
    """
    errors = getattr(row, errors_field)
    for violation in violations:
        key = violation.field.partition("[")[0].partition(".")[0]
        errors.add(field=key or violation.field or '""', text=_value_text(values.get(key)))
    if not errors:
        errors.add()


def _value_text(value: Any) -> str:
    """Returns the `_short_text` of a value, a blank for an empty one, or that of true and false."""
    if type(value) is bool:
        return str(value).lower()
    return " " if value == "" else _short_text(value)


def _short_text(value: Any) -> str:
    """Returns the text of a short string or a number; otherwise an empty one."""
    if type(value) in (int, float) and abs(value) < _MAX_NUMBER:
        return str(value)
    is_short = type(value) is str and len(value) <= _MAX_TEXT and value.isprintable()
    return value if is_short else ""


# Reads the value of a map entry at a path into the key, which is already converted.
EntryReader = Callable[[Any, str, Violations, Any, Any], None]


def map_reader(field: FieldDescriptor, read_entry: EntryReader) -> ItemsReader:
    """Returns a reader of an object into a map. Two equal keys are a violation."""
    assert field.message_type is not None
    kind = field.message_type.fields_by_name["key"].type
    read_key = _read_bool_key if kind == FieldDescriptor.TYPE_BOOL else READERS[kind]
    is_number = kind not in (FieldDescriptor.TYPE_BOOL, FieldDescriptor.TYPE_STRING)

    def read_map(value: Any, path: str, violations: Violations, target: Any) -> None:
        if type(value) is not dict:
            violations.add(path, "INVALID_TYPE", "must be an object")
            return
        for name, item in value.items():
            try:
                if is_number and not _INTEGER_KEY.fullmatch(name):
                    raise InvalidValue("must be an integer")
                key = read_key(name)
            except InvalidValue as error:
                violations.add(join(path, name), error.code, f"has an invalid key: it {error}")
                continue
            if key in target:
                violations.add(join(path, name), "DUPLICATE_FIELD", "is specified more than once")
            else:
                read_entry(item, join(path, name), violations, target, key)

    return read_map


def scalar_entry(read: Reader, options: CodecOptions) -> EntryReader:
    def entry(value: Any, path: str, violations: Violations, target: Any, key: Any) -> None:
        try:
            target[key] = read(value)
        except InvalidValue as error:
            if not _is_ignored(error, options):
                violations.add(path, error.code, str(error))

    return entry


def message_entry(read: InPlaceReader) -> EntryReader:
    def entry(value: Any, path: str, violations: Violations, target: Any, key: Any) -> None:
        read(value, path, violations, target[key])

    return entry


def _read_bool_key(key: str) -> bool:
    if key not in ("true", "false"):
        raise InvalidValue("must be true or false")
    return key == "true"


def _is_ignored(error: InvalidValue, options: CodecOptions) -> bool:
    return options.ignore_unknown and type(error) is UnknownEnumName
