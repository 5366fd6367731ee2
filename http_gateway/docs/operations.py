"""The operations of a document as the reference shows them, grouped by resource."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..openapi.operations import scope_requirement, words
from .bodies import Body, bodies_of
from .document import Document
from .documentation import Documentation
from .errors import codes_of, is_public
from .fields import Fields
from .grpc_calls import GrpcCall, Methods, grpc_call
from .parameters import Parameter, parameters_of
from .samples import Call, Sample, samples_of


@dataclass(frozen=True)
class Operation:
    """An operation. Bindings that differ only in their HTTP method are one operation.

    `ids` are its operation IDs in the document, `codes` the errors it can fail with. A body
    with several media types is listed once for each.
    """

    ids: tuple[str, ...]
    title: str
    methods: tuple[str, ...]
    path: str
    about: str
    scope: str
    is_public: bool
    is_deprecated: bool
    parameters: tuple[Parameter, ...]
    bodies: tuple[Body, ...]
    status: str
    responses: tuple[Body, ...]
    headers: tuple[str, ...]
    codes: tuple[str, ...]
    grpc: GrpcCall | None
    call: Call
    samples: tuple[Sample, ...]

    @property
    def anchor(self) -> str:
        """The fragment of its URL."""
        return self.ids[0]


@dataclass(frozen=True)
class Resource:
    """A resource and its operations."""

    name: str
    about: str
    operations: tuple[Operation, ...]

    @property
    def anchor(self) -> str:
        """The fragment of its URL."""
        return self.name.lower().replace(" ", "-")


def resources_of(
    document: Document, methods: Methods, documentation: Documentation
) -> list[Resource]:
    """Returns the resources of a document in the order of its tags."""
    by_tag: dict[str, list[Operation]] = {}
    fields = Fields(document)
    for path, item in document.content["paths"].items():
        for ids, operation in _merged(item):
            tag = operation["tags"][0]
            method = methods.get((tag, next(iter(ids.values()))))
            grpc = grpc_call(method) if method else None
            shown = _operation(document, fields, path, ids, operation, grpc, documentation)
            by_tag.setdefault(tag, []).append(shown)
    return [
        Resource(tag["name"], tag.get("description", ""), tuple(by_tag[tag["name"]]))
        for tag in document.content["tags"]
    ]


def _merged(item: dict[str, Any]) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yields the operations of a path with their IDs by HTTP method; equal ones are merged."""
    rest = dict(item)
    while rest:
        first = next(iter(rest.values()))
        equal = {
            method.upper(): operation["operationId"]
            for method, operation in rest.items()
            if {**operation, "operationId": ""} == {**first, "operationId": ""}
        }
        yield equal, first
        rest = {method: other for method, other in rest.items() if method.upper() not in equal}


def _operation(
    document: Document,
    fields: Fields,
    path: str,
    ids: dict[str, str],
    operation: dict[str, Any],
    grpc: GrpcCall | None,
    documentation: Documentation,
) -> Operation:
    status = next(status for status in operation["responses"] if status < "300")
    success = document.resolved(operation["responses"][status])
    parameters = tuple(parameters_of(document, fields, operation))
    bodies = bodies_of(operation.get("requestBody", {}), fields)
    scope = operation.get("x-scope", "")
    responses = bodies_of(success, fields)
    in_path = [parameter for parameter in parameters if parameter.location == "path"]
    # Samples have no optional parameters, so that the example response is theirs.
    query = [p for p in parameters if p.location == "query" and p.field.required]
    # Samples contain JSON and records, and not the optional bodies of other media types.
    body = next((body for body in bodies if body.is_json or body.has_records), None)
    call = Call(
        method=next(iter(ids)),
        path=_url(path, in_path, query),
        body=body,
        response=responses[0] if responses else None,
        grpc=grpc,
        message=grpc.message((*in_path, *query), body) if grpc else {},
        is_public=is_public(operation),
        sets_cookie="Set-Cookie" in success["headers"],
    )
    return Operation(
        ids=tuple(ids.values()),
        title=words(operation["operationId"]),
        methods=tuple(ids),
        path=path,
        # The scope is shown as a badge.
        about=operation.get("description", "").replace(scope_requirement(scope), ""),
        scope=scope,
        is_public=is_public(operation),
        is_deprecated=operation.get("deprecated", False),
        parameters=parameters,
        bodies=bodies,
        status=status,
        responses=responses,
        headers=tuple(success.get("headers", ())),
        codes=tuple(codes_of(document, operation)),
        grpc=grpc,
        call=call,
        samples=samples_of(call, documentation),
    )


def _url(path: str, in_path: list[Parameter], query: list[Parameter]) -> str:
    """Returns a path with the examples of parameters."""
    for parameter in in_path:
        example = quote(parameter.example, safe="")
        path = path.replace(f"{{{parameter.field.name}}}", example)
    texts = [f"{item.field.name}={quote(item.example, safe='')}" for item in query]
    return "?".join([path, *texts])
