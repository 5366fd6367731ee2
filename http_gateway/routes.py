"""From a method and a path to an rpc, by the google.api.http options of the protos.

A new unary rpc with a binding needs no line here. A template is made of literal
segments and of `{field}` variables, each one segment; a literal goes before a
variable. A binding that cannot work stops the start with a message that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from google.api import annotations_pb2
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from roster.v1 import http_pb2

from .query import QueryReader
from .transcode import MessageReader, MessageWriter, message_class, reader, writer

_MASK = "google.protobuf.FieldMask"


class ImpossibleBinding(TypeError):
    """A google.api.http option that no request could be served by."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One way in which HTTP reaches an rpc."""

    http_method: str
    template: tuple[str, ...]
    # The places and names of the variables in the path.
    variables: tuple[tuple[int, str], ...]
    rpc: str
    success_status: int
    request_class: type[Any]
    response_class: type[Any]
    write: MessageWriter
    # None where the request has no body; then the query holds the other fields.
    read_body: MessageReader | None
    query: QueryReader
    # The field that says which fields an update changes, filled from the keys of the body.
    mask: str | None
    field_names: dict[str, str]


class Match(NamedTuple):
    """A binding and the values of its path's variables."""

    binding: Binding
    variables: dict[str, str]


def bindings_of(service: ServiceDescriptor) -> Iterator[Binding]:
    """Yields every binding of a service. Raises ImpossibleBinding."""
    for method in service.methods:
        options = method.GetOptions()
        rule = options.Extensions[annotations_pb2.http]
        if not rule.WhichOneof("pattern"):
            continue
        if method.client_streaming or method.server_streaming:
            raise ImpossibleBinding(f"{method.full_name} streams and has an HTTP binding")
        for each in (rule, *rule.additional_bindings):
            yield _binding(method, each, options.Extensions[http_pb2.success_status] or 200)


def _binding(method: MethodDescriptor, rule: Any, success_status: int) -> Binding:
    verb = rule.WhichOneof("pattern")
    if verb == "custom" or rule.response_body or rule.body not in ("", "*"):
        raise ImpossibleBinding(f"{method.full_name} is bound in a way that is not known here")
    template = _template(method, getattr(rule, verb))
    path_fields = {segment[1:-1] for segment in template if segment.startswith("{")}
    mask = _mask(method.input_type) if rule.body and verb in ("put", "patch") else None
    excluded = frozenset(path_fields | ({mask} if mask else set()))
    return Binding(
        http_method=verb.upper(),
        template=template,
        variables=tuple(
            (index, part[1:-1]) for index, part in enumerate(template) if part.startswith("{")
        ),
        rpc=f"/{method.containing_service.full_name}/{method.name}",
        success_status=success_status,
        request_class=message_class(method.input_type),
        response_class=message_class(method.output_type),
        write=writer(method.output_type),
        read_body=reader(method.input_type, excluded) if rule.body else None,
        query=QueryReader(method.input_type, excluded, has_body=bool(rule.body)),
        mask=mask,
        field_names={field.json_name: field.name for field in method.input_type.fields},
    )


def _template(method: MethodDescriptor, text: str) -> tuple[str, ...]:
    root, *segments = text.split("/")
    variables = [part[1:-1] for part in segments if part.startswith("{") and part.endswith("}")]
    literals = [part for part in segments if part[1:-1] not in variables]
    possible = (
        not root
        and segments
        and len(set(variables)) == len(variables)
        and all(_can_be_variable(method.input_type, name) for name in variables)
        and all(part and not set("{}*:=") & set(part) for part in literals)
    )
    if not possible:
        raise ImpossibleBinding(f"{method.full_name} has the impossible path {text!r}")
    return tuple(segments)


def _can_be_variable(request: Descriptor, name: str) -> bool:
    field = request.fields_by_name.get(name)
    return field is not None and field.type == field.TYPE_STRING and not field.is_repeated


def _mask(request: Descriptor) -> str | None:
    """Returns the name of the field mask of an update request (AIP-134), or None."""
    field = request.fields_by_name.get("update_mask")
    kind = field.message_type if field else None
    return field.name if field and kind and kind.full_name == _MASK else None


Segments = tuple[str | None, ...]


class Routes:
    """All bindings, found by path and method.

    A template is kept under its segments with None for each variable, so that a
    path is found by putting None where some template of its length has variables.
    """

    def __init__(self, services: Iterable[ServiceDescriptor]) -> None:
        self._methods: dict[Segments, dict[str, Binding]] = {}
        self._variables: dict[int, list[tuple[int, ...]]] = {}
        for service in services:
            for binding in bindings_of(service):
                self._add(binding)

    def _add(self, binding: Binding) -> None:
        shape = tuple(None if part.startswith("{") else part for part in binding.template)
        methods = self._methods.setdefault(shape, {})
        if binding.http_method in methods:
            other = methods[binding.http_method].rpc
            raise ImpossibleBinding(f"{binding.rpc} and {other} are bound to the same path")
        methods[binding.http_method] = binding
        places = tuple(index for index, part in enumerate(shape) if part is None)
        same_length = self._variables.setdefault(len(shape), [])
        if places not in same_length:
            same_length.append(places)
            same_length.sort(key=lambda places: (len(places), places))

    def match(self, http_method: str, path: str) -> Match | None:
        """Returns the binding for a method and the path as it was sent, or None."""
        segments = path.split("/")[1:]
        for methods in self._candidates(segments):
            binding = methods.get(http_method)
            if binding is not None:
                return Match(binding, _variables(binding, segments))
        return None

    def methods(self, path: str) -> list[str]:
        """Returns the HTTP methods that the path has; none if there is no such path."""
        found = {name for m in self._candidates(path.split("/")[1:]) for name in m}
        if not found:
            return []
        return sorted(found | {"OPTIONS"} | ({"HEAD"} if "GET" in found else set()))

    def _candidates(self, segments: list[str]) -> Iterator[dict[str, Binding]]:
        """Yields the methods of each template that fits, those with fewer variables first."""
        if not all(segments) or not _is_text(segments):
            return
        for places in self._variables.get(len(segments), ()):
            shape: list[str | None] = [*segments]
            for index in places:
                shape[index] = None
            methods = self._methods.get(tuple(shape))
            if methods is not None:
                yield methods


def _is_text(segments: list[str]) -> bool:
    """Whether every segment is text in UTF-8 once it is decoded."""
    try:
        for part in segments:
            if "%" in part:
                unquote(part, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _variables(binding: Binding, segments: list[str]) -> dict[str, str]:
    """Returns the variables of a path, decoded."""
    return {
        name: unquote(segments[index]) if "%" in segments[index] else segments[index]
        for index, name in binding.variables
    }
