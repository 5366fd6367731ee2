"""Builds the JSON Schemas of messages as components, for requests and for responses.

Both follow the codec. A request accepts null for an absent key, rejects unknown keys, and has
no fields that the path or the gateway sets. A response always has the fields without presence
and the required ones. New fields can be added to it.
"""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from roster.v1 import http_pb2

from ..codec.fields import is_always_written, is_map, is_outside_json, row_errors_field, rules_of
from . import bounds, examples, values
from .comments import comment, described
from .values import Schema

_IGNORED = "Output only: ignored in requests."

# Names that conflict with global names of TypeScript in generated clients.
_RENAMED = {"Error": "ErrorBody"}

Key = tuple[str, str, frozenset[str]]


class Schemas:
    """The schema components of a document, created when they are first referenced."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._names: dict[Key, str] = {}

    def input_reference(
        self, message: Descriptor, excluded: frozenset[str] = frozenset()
    ) -> Schema:
        """Returns a reference to the schema of a message in a request, without some fields."""
        key = ("input", message.full_name, excluded)
        return self._refer(key, _name(message), "Input", lambda: self._input(message, excluded))

    def output_reference(self, message: Descriptor) -> Schema:
        """Returns a reference to the schema of a message in a response."""
        key: Key = ("output", message.full_name, frozenset())
        return self._refer(key, _name(message), "Output", lambda: self._output(message))

    def resolved(self, reference: Schema) -> Schema:
        """Returns the component that a schema refers to."""
        return self.components[reference["$ref"].rpartition("/")[2]]

    def _refer(self, key: Key, name: str, other: str, make: Callable[[], Schema]) -> Schema:
        if key not in self._names:
            while name in self.components:
                name += other
            self._names[key] = name
            self.components[name] = {}  # messages can be recursive
            self.components[name] = make()
        return {"$ref": f"#/components/schemas/{self._names[key]}"}

    def _input(self, message: Descriptor, excluded: frozenset[str]) -> Schema:
        row_errors = row_errors_field(message)
        fields = [f for f in message.fields if f.name not in excluded and f.name != row_errors]
        ignored: list[str] = list(message.GetOptions().Extensions[http_pb2.ignored_keys])
        properties = {key: {"description": _IGNORED} for key in ignored}
        properties |= {field.json_name: self.input_property(field) for field in fields}
        required = [field.json_name for field in fields if bounds.is_required(field)]
        return {
            "type": "object",
            **_described(message),
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def input_property(self, field: FieldDescriptor) -> Schema:
        """Returns the schema of a field in a request."""
        if is_map(field):
            value = self._input_value(_map_value(field))
            schema: Schema = {"type": "object", "additionalProperties": value}
        elif field.is_repeated:
            items = {**self._input_value(field), **bounds.of_items(field)}
            schema = {"type": "array", "items": items, **bounds.of_field(field)}
        else:
            schema = {**self._input_value(field), **bounds.of_field(field)}
        if not bounds.is_required(field):
            schema = values.or_null(schema)
        return {**schema, **_described(field), **_example(field)}

    def _input_value(self, field: FieldDescriptor) -> Schema:
        return _value(field, values.input_schema(field), self.input_reference)

    def _output(self, message: Descriptor) -> Schema:
        row_errors = row_errors_field(message)
        fields = [f for f in message.fields if f.name != row_errors and not is_outside_json(f)]
        required = [
            field.json_name
            for field in fields
            if is_always_written(field) or rules_of(field).required
        ]
        return {
            "type": "object",
            **_described(message),
            "properties": {field.json_name: self.output_property(field) for field in fields},
            **({"required": required} if required else {}),
        }

    def output_property(self, field: FieldDescriptor) -> Schema:
        """Returns the schema of a field in a response."""
        if is_map(field):
            value = self._output_value(_map_value(field))
            schema: Schema = {"type": "object", "additionalProperties": value}
        elif field.is_repeated:
            schema = {"type": "array", "items": self._output_value(field)}
        else:
            schema = self._output_value(field)
        return {**schema, **_described(field), **_example(field)}

    def _output_value(self, field: FieldDescriptor) -> Schema:
        return _value(field, values.output_schema(field), self.output_reference)


def _value(
    field: FieldDescriptor, schema: Schema | None, reference: Callable[[Descriptor], Schema]
) -> Schema:
    """Returns the schema of one value: as given, or that of an enum or message of the protos."""
    if schema is not None:
        return schema
    if field.enum_type is not None:
        return values.enum(field.enum_type)
    assert field.message_type is not None
    return reference(field.message_type)


def _map_value(field: FieldDescriptor) -> FieldDescriptor:
    assert field.message_type is not None
    return field.message_type.fields_by_name["value"]


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


def _example(field: FieldDescriptor) -> Schema:
    value = examples.declared(field)
    return {} if value is None else {"examples": [value]}
