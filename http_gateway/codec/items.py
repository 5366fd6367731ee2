"""The items of repeated fields and the entries of maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..request_errors import Violations, join
from .enums import UnknownName
from .scalars import READERS, InvalidValue, Reader
from .style import Style
from .well_known import InPlaceReader

# Reads a JSON value into a repeated field or a map.
ItemsReader = Callable[[Any, str, Violations, Any], None]


def array(read: ItemsReader, most: int) -> ItemsReader:
    """Reads an array, unless it has more items than its field may have; 0 is no bound."""

    def read_array(value: Any, path: str, violations: Violations, target: Any) -> None:
        if type(value) is not list:
            violations.add(path, "INVALID_TYPE", "must be an array")
        elif most and len(value) > most:
            violations.add(path, "TOO_MANY", f"must contain at most {most} item(s)")
        else:
            read(value, path, violations, target)

    return read_array


def scalar_items(read: Reader, style: Style) -> ItemsReader:
    def items(value: Any, path: str, violations: Violations, target: Any) -> None:
        for index, item in enumerate(value):
            try:
                target.append(read(item))
            except InvalidValue as error:
                if not _passed_over(error, style):
                    violations.add(f"{path}[{index}]", error.code, str(error))

    return items


def message_items(read: InPlaceReader) -> ItemsReader:
    def items(value: Any, path: str, violations: Violations, target: Any) -> None:
        add = target.add
        for index, item in enumerate(value):
            read(item, f"{path}[{index}]", violations, add())

    return items


def rows_reader(read: InPlaceReader, faults_field: str) -> ItemsReader:
    """Returns what reads rows that are judged alone: what is wrong with one is noted in it."""

    def items(value: Any, path: str, violations: Violations, target: Any) -> None:
        own = Violations()
        for item in value:
            row = target.add()
            read(item, "", own, row)
            if own:
                note(faults_field, row, own.found if type(item) is dict else ())
                own.found.clear()

    return items


def note(faults_field: str, row: Any, found: Iterable[Any]) -> None:
    """Notes in a row which of its keys are at fault; without any, that the row is no object."""
    noted = getattr(row, faults_field)
    for fault in found:
        key = fault.field.partition("[")[0].partition(".")[0]
        noted.add(field=key or fault.field or '""')
    if not noted:
        noted.add()


# Reads the value of an entry under a key that has been read, at a path.
EntryReader = Callable[[Any, str, Violations, Any, Any], None]


def map_reader(field: FieldDescriptor, read_entry: EntryReader) -> ItemsReader:
    """Returns what reads an object into a map; two keys that say the same are a fault."""
    assert field.message_type is not None
    kind = field.message_type.fields_by_name["key"].type
    read_key = _read_bool_key if kind == FieldDescriptor.TYPE_BOOL else READERS[kind]

    def read_map(value: Any, path: str, violations: Violations, target: Any) -> None:
        if type(value) is not dict:
            violations.add(path, "INVALID_TYPE", "must be an object")
            return
        for name, item in value.items():
            try:
                key = read_key(name)
            except InvalidValue as error:
                violations.add(join(path, name), error.code, f"has an invalid key: it {error}")
                continue
            if key in target:
                violations.add(join(path, name), "DUPLICATE_FIELD", "is specified more than once")
            else:
                read_entry(item, join(path, name), violations, target, key)

    return read_map


def scalar_entry(read: Reader, style: Style) -> EntryReader:
    def entry(value: Any, path: str, violations: Violations, target: Any, key: Any) -> None:
        try:
            target[key] = read(value)
        except InvalidValue as error:
            if not _passed_over(error, style):
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


def _passed_over(error: InvalidValue, style: Style) -> bool:
    return style.ignore_unknown and type(error) is UnknownName
