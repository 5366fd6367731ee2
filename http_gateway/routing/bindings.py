"""Bindings: the ways in which HTTP reaches an rpc, by the google.api.http options of the protos.

A new rpc with a binding needs no line here, whether it is unary or streams. A binding
that cannot work stops the start with a message that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.api import annotations_pb2
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from roster.v1 import http_pb2

from ..codec.transcode import MessageReader, MessageWriter, message_class, reader, writer
from .query import QueryReader
from .stream_fields import ReplyRecords, RequestRecords, reply_records, request_records

_MASK = "google.protobuf.FieldMask"
_WITH_BODY = ("post", "put", "patch")
# What makes calls of an rpc, by whether its client and its server stream.
UNARY = "unary_unary"
_KINDS = {
    (False, False): UNARY,
    (False, True): "unary_stream",
    (True, False): "stream_unary",
    (True, True): "stream_stream",
}


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
    # The name of what makes calls of it, as channels have it.
    kind: str
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
    # The field of the response whose page token is sent as a Link header, not in the body.
    next_link: str | None
    # Where the records of a stream are in its messages; None where that side does not stream.
    requests: RequestRecords | None
    replies: ReplyRecords | None


def bindings_of(service: ServiceDescriptor) -> Iterator[Binding]:
    """Yields every binding of a service. Raises ImpossibleBinding."""
    for method in service.methods:
        options = method.GetOptions()
        rule = options.Extensions[annotations_pb2.http]
        if not rule.WhichOneof("pattern"):
            continue
        for each in (rule, *rule.additional_bindings):
            yield _binding(method, each, options.Extensions[http_pb2.success_status] or 200)


def _binding(method: MethodDescriptor, rule: Any, success_status: int) -> Binding:
    verb = rule.WhichOneof("pattern")
    requests, replies = _requests(method, verb, rule.body), _replies(method, rule.response_body)
    if verb == "custom" or (replies and success_status == 204):
        raise ImpossibleBinding(f"{method.full_name} is bound in a way that is not known here")
    template = _template(method, getattr(rule, verb))
    path_fields = {segment[1:-1] for segment in template if segment.startswith("{")}
    has_body = rule.body == "*"
    mask = _mask(method.input_type) if has_body and verb in ("put", "patch") else None
    in_body = {requests.name, requests.lines} if requests else {mask}
    excluded = frozenset(path_fields | {name for name in in_body if name})
    return Binding(
        http_method=verb.upper(),
        template=template,
        variables=tuple(
            (index, part[1:-1]) for index, part in enumerate(template) if part.startswith("{")
        ),
        rpc=f"/{method.containing_service.full_name}/{method.name}",
        kind=_KINDS[method.client_streaming, method.server_streaming],
        success_status=success_status,
        request_class=message_class(method.input_type),
        response_class=message_class(method.output_type),
        write=writer(method.output_type),
        read_body=reader(method.input_type, excluded) if has_body else None,
        query=QueryReader(method.input_type, excluded, has_body=has_body),
        mask=mask,
        field_names={field.json_name: field.name for field in method.input_type.fields},
        next_link=_next_link(method),
        requests=requests,
        replies=replies,
    )


def _requests(method: MethodDescriptor, verb: str, body: str) -> RequestRecords | None:
    """Returns where the records of the body go; None where the client does not stream."""
    if not method.client_streaming:
        if body not in ("", "*"):
            raise ImpossibleBinding(f"{method.full_name} has the body {body!r}, one of its fields")
        return None
    records = request_records(method.input_type, body) if verb in _WITH_BODY else None
    if records is None:
        raise ImpossibleBinding(
            f"{method.full_name} takes a stream, and has no body of a repeated message field"
        )
    return records


def _replies(method: MethodDescriptor, response_body: str) -> ReplyRecords | None:
    """Returns where the records of the answer are; None where the server does not stream."""
    if not method.server_streaming:
        if response_body:
            raise ImpossibleBinding(f"{method.full_name} has the response body {response_body!r}")
        return None
    records = reply_records(method.output_type, response_body)
    if records is None:
        raise ImpossibleBinding(
            f"{method.full_name} gives a stream, and has no response body of a repeated"
            " message field"
        )
    return records


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


def _next_link(method: MethodDescriptor) -> str | None:
    """Returns the name of the response's field that leads to the next page, or None."""
    names = [
        f.name for f in method.output_type.fields if f.GetOptions().Extensions[http_pb2.next_link]
    ]
    if not names:
        return None
    if len(names) > 1 or "page_token" not in method.input_type.fields_by_name:
        raise ImpossibleBinding(f"{method.full_name} leads to a next page in a way not known here")
    return names[0]
