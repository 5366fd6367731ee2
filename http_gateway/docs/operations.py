"""The operations of a document as the page shows them, by resource."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..openapi.operations import scope_requirement, words
from .bodies import Body, bodies_of, last_alone
from .document import Document
from .errors import codes_of
from .fields import Field, Fields
from .samples import Call, Sample, samples_of


@dataclass(frozen=True)
class Parameter:
    """A parameter: its field, whether it goes into path, query or header, and a value to show."""

    field: Field
    place: str
    example: str


@dataclass(frozen=True)
class Operation:
    """An operation. Bindings that differ in their HTTP method alone are one, with several methods.

    `ids` are the operation's names in the document, `codes` those of the errors that
    it can end with. A body that may be of several media types is there several times.
    """

    ids: tuple[str, ...]
    title: str
    methods: tuple[str, ...]
    path: str
    about: str
    scope: str
    parameters: tuple[Parameter, ...]
    bodies: tuple[Body, ...]
    status: str
    answers: tuple[Body, ...]
    headers: tuple[str, ...]
    codes: tuple[str, ...]
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Resource:
    """A resource and its operations."""

    name: str
    about: str
    operations: tuple[Operation, ...]

    @property
    def anchor(self) -> str:
        """What a link to the resource names."""
        return self.name.lower().replace(" ", "-")


def resources_of(document: Document) -> list[Resource]:
    """Returns the resources of a document in the order of its tags."""
    found: dict[str, list[Operation]] = {}
    fields = Fields(document)
    for path, item in document.content["paths"].items():
        for methods, operation in _joined(item):
            shown = _operation(document, fields, path, methods, operation)
            found.setdefault(operation["tags"][0], []).append(shown)
    return [
        Resource(tag["name"], tag.get("description", ""), tuple(found[tag["name"]]))
        for tag in document.content["tags"]
    ]


def _joined(item: dict[str, Any]) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yields the operations of a path, each with its ids by method: alike ones come together."""
    rest = dict(item)
    while rest:
        first = next(iter(rest.values()))
        alike = {
            method.upper(): each["operationId"]
            for method, each in rest.items()
            if {**each, "operationId": ""} == {**first, "operationId": ""}
        }
        yield alike, first
        rest = {method: each for method, each in rest.items() if method.upper() not in alike}


def _operation(
    document: Document,
    fields: Fields,
    path: str,
    methods: dict[str, str],
    operation: dict[str, Any],
) -> Operation:
    status = next(status for status in operation["responses"] if status < "300")
    success = document.resolved(operation["responses"][status])
    parameters = tuple(parameters_of(document, fields, operation))
    bodies = bodies_of(operation.get("requestBody", {}), fields, is_sent=True)
    if "PUT" in methods:
        bodies = tuple(map(last_alone, bodies))
    scope = operation.get("x-scope", "")
    answers = bodies_of(success, fields, is_sent=False)
    call = Call(
        method=next(iter(methods)),
        path=_filled(path, parameters),
        body=bodies[0] if bodies else None,
        answer=answers[0] if answers else None,
    )
    return Operation(
        ids=tuple(methods.values()),
        title=words(operation["operationId"]),
        methods=tuple(methods),
        path=path,
        # The scope is a badge.
        about=operation.get("description", "").replace(scope_requirement(scope), ""),
        scope=scope,
        parameters=parameters,
        bodies=bodies,
        status=status,
        answers=answers,
        headers=tuple(success.get("headers", ())),
        codes=tuple(codes_of(document, operation)),
        samples=samples_of(call),
    )


def headers_of(document: Document) -> tuple[list[Field], list[Field]]:
    """Returns the headers that requests can have, and those that answers can have."""
    fields = Fields(document)
    shared = document.components["parameters"].items()
    requests = [
        _field(fields, told["name"], told) for name, told in shared if told["in"] == "header"
    ]
    headers = document.components["headers"].items()
    return requests, [_field(fields, name, told) for name, told in headers]


def parameters_of(
    document: Document, fields: Fields, operation: dict[str, Any]
) -> Iterator[Parameter]:
    """Yields what an operation is told outside its body."""
    for reference in operation.get("parameters", ()):
        told = document.resolved(reference)
        field = _field(fields, told["name"], told)
        yield Parameter(field, told["in"], str(told.get("example", "")))


def _field(fields: Fields, name: str, told: dict[str, Any]) -> Field:
    schema = {**told["schema"], "description": told.get("description", "")}
    return fields.one(name, schema, required=told.get("required", False))


def _filled(path: str, parameters: tuple[Parameter, ...]) -> str:
    """Returns a path with examples in it, and with the first parameter of the query as one."""
    for parameter in parameters:
        if parameter.place == "path":
            example = quote(parameter.example, safe="")
            path = path.replace(f"{{{parameter.field.name}}}", example)
    query = [parameter for parameter in parameters if parameter.place == "query"]
    if not query:
        return path
    return f"{path}?{query[0].field.name}={quote(query[0].example, safe='')}"
