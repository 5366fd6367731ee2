"""JSON Schema of messages, kept as components: what a body may hold, and what an answer holds.

Both follow the codec. A body takes null for an absent key, refuses unknown keys, and
lacks the fields that come in the path or are made by the gateway. An answer always has
the fields without presence, and those that the protos require. It may gain others.
"""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import http_pb2

from ..codec.fields import is_map, row_errors_field
from . import bounds, examples, values
from .comments import comment, described
from .values import Schema

_IGNORED = "Output only: ignored in requests."

# Names that generated clients cannot have, since TypeScript has them already.
_RENAMED = {"Error": "ErrorBody"}

Key = tuple[str, str, frozenset[str]]


class Schemas:
    """The components of a document, by their names; each is made when it is first referred to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._names: dict[Key, str] = {}

    def taken(self, message: Descriptor, excluded: frozenset[str] = frozenset()) -> Schema:
        """Refers to what a body of a message may hold, without the fields that are excluded."""
        key = ("taken", message.full_name, excluded)
        return self._refer(key, _name(message), "Input", lambda: self._body(message, excluded))

    def given(self, message: Descriptor) -> Schema:
        """Refers to what an answer of a message holds."""
        key: Key = ("given", message.full_name, frozenset())
        return self._refer(key, _name(message), "Output", lambda: self._answer(message))

    def resolved(self, reference: Schema) -> Schema:
        """Returns the component that a schema refers to."""
        return self.components[reference["$ref"].rpartition("/")[2]]

    def _refer(self, key: Key, name: str, other: str, make: Callable[[], Schema]) -> Schema:
        if key not in self._names:
            while name in self.components:
                name += other
            self._names[key] = name
            self.components[name] = {}  # a message may hold itself
            self.components[name] = make()
        return {"$ref": f"#/components/schemas/{self._names[key]}"}

    def _body(self, message: Descriptor, excluded: frozenset[str]) -> Schema:
        noted = row_errors_field(message)
        fields = [f for f in message.fields if f.name not in excluded and f.name != noted]
        ignored: list[str] = list(message.GetOptions().Extensions[http_pb2.ignored_keys])
        properties = {key: {"description": _IGNORED} for key in ignored}
        properties |= {field.json_name: self.property(field) for field in fields}
        required = [field.json_name for field in fields if bounds.is_required(field)]
        return {
            "type": "object",
            **_described(message),
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def property(self, field: FieldDescriptor) -> Schema:
        """Returns what a body may say for a field."""
        if is_map(field):
            schema: Schema = {"type": "object", "additionalProperties": self._map_value(field)}
        elif field.is_repeated:
            items = {**self._one(field), **bounds.of_items(field)}
            schema = {"type": "array", "items": items, **bounds.of_field(field)}
        else:
            schema = {**self._one(field), **bounds.of_field(field)}
        if not bounds.is_required(field):
            schema = values.or_null(schema)
        return {**schema, **_described(field), **_shown(field)}

    def _one(self, field: FieldDescriptor) -> Schema:
        """Returns what a body may say for one value of a field."""
        schema = values.taken(field)
        if schema is not None:
            return schema
        if field.enum_type is not None:
            return values.enum(field.enum_type)
        assert field.message_type is not None
        return self.taken(field.message_type)

    def _map_value(self, field: FieldDescriptor) -> Schema:
        assert field.message_type is not None
        return self._one(field.message_type.fields_by_name["value"])

    def _answer(self, message: Descriptor) -> Schema:
        noted = row_errors_field(message)
        fields = [field for field in message.fields if field.name != noted and not is_link(field)]
        required = [
            field.json_name
            for field in fields
            if not field.has_presence or values.rules_of(field).required
        ]
        return {
            "type": "object",
            **_described(message),
            "properties": {field.json_name: self.member(field) for field in fields},
            **({"required": required} if required else {}),
        }

    def member(self, field: FieldDescriptor) -> Schema:
        """Returns what an answer says for a field."""
        if is_map(field):
            assert field.message_type is not None
            value = self._told(field.message_type.fields_by_name["value"])
            schema: Schema = {"type": "object", "additionalProperties": value}
        elif field.is_repeated:
            schema = {"type": "array", "items": self._told(field)}
        else:
            schema = self._told(field)
        return {**schema, **_described(field), **_shown(field)}

    def _told(self, field: FieldDescriptor) -> Schema:
        """Returns what an answer says for one value of a field."""
        schema = values.given(field)
        if schema is not None:
            return schema
        if field.enum_type is not None:
            return values.enum(field.enum_type)
        assert field.message_type is not None
        return self.given(field.message_type)


def is_link(field: FieldDescriptor) -> bool:
    """Whether a field of an answer is sent as a Link header instead."""
    return bool(field.GetOptions().Extensions[http_pb2.next_link])


def _name(message: Descriptor) -> str:
    """Returns the name of a component: Error.Detail is ErrorDetail."""
    package = message.file.package
    inner = message.full_name.removeprefix(f"{package}.") if package else message.full_name
    return _RENAMED.get(inner, inner.replace(".", ""))


def _described(declaration: Descriptor | FieldDescriptor) -> Schema:
    if isinstance(declaration, FieldDescriptor):
        text = described(declaration)
    else:
        text = comment(declaration)
    return {"description": text} if text else {}


def _shown(field: FieldDescriptor) -> Schema:
    value = examples.declared(field)
    return {} if value is None else {"examples": [value]}
