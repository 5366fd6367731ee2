"""Compiles readers, which convert the values of `strict_json` to messages.

The reader of a message type is generated once as source text, so descriptors are not
inspected at run time. The text refers to helpers by a letter and a field number. They are
added to its scope after it is compiled, because message types can be recursive.
"""

from __future__ import annotations

from functools import partial
from threading import RLock
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..policy import Annotations
from ..request_errors import Violations
from . import items, reading_text, scalars, timestamps, well_known
from .any import any_reader
from .enums import UnknownEnumName, enum_numbers, enum_reader
from .fields import compiled, has_independent_items, is_map, key_of, max_items
from .keys import MessageReader, OneofChecker, OtherKeys
from .options import CodecOptions
from .scalars import InvalidValue


class Readers:
    """The readers for one set of options."""

    def __init__(self, options: CodecOptions, annotations: Annotations) -> None:
        self._options = options
        self._annotations = annotations
        self._readers: dict[tuple[Descriptor, frozenset[str]], MessageReader] = {}
        self._items_readers: dict[Descriptor, items.ItemsReader] = {}
        self._extensions: dict[FieldDescriptor, MessageReader] = {}
        # Only the thread that compiles a reader can access it before it is complete.
        self._lock = RLock()

    def of(self, descriptor: Descriptor, excluded: frozenset[str] = frozenset()) -> MessageReader:
        """Returns the reader of a message type, to which the `excluded` fields are unknown."""
        with self._lock:
            key = (descriptor, excluded)
            if key not in self._readers:
                fields = [
                    field for field in self._readable(descriptor) if field.name not in excluded
                ]
                scope = self._scope(descriptor, fields)
                text = reading_text.object_text(fields, self._options, oneofs=bool(scope["oneofs"]))
                self._readers[key] = compiled(text, scope, "read")
                self._fill(scope, fields)
            return self._readers[key]

    def in_place(self, kind: Descriptor) -> well_known.InPlaceReader:
        """Returns the reader of a message of any type, including well-known types."""
        if kind.full_name == well_known.ANY:
            return any_reader(kind, self._options, self.in_place)
        if (fill := well_known.filler(kind)) is not None:
            return partial(_fill_in_place, fill)
        return well_known.in_place_reader(kind) or self.of(kind)

    def items_of(self, kind: Descriptor) -> items.ItemsReader:
        """Returns the reader of an array of objects, or of rows if the type lists its errors."""
        with self._lock:
            return self._items_of(kind)

    def _items_of(self, kind: Descriptor) -> items.ItemsReader:
        if kind not in self._items_readers:
            fields = self._readable(kind)
            errors_field = self._annotations.row_errors_field(kind)
            scope = self._scope(kind, fields)
            if errors_field is not None:
                scope |= {
                    "Violations": Violations,
                    "add_row_errors": partial(items.add_row_errors, errors_field),
                    "read_invalid_row": partial(items.read_invalid_row, errors_field),
                }
            text = reading_text.items_text if errors_field is None else reading_text.rows_text
            lines = text(fields, self._options, oneofs=bool(scope["oneofs"]))
            self._items_readers[kind] = compiled(lines, scope, "read_items")
            scope["read"] = self.of(kind)
            self._fill(scope, fields)
        return self._items_readers[kind]

    def _extension(self, descriptor: Descriptor, key: str) -> MessageReader | None:
        """Returns the reader of an object with one key, that of an extension; or None."""
        try:
            field = descriptor.file.pool.FindExtensionByName(key[1:-1])
        except KeyError:
            return None
        if field.containing_type != descriptor or key_of(field) != key:
            return None
        with self._lock:
            if field not in self._extensions:
                scope = self._scope(descriptor, [])
                text = reading_text.extension_text(field, self._options)
                self._extensions[field] = compiled(text, scope, "read")
                scope[f"x{field.number}"] = field
                self._fill(scope, [field])
            return self._extensions[field]

    def _scope(self, descriptor: Descriptor, fields: list[FieldDescriptor]) -> dict[str, Any]:
        return {
            "other_keys": OtherKeys(
                descriptor,
                fields,
                self._options,
                self._annotations.ignored_keys(descriptor),
                partial(self._extension, descriptor),
                self._annotations.did_you_mean,
            ),
            "oneofs": OneofChecker(fields),
            "InvalidValue": InvalidValue,
            "UnknownEnumName": UnknownEnumName,
        }

    def _fill(self, scope: dict[str, Any], fields: list[FieldDescriptor]) -> None:
        """Adds the helpers that the text of the fields refers to."""
        for field in fields:
            if field.enum_type is not None:
                scope[f"n{field.number}"] = enum_numbers(field.enum_type)
            if is_map(field):
                read = self._map(field)
            elif field.is_repeated:
                read = items.array(self._items(field), max_items(field))
            else:
                read = self._one(field)
            scope[f"r{field.number}"] = read

    def _one(self, field: FieldDescriptor) -> Any:
        """Returns the reader, filler or in-place reader of one value of a field."""
        options = self._annotations.of_field(field)
        if field.enum_type is not None:
            # Numbers in rows of files are those of other services.
            message = field.containing_type
            of_row = message is not None and self._annotations.row_errors_field(message) is not None
            return enum_reader(
                field.enum_type, any_case=options.any_case, accepts_numbers=not of_row
            )
        if options.date_like:
            return timestamps.fill_date_like
        if field.message_type is not None:
            return well_known.filler(field.message_type) or self.in_place(field.message_type)
        if options.boolean_like:
            return scalars.read_boolean_like
        return scalars.READERS[field.type]

    def _items(self, field: FieldDescriptor) -> items.ItemsReader:
        kind = field.message_type
        if kind is None:
            is_text = field.type == FieldDescriptor.TYPE_STRING
            if is_text and has_independent_items(field):
                return items.independent_texts
            return items.scalar_items(self._one(field), self._options)
        if well_known.is_well_known(kind):
            return items.message_items(self.in_place(kind))
        return self._items_of(kind)

    def _map(self, field: FieldDescriptor) -> items.ItemsReader:
        assert field.message_type is not None
        value = field.message_type.fields_by_name["value"]
        if value.message_type is None:
            return items.map_reader(field, items.scalar_entry(self._one(value), self._options))
        return items.map_reader(field, items.message_entry(self.in_place(value.message_type)))

    def _readable(self, descriptor: Descriptor) -> list[FieldDescriptor]:
        options = self._annotations.of_field
        return [field for field in descriptor.fields if not options(field).row_faults]


def _fill_in_place(
    fill: well_known.Filler, value: Any, path: str, violations: Violations, target: Any
) -> None:
    try:
        fill(value, target)
    except InvalidValue as error:
        violations.add(path, error.code, str(error))
