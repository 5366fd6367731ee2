"""Readers: what makes a message of the values of `strict_json`.

The reader of a message type is made once, as source text, so that at run time nothing
looks at descriptors. The text calls what it needs of a field by a letter and the number
of the field. That is filled in after the text was compiled, because messages may hold
themselves.
"""

from __future__ import annotations

from functools import partial
from threading import RLock
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import http_pb2

from ..request_errors import Violations
from . import items, reading_text, scalars, well_known
from .any import any_reader
from .enums import UnknownName, enum_numbers, enum_reader
from .fields import compiled, is_map, is_row_errors_field, key_of, max_items, row_errors_field
from .keys import Keys, MessageReader, OneOfs
from .scalars import InvalidValue
from .style import Style


class Readers:
    """The readers of one style."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._made: dict[tuple[Descriptor, frozenset[str]], MessageReader] = {}
        self._items_made: dict[Descriptor, items.ItemsReader] = {}
        self._extensions: dict[FieldDescriptor, MessageReader] = {}
        # A reader that is not filled in yet is seen only by the thread that makes it.
        self._lock = RLock()

    def of(self, descriptor: Descriptor, excluded: frozenset[str] = frozenset()) -> MessageReader:
        """Returns the reader of a message type; `excluded` names fields that it does not know."""
        with self._lock:
            key = (descriptor, excluded)
            if key not in self._made:
                fields = [field for field in _readable(descriptor) if field.name not in excluded]
                scope = self._scope(descriptor, fields)
                text = reading_text.object_text(fields, self._style, oneofs=bool(scope["oneofs"]))
                self._made[key] = compiled(text, scope, "read")
                self._fill(scope, fields)
            return self._made[key]

    def in_place(self, kind: Descriptor) -> well_known.InPlaceReader:
        """Returns what reads a message of any type, well-known ones among them."""
        if kind.full_name == well_known.ANY:
            return any_reader(kind, self._style, self.in_place)
        if (fill := well_known.filler(kind)) is not None:
            return partial(_fill_in_place, fill)
        return well_known.in_place_reader(kind) or self.of(kind)

    def _items_of(self, kind: Descriptor) -> items.ItemsReader:
        """Returns what reads the objects of an array; those of rows are judged alone."""
        if kind not in self._items_made:
            fields, noted = _readable(kind), row_errors_field(kind)
            scope = self._scope(kind, fields)
            if noted is not None:
                scope |= {"Violations": Violations, "note": partial(items.note, noted)}
            text = reading_text.items_text if noted is None else reading_text.rows_text
            lines = text(fields, self._style, oneofs=bool(scope["oneofs"]))
            self._items_made[kind] = compiled(lines, scope, "read_items")
            scope["read"] = self.of(kind)
            self._fill(scope, fields)
        return self._items_made[kind]

    def _extension(self, descriptor: Descriptor, key: str) -> MessageReader | None:
        """Returns what reads an object with nothing but this key, an extension's; or None."""
        try:
            field = descriptor.file.pool.FindExtensionByName(key[1:-1])
        except KeyError:
            return None
        if field.containing_type != descriptor or key_of(field) != key:
            return None
        with self._lock:
            if field not in self._extensions:
                scope = self._scope(descriptor, [])
                text = reading_text.extension_text(field, self._style)
                self._extensions[field] = compiled(text, scope, "read")
                scope[f"x{field.number}"] = field
                self._fill(scope, [field])
            return self._extensions[field]

    def _scope(self, descriptor: Descriptor, fields: list[FieldDescriptor]) -> dict[str, Any]:
        return {
            "keys": Keys(descriptor, fields, self._style, partial(self._extension, descriptor)),
            "oneofs": OneOfs(fields),
            "InvalidValue": InvalidValue,
            "UnknownName": UnknownName,
        }

    def _fill(self, scope: dict[str, Any], fields: list[FieldDescriptor]) -> None:
        """Puts what the text of the fields calls by name where the text looks for it."""
        for field in fields:
            if field.enum_type is not None:
                scope[f"n{field.number}"] = enum_numbers(field.enum_type)
            if not field.is_repeated:
                scope[f"r{field.number}"] = self._one(field)
                continue
            scope[f"r{field.number}"] = (
                self._map(field)
                if is_map(field)
                else items.array(self._items(field), max_items(field))
            )

    def _one(self, field: FieldDescriptor) -> Any:
        """Returns the reader, the filler or the reader in place of one value of a field."""
        if field.enum_type is not None:
            return enum_reader(field.enum_type)
        if field.message_type is not None:
            return well_known.filler(field.message_type) or self.in_place(field.message_type)
        if field.GetOptions().Extensions[http_pb2.boolean_like]:
            return scalars.read_boolean_like
        return scalars.READERS[field.type]

    def _items(self, field: FieldDescriptor) -> items.ItemsReader:
        kind = field.message_type
        if kind is None:
            return items.scalar_items(self._one(field), self._style)
        if well_known.is_well_known(kind):
            return items.message_items(self.in_place(kind))
        return self._items_of(kind)

    def _map(self, field: FieldDescriptor) -> items.ItemsReader:
        assert field.message_type is not None
        value = field.message_type.fields_by_name["value"]
        if value.message_type is None:
            return items.map_reader(field, items.scalar_entry(self._one(value), self._style))
        return items.map_reader(field, items.message_entry(self.in_place(value.message_type)))


def _readable(descriptor: Descriptor) -> list[FieldDescriptor]:
    return [field for field in descriptor.fields if not is_row_errors_field(field)]


def _fill_in_place(
    fill: well_known.Filler, value: Any, path: str, violations: Violations, target: Any
) -> None:
    try:
        fill(value, target)
    except InvalidValue as error:
        violations.add(path, error.code, str(error))
