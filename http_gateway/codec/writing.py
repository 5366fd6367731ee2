"""Writers: what makes of a message the values that orjson writes.

The writer of a message type is made once, as source text that names every field.
What the text calls of a field by a letter and its number is filled in afterwards,
because messages may hold themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import RLock
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import http_pb2

from . import scalars, well_known
from .any import any_writer
from .enums import enum_names
from .fields import compiled, field_expression, is_map, is_row_errors_field, key_of
from .style import Style

MessageWriter = Callable[[Any], Any]

_FLOATS = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)


class Writers:
    """The writers of one style."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._made: dict[Descriptor, MessageWriter] = {}
        self._extensions: dict[FieldDescriptor, MessageWriter] = {}
        # A writer that is not filled in yet is seen only by the thread that makes it.
        self._lock = RLock()

    def of(self, kind: Descriptor) -> MessageWriter:
        """Returns the writer of a message type, well-known ones among them."""
        if kind.full_name == well_known.ANY:
            return any_writer(kind, self.of)
        special = well_known.writer(kind, self._style)
        if special is not None:
            return special
        with self._lock:
            if kind not in self._made:
                self._make(kind)
            return self._made[kind]

    def _make(self, kind: Descriptor) -> None:
        fields = [field for field in kind.fields if _has_json(field)]
        always = [
            f"{key_of(field)!r}: {self._value(field)}"
            for field in fields
            if self._style.defaults and not field.has_presence
        ]
        lines = ["def write(m):", f"    d = {{{', '.join(always)}}}"]
        for field in fields:
            if field.has_presence:
                value = self._value(field)
                lines.append(f"    if m.HasField({field.name!r}): d[{key_of(field)!r}] = {value}")
            elif not self._style.defaults:
                lines += self._lines_unless_default(field)
        if kind.is_extendable:
            lines.append("    write_extensions(m, d)")
        scope: dict[str, Any] = {"copysign": math.copysign}
        self._made[kind] = compiled([*lines, "    return d"], scope, "write")
        scope["write_extensions"] = self._write_extensions
        for field in fields:
            scope[f"w{field.number}"] = self._needed(field)

    def _lines_unless_default(self, field: FieldDescriptor) -> list[str]:
        """Returns the text that writes a field without presence if it holds no default."""
        value = field_expression(field)
        given = value
        if not field.is_repeated and field.type in _FLOATS:
            # Minus zero is no default, though it is false.
            given = f"{value} or copysign(1.0, {value}) < 0"
        return [f"    if {given}: d[{key_of(field)!r}] = {self._value(field)}"]

    def _value(self, field: FieldDescriptor) -> str:
        """Returns the text that makes the JSON value of a field of the message `m`."""
        place, slot = field_expression(field), f"w{field.number}"
        if is_map(field):
            return f"{slot}({place})"
        if not field.is_repeated:
            return _one(field, slot).format(place)
        one = _one(field, slot)
        return f"{place}[:]" if one == "{}" else f"[{one.format('x')} for x in {place}[:]]"

    def _needed(self, field: FieldDescriptor) -> Any:
        """Returns what the text of a field calls by name."""
        if is_map(field):
            return self._map_writer(field)
        if field.enum_type is not None:
            return enum_names(field.enum_type)
        if field.message_type is not None:
            return self.of(field.message_type)
        return scalars.WRITERS.get(field.type)

    def _map_writer(self, field: FieldDescriptor) -> MessageWriter:
        assert field.message_type is not None
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        key_text: Any = _bool_key if key.type == FieldDescriptor.TYPE_BOOL else str
        one = compiled(
            [f"def write(x): return {_one(value, 'w')}".format("x")],
            {"w": self._needed(value)},
            "write",
        )

        def write(entries: Any) -> dict[str, Any]:
            # The order of a protobuf map differs between equal messages.
            return {key_text(key): one(entries[key]) for key in sorted(entries)}

        return write

    def _write_extensions(self, message: Any, value: dict[str, Any]) -> None:
        for field, _ in message.ListFields():
            if field.is_extension:
                value[key_of(field)] = self._extension(field)(message)

    def _extension(self, field: FieldDescriptor) -> MessageWriter:
        """Returns what writes the value of an extension of a message."""
        with self._lock:
            if field not in self._extensions:
                scope = {f"x{field.number}": field}
                lines = [f"def write(m): return {self._value(field)}"]
                self._extensions[field] = compiled(lines, scope, "write")
                scope[f"w{field.number}"] = self._needed(field)
            return self._extensions[field]


def _one(field: FieldDescriptor, slot: str) -> str:
    """Returns the text that writes one value of a field, with {} where the value stands."""
    if field.enum_type is not None:
        return f"{slot}[{{}}]"
    if field.message_type is None and field.type not in scalars.WRITERS:
        return "{}"
    return f"{slot}({{}})"


def _has_json(field: FieldDescriptor) -> bool:
    return not (is_row_errors_field(field) or field.GetOptions().Extensions[http_pb2.next_link])


def _bool_key(key: bool) -> str:
    return "true" if key else "false"
