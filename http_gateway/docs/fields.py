"""The fields of a schema as a reader of the page sees them: names, types, bounds, values."""

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
    """A field of a body or an answer, or a parameter.

    `bounds` are those that `about` does not tell in the same words. `values` are what it
    can be where that is a choice, and `choice` is what the document says of them;
    `fields` are those within it. Descriptions are Markdown. A free field is an object whose
    members the caller names; it has an `example`.
    """

    name: str
    kind: str
    about: str
    required: bool = False
    bounds: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    choice: str = ""
    fields: tuple[Field, ...] = ()
    is_free: bool = False
    example: str = ""


@dataclass(frozen=True)
class _Found:
    """A schema without references and alternatives.

    `references` are those that led to it, and `nullable` tells whether null was among the
    alternatives.
    """

    schema: Schema
    references: frozenset[str]
    nullable: bool


class Fields:
    """Reads the schemas of one document."""

    def __init__(self, document: Document) -> None:
        self._schemas: dict[str, Schema] = document.components["schemas"]

    def of(self, schema: Schema, within: frozenset[str] = _NO_REFERENCES) -> tuple[Field, ...]:
        """Returns the fields of an object, or of each object in a list; none of anything else.

        What is inside itself, as `within` tells, is not told again.
        """
        found = self._find(schema)
        if found.references & within:
            return ()
        within |= found.references
        if "items" in found.schema:
            return self.of(found.schema["items"], within)
        members: dict[str, Schema] = found.schema.get("properties", {})
        required = found.schema.get("required", ())
        told = [
            self.one(name, member, required=name in required, within=within)
            for name, member in members.items()
            if not _is_passed_over(member)
        ]
        return (*told, *_passed_over(members))

    def one(
        self,
        name: str,
        schema: Schema,
        *,
        required: bool = False,
        within: frozenset[str] = _NO_REFERENCES,
    ) -> Field:
        """Returns one field."""
        found = self._find(schema)
        single = self._find(found.schema["items"]) if "items" in found.schema else found
        values = [str(value) for value in single.schema.get("enum", ()) if value]
        inner = self.of(schema, within)
        kind = self._kind(found)
        is_free = kind.startswith("object") and not inner
        about, choice = _taken_apart(found.schema.get("description", ""))
        return Field(
            name=name,
            kind=kind,
            about=about,
            required=required,
            bounds=tuple(text for text in bounds_of(found.schema) if text not in about),
            values=tuple(values),
            choice=choice,
            fields=inner,
            is_free=is_free,
            example=_example(found.schema) if is_free else "",
        )

    def _find(self, schema: Schema) -> _Found:
        references: set[str] = set()
        nullable = False
        while "$ref" in schema or "anyOf" in schema:
            rest = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
            if "$ref" in schema:
                name = schema["$ref"].rpartition("/")[2]
                references.add(name)
                schema = {**self._schemas[name], **rest}
                continue
            first, *others = (each for each in schema["anyOf"] if each != {"type": "null"})
            nullable = nullable or len(others) + 1 < len(schema["anyOf"])
            schema = {**first, **rest}
        return _Found(schema, frozenset(references), nullable)

    def _kind(self, found: _Found) -> str:
        """Returns the words for what a value is."""
        schema = found.schema
        kinds = schema.get("type", "string" if "enum" in schema else "any JSON")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if "items" in schema:
            kinds[0] = f"array of {self._kind(self._find(schema['items']))}"
        elif schema.get("format") in _FORMATS:
            kinds[0] = _FORMATS[schema["format"]]
        if found.nullable and "null" not in kinds:
            kinds.append("null")
        *others, last = kinds
        return f"{', '.join(others)} or {last}" if others else last


def _taken_apart(description: str) -> tuple[str, str]:
    """Returns a description without the list at its end, which says what values mean, and that."""
    about, mark, values = description.partition("\n\n- ")
    return about, f"- {values}" if mark else ""


def _example(schema: Schema) -> str:
    return next((json.dumps(value) for value in schema.get("examples", ())), "")


def _is_passed_over(member: Schema) -> bool:
    """Whether a member may be there and means nothing: it has a description alone."""
    return list(member) == ["description"]


def _passed_over(members: dict[str, Schema]) -> Iterator[Field]:
    """Yields those members in one row for each thing that is said of them."""
    texts: dict[str, list[str]] = {}
    for name, member in members.items():
        if _is_passed_over(member):
            texts.setdefault(member["description"], []).append(name)
    for text, names in texts.items():
        yield Field(name=", ".join(names), kind="any JSON", about=text)
