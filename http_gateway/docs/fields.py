"""Fields of a schema for the reference: names, types, bounds and allowed values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .bounds import bounds_of
from .document import Document

Schema = dict[str, Any]

_FORMATS = {"date-time": "timestamp", "date": "date", "email": "email address", "uri": "URL"}
_NO_REFERENCES: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Field:
    """A field of a body, or a parameter.

    `bounds` does not repeat what `about` states. `values` are the allowed
    values and `choice` their descriptions. `fields` are nested fields. Descriptions are
    Markdown. A free field is an object with arbitrary keys; it has an `example`.
    """

    name: str
    kind: str
    about: str
    required: bool = False
    is_deprecated: bool = False
    bounds: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    choice: str = ""
    fields: tuple[Field, ...] = ()
    is_free: bool = False
    example: str = ""


@dataclass(frozen=True)
class _Resolved:
    """A schema without references and alternatives.

    `references` are the components that led to it. `nullable` is true if null was one of the
    alternatives.
    """

    schema: Schema
    references: frozenset[str]
    nullable: bool


class Fields:
    """Reads the fields of the schemas of a document."""

    def __init__(self, document: Document) -> None:
        self._schemas: dict[str, Schema] = document.components["schemas"]

    def of(self, schema: Schema, within: frozenset[str] = _NO_REFERENCES) -> tuple[Field, ...]:
        """Returns the fields of an object, or of the objects in an array; otherwise none.

        Schemas in `within` are already being read: a recursive field has no nested fields.
        """
        resolved = self._resolve(schema)
        if resolved.references & within:
            return ()
        within |= resolved.references
        if "items" in resolved.schema:
            return self.of(resolved.schema["items"], within)
        members: dict[str, Schema] = resolved.schema.get("properties", {})
        required = resolved.schema.get("required", ())
        fields = [
            self.one(name, member, required=name in required, within=within)
            for name, member in members.items()
            if not _is_ignored(member)
        ]
        return (*fields, *_ignored(members))

    def one(
        self,
        name: str,
        schema: Schema,
        *,
        required: bool = False,
        within: frozenset[str] = _NO_REFERENCES,
    ) -> Field:
        """Returns one field."""
        resolved = self._resolve(schema)
        items = resolved.schema.get("items")
        single = self._resolve(items) if items is not None else resolved
        nested = self.of(schema, within)
        kind = self._kind(resolved)
        is_free = kind.startswith("object") and not nested
        about, choice = _split_choice(resolved.schema.get("description", ""))
        return Field(
            name=name,
            kind=kind,
            about=about,
            required=required,
            is_deprecated=resolved.schema.get("deprecated", False),
            bounds=tuple(text for text in bounds_of(resolved.schema) if text not in about),
            values=tuple(str(value) for value in single.schema.get("enum", ()) if value),
            choice=choice,
            fields=nested,
            is_free=is_free,
            example=_example(resolved.schema) if is_free else "",
        )

    def _resolve(self, schema: Schema) -> _Resolved:
        references: set[str] = set()
        nullable = False
        while "$ref" in schema or "anyOf" in schema:
            rest = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
            if "$ref" in schema:
                name = schema["$ref"].rpartition("/")[2]
                references.add(name)
                schema = {**self._schemas[name], **rest}
                continue
            first, *others = (item for item in schema["anyOf"] if item != {"type": "null"})
            nullable = nullable or len(others) + 1 < len(schema["anyOf"])
            schema = {**first, **rest}
        return _Resolved(schema, frozenset(references), nullable)

    def _kind(self, resolved: _Resolved) -> str:
        """Returns the name of a type, such as "array of string" or "number or null"."""
        schema = resolved.schema
        kinds = schema.get("type", "string" if "enum" in schema else "any JSON")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if "items" in schema:
            kinds[0] = f"array of {self._kind(self._resolve(schema['items']))}"
        elif schema.get("format") in _FORMATS:
            kinds[0] = _FORMATS[schema["format"]]
        if resolved.nullable and "null" not in kinds:
            kinds.append("null")
        *others, last = kinds
        return f"{', '.join(others)} or {last}" if others else last


def _split_choice(description: str) -> tuple[str, str]:
    """Splits a description into its text and the list of values at its end."""
    about, mark, values = description.partition("\n\n- ")
    return about, f"- {values}" if mark else ""


def _example(schema: Schema) -> str:
    return next((json.dumps(value) for value in schema.get("examples", ())), "")


def _is_ignored(member: Schema) -> bool:
    """Whether a member is accepted and ignored: it has only a description."""
    return list(member) == ["description"]


def _ignored(members: dict[str, Schema]) -> Iterator[Field]:
    """Yields the ignored members, those with the same description as one field."""
    texts: dict[str, list[str]] = {}
    for name, member in members.items():
        if _is_ignored(member):
            texts.setdefault(member["description"], []).append(name)
    for text, names in texts.items():
        yield Field(name=", ".join(names), kind="any JSON", about=text)
