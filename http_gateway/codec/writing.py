"""Compiles writers, which convert messages to values that orjson serializes.

The writer of a message type is generated once as source text. As in `reading`, the helpers
that it refers to are added after it is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import takewhile
from threading import RLock
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..policy import Annotations
from . import scalars, well_known
from .any import any_writer
from .enums import enum_names
from .fields import (
    compiled,
    field_expression,
    is_map,
    key_of,
)
from .options import CodecOptions

MessageWriter = Callable[[Any], Any]

_FLOATS = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)


class Writers:
    """The writers for one set of options."""

    def __init__(self, options: CodecOptions, annotations: Annotations) -> None:
        self._options = options
        self._annotations = annotations
        self._writers: dict[Descriptor, MessageWriter] = {}
        self._extensions: dict[FieldDescriptor, MessageWriter] = {}
        # Only the thread that compiles a writer can access it before it is complete.
        self._lock = RLock()

    def of(self, kind: Descriptor) -> MessageWriter:
        """Returns the writer of a message type, including well-known types."""
        if kind.full_name == well_known.ANY:
            return any_writer(kind, self.of)
        special = well_known.writer(kind, self._options)
        if special is not None:
            return special
        with self._lock:
            if kind not in self._writers:
                self._compile(kind)
            return self._writers[kind]

    def _compile(self, kind: Descriptor) -> None:
        fields = [field for field in kind.fields if self._has_json(field)]
        # The first members are one expression, which is faster than a statement for each.
        first = list(takewhile(self._is_always_written, fields))
        members = [f"{key_of(field)!r}: {self._value(field)}" for field in first]
        lines = ["def write(m):", f"    d = {{{', '.join(members)}}}"]
        lines += [self._statement(field) for field in fields[len(first) :]]
        if kind.is_extendable:
            lines.append("    write_extensions(m, d)")
        scope: dict[str, Any] = {"copysign": math.copysign}
        self._writers[kind] = compiled([*lines, "    return d"], scope, "write")
        scope["write_extensions"] = self._write_extensions
        for field in fields:
            scope[f"w{field.number}"] = self._helper(field)

    def _has_json(self, field: FieldDescriptor) -> bool:
        options = self._annotations.of_field(field)
        return not (options.row_faults or options.is_outside_json)

    def _is_always_written(self, field: FieldDescriptor) -> bool:
        return self._options.defaults and self._annotations.is_always_written(field)

    def _statement(self, field: FieldDescriptor) -> str:
        """Returns the text that writes a field if it is set, or has another value than the default.

        A field that is always written needs no condition.
        """
        value = field_expression(field)
        condition = f"if {value}: "
        if self._is_always_written(field):
            condition = ""
        elif field.has_presence:
            condition = f"if m.HasField({field.name!r}): "
        elif not field.is_repeated and field.type in _FLOATS:
            # Minus zero is falsy, but is not the default.
            condition = f"if {value} or copysign(1.0, {value}) < 0: "
        return f"    {condition}d[{key_of(field)!r}] = {self._value(field)}"

    def _value(self, field: FieldDescriptor) -> str:
        """Returns the expression for the JSON value of a field of the message `m`."""
        value, helper = field_expression(field), f"w{field.number}"
        if is_map(field):
            return f"{helper}({value})"
        one = _one(field, helper)
        if not field.is_repeated:
            return one.format(value)
        return f"{value}[:]" if one == "{}" else f"[{one.format('x')} for x in {value}[:]]"

    def _helper(self, field: FieldDescriptor) -> Any:
        """Returns the helper that the text of a field refers to."""
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
            {"w": self._helper(value)},
            "write",
        )

        def write(entries: Any) -> dict[str, Any]:
            # The order of a protobuf map is not deterministic.
            return {key_text(key): one(entries[key]) for key in sorted(entries)}

        return write

    def _write_extensions(self, message: Any, value: dict[str, Any]) -> None:
        for field, _ in message.ListFields():
            if field.is_extension:
                value[key_of(field)] = self._extension(field)(message)

    def _extension(self, field: FieldDescriptor) -> MessageWriter:
        with self._lock:
            if field not in self._extensions:
                scope = {f"x{field.number}": field}
                lines = [f"def write(m): return {self._value(field)}"]
                self._extensions[field] = compiled(lines, scope, "write")
                scope[f"w{field.number}"] = self._helper(field)
            return self._extensions[field]


def _one(field: FieldDescriptor, helper: str) -> str:
    """Returns the expression for one value of a field, with {} as its placeholder."""
    if field.enum_type is not None:
        return f"{helper}[{{}}]"
    if field.message_type is None and field.type not in scalars.WRITERS:
        return "{}"
    return f"{helper}({{}})"


def _bool_key(key: bool) -> str:
    return "true" if key else "false"
