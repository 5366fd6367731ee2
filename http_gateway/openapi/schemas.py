"""Builds the JSON Schemas of messages as components, for requests and for responses.

Both follow the codec. A request accepts null for an absent key, rejects unknown keys, and has
no fields that the path or the gateway sets. A response always has the fields without presence
and the required ones. New fields can be added to it.
"""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.fields import is_map, rules_of
from ..policy import Policy
from . import bounds, examples, values
from .comments import comment, described
from .values import Schema

_IGNORED = "Output only: ignored in requests."

# Names that conflict with global names of TypeScript in generated clients.
_RENAMED = {"Error": "ErrorBody"}

# The body of an error of a service that does not describe it.
_ANY_ERROR: Schema = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "Why the call failed."},
                "message": {"type": "string", "description": "The same, for people."},
                "details": {
                    "type": "array",
                    "items": {"type": "object"},
                    "description": "Invalid parts of the request, and details of the service.",
                },
                "requestId": {"type": "string", "description": "ID of the request."},
            },
            "required": ["code", "message", "details", "requestId"],
        }
    },
    "required": ["error"],
}

Key = tuple[str, str, frozenset[str]]


class Schemas:
    """The schema components of a document, created when they are first referenced."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.components: dict[str, Schema] = {}
        self._options = policy.annotations.of_field
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

    def error_reference(self) -> Schema:
        """Returns a reference to the schema of an error response."""
        body = self.policy.errors.body
        if body is not None:
            return self.output_reference(body)
        return self._refer(("output", "", frozenset()), "ErrorBody", "Output", lambda: _ANY_ERROR)

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
        absent = {*excluded, self.policy.annotations.row_errors_field(message)}
        fields = [field for field in message.fields if field.name not in absent]
        ignored = self.policy.annotations.ignored_keys(message)
        properties: dict[str, Schema] = {key: {"description": _IGNORED} for key in ignored}
        properties |= {field.json_name: self.input_property(field) for field in fields}
        required = [field.json_name for field in fields if bounds.is_required(field)]
        return {
            "type": "object",
            **self._described(message),
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def input_property(self, field: FieldDescriptor) -> Schema:
        """Returns the schema of a field in a request."""
        schema = self._form(field, is_input=True)
        if not bounds.is_required(field):
            schema = values.or_null(schema)
        return self._documented(field, schema)

    def output_property(self, field: FieldDescriptor) -> Schema:
        """Returns the schema of a field in a response."""
        return self._documented(field, self._form(field, is_input=False))

    def _documented(self, field: FieldDescriptor, schema: Schema) -> Schema:
        return {
            **schema,
            **self._described(field),
            **values.deprecated(field),
            **self._example(field),
        }

    def _form(self, field: FieldDescriptor, *, is_input: bool) -> Schema:
        """Returns the schema of a field's map, list or value; that of a request has bounds."""
        if is_map(field):
            value = self._value(_map_value(field), is_input=is_input)
            return {"type": "object", "additionalProperties": value}
        annotations = self.policy.annotations
        limits = bounds.of_field(field, annotations) if is_input else {}
        value = self._value(field, is_input=is_input)
        if not field.is_repeated:
            return {**value, **limits}
        items = {**value, **(bounds.of_items(field, annotations) if is_input else {})}
        return {"type": "array", "items": items, **limits}

    def _output(self, message: Descriptor) -> Schema:
        annotations, options = self.policy.annotations, self._options
        absent = annotations.row_errors_field(message)
        fields = [f for f in message.fields if f.name != absent and not options(f).is_outside_json]
        required = [
            field.json_name
            for field in fields
            if annotations.is_always_written(field) or rules_of(field).required
        ]
        return {
            "type": "object",
            **self._described(message),
            "properties": {field.json_name: self.output_property(field) for field in fields},
            **({"required": required} if required else {}),
        }

    def _value(self, field: FieldDescriptor, *, is_input: bool) -> Schema:
        """Returns the schema of one value: a reference if its message is declared by the protos."""
        schema = values.value_schema(field, self._options, is_input=is_input)
        if schema is not None:
            return schema
        if field.enum_type is not None:
            return values.enum(field.enum_type, self.policy.errors)
        assert field.message_type is not None
        refer = self.input_reference if is_input else self.output_reference
        return refer(field.message_type)

    def _described(self, declaration: Descriptor | FieldDescriptor) -> Schema:
        describe: Callable[..., str] = comment
        if isinstance(declaration, FieldDescriptor):
            describe = described
        text = describe(declaration, self.policy)
        return {"description": text} if text else {}

    def _example(self, field: FieldDescriptor) -> Schema:
        value = examples.declared(field, self.policy.annotations)
        return {} if value is None else {"examples": [value]}


def _map_value(field: FieldDescriptor) -> FieldDescriptor:
    assert field.message_type is not None
    return field.message_type.fields_by_name["value"]


def _name(message: Descriptor) -> str:
    """Returns the name of a component: Error.Detail is ErrorDetail."""
    package = message.file.package
    inner = message.full_name.removeprefix(f"{package}.") if package else message.full_name
    return _RENAMED.get(inner, inner.replace(".", ""))
