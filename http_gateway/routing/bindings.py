"""Builds the HTTP bindings of rpcs from the google.api.http options of the protos.

An invalid binding fails the start with a message that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.api import annotations_pb2
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor

from roster.v1 import http_pb2

from ..codec.transcode import MessageReader, MessageWriter, message_class
from .bodies import (
    WHOLE,
    body_reader,
    check_body,
    is_http_body,
    row_arrays,
    takes_http_body,
    update_mask_of,
)
from .fields import Setter, check_oneofs, in_query, path_field, setter
from .forms import FormReader, form_reader
from .methods import METHODS
from .query import QueryReader
from .read_masks import ReadMask, read_mask_of
from .responses import (
    ConditionalStatus,
    conditional_status,
    holds_secret,
    next_link,
    response_writer,
    success_status,
)
from .stream_fields import RequestRecords, ResponseRecords, request_records, response_records
from .templates import BindingError, Template
from .update_masks import UpdateMask

# The HTTP method of a binding for all methods.
ANY_METHOD = "*"
# The method of a gRPC channel for an rpc, by whether its client and its server stream.
UNARY = "unary_unary"
_CHANNEL_METHODS = {
    (False, False): UNARY,
    (False, True): "unary_stream",
    (True, False): "stream_unary",
    (True, True): "stream_stream",
}


class InvalidBinding(TypeError):
    """An invalid google.api.http option."""


@dataclass(frozen=True, slots=True, repr=False)
class Binding:
    """An HTTP method and path template that an rpc is bound to."""

    http_method: str
    template: Template
    # The setters of the template's variables, by field path.
    variables: dict[str, Setter]
    method: MethodDescriptor
    # The path of the rpc, such as /roster.v1.TagService/GetTag.
    rpc: str
    # The name of the method of a gRPC channel that calls it.
    channel_method: str
    success_status: int
    # Another status, if a field of the response is true.
    conditional_status: ConditionalStatus | None
    request_class: type[Any]
    response_class: type[Any]
    write: MessageWriter
    # The field that is read from the body: "*" for the whole request, "" for none.
    body: str
    # The field that is the response body; "" for the whole response.
    response_body: str
    # None if there is no request body, or it is a stream or not JSON.
    read_body: MessageReader | None
    # The keys of the body that hold arrays of rows.
    row_arrays: frozenset[str]
    # Whether the request body, or the response, is a google.api.HttpBody.
    takes_http_body: bool
    returns_http_body: bool
    # Whether web pages of other origins can call it.
    cross_origin: bool
    query: QueryReader
    # None if HTML forms cannot call it.
    form: FormReader | None
    # Fills the field mask of an update from the keys of the body.
    update_mask: UpdateMask | None
    # Removes fields of the response that the request does not select.
    read_mask: ReadMask | None
    # The response field with the next page token, which is sent as a Link header instead.
    next_link: str | None
    # Whether the response has a `debug_redact` field.
    holds_secret: bool
    # The records in the messages of a stream; None if that side does not stream.
    request_records: RequestRecords | None
    response_records: ResponseRecords | None

    def __str__(self) -> str:
        return f"{self.rpc[1:].replace('/', '.')} ({self.http_method} {self.template.text})"


def bindings_of(service: ServiceDescriptor) -> Iterator[Binding]:
    """Yields every binding of a service. Raises InvalidBinding."""
    for method in service.methods:
        rule = method.GetOptions().Extensions[annotations_pb2.http]
        if not rule.ByteSize():
            continue
        yield _binding(method, rule)
        for additional in rule.additional_bindings:
            if additional.additional_bindings:
                raise InvalidBinding(
                    f"{method.full_name} has additional bindings within additional bindings"
                )
            yield _binding(method, additional)


def _binding(method: MethodDescriptor, rule: Any) -> Binding:
    http_method, path = _pattern(rule)
    try:
        return _build(method, rule, http_method, Template(path))
    except BindingError as error:
        raise InvalidBinding(
            f"{method.full_name} cannot be bound to {http_method} {path!r}: {error}"
        ) from error


def _pattern(rule: Any) -> tuple[str, str]:
    """Returns the HTTP method and path of a rule; empty if it has none."""
    pattern = rule.WhichOneof("pattern")
    if pattern is None:
        return "", ""
    if pattern == "custom":
        return rule.custom.kind, rule.custom.path
    return pattern.upper(), getattr(rule, pattern)


def _build(method: MethodDescriptor, rule: Any, http_method: str, template: Template) -> Binding:
    if http_method != ANY_METHOD and http_method not in METHODS:
        raise BindingError(f"{http_method!r} is not a valid HTTP method for a path")
    request, body = method.input_type, rule.body
    paths = {variable.name: path_field(request, variable.name) for variable in template.variables}
    check_body(http_method, body, request, frozenset(paths))
    one_field = [(request.fields_by_name[body],)] if body not in ("", WHOLE) else []
    check_oneofs([*paths.values(), *one_field])
    requests = _requests(method, body, frozenset(paths))
    replies = _replies(method, rule.response_body)
    in_url = frozenset(paths) | in_query(request)
    mask = None if requests else update_mask_of(http_method, request, body, in_url)
    channel_method = _CHANNEL_METHODS[method.client_streaming, method.server_streaming]
    cross_origin = method.GetOptions().Extensions[http_pb2.cross_origin]
    if cross_origin and channel_method != UNARY:
        raise BindingError("cross_origin is not supported for streaming methods")
    return Binding(
        http_method=http_method,
        template=template,
        variables={name: setter(fields) for name, fields in paths.items()},
        method=method,
        rpc=f"/{method.containing_service.full_name}/{method.name}",
        channel_method=channel_method,
        success_status=success_status(method, rule.response_body),
        conditional_status=conditional_status(method),
        request_class=message_class(request),
        response_class=message_class(method.output_type),
        write=response_writer(method.output_type, "" if replies else rule.response_body),
        body=body,
        response_body=rule.response_body,
        read_body=None if requests else body_reader(request, body, in_url, mask),
        row_arrays=row_arrays(request),
        takes_http_body=takes_http_body(request, body),
        returns_http_body=channel_method == UNARY and is_http_body(method.output_type),
        cross_origin=cross_origin,
        query=QueryReader(
            request,
            frozenset(paths) | _in_body(request, body, requests),
            # Mail programs add parameters to the links of pages.
            ignores_unknown=is_http_body(method.output_type),
        ),
        form=form_reader(method, body, in_url),
        update_mask=mask,
        read_mask=read_mask_of(method),
        next_link=next_link(method),
        holds_secret=holds_secret(method.output_type),
        request_records=requests,
        response_records=replies,
    )


def _requests(
    method: MethodDescriptor, body: str, in_path: frozenset[str]
) -> RequestRecords | None:
    if not method.client_streaming:
        return None
    records = request_records(method.input_type, body, in_path)
    if records is None:
        raise BindingError(
            "a client-streaming method needs a body that names a repeated message field"
        )
    return records


def _replies(method: MethodDescriptor, response_body: str) -> ResponseRecords | None:
    if not method.server_streaming:
        return None
    records = response_records(method.input_type, method.output_type, response_body)
    if records is None:
        raise BindingError(
            "a server-streaming method needs a response_body that names a repeated message field"
        )
    return records


def _in_body(request: Descriptor, body: str, requests: RequestRecords | None) -> frozenset[str]:
    """Returns the fields that the body sets, which are not query parameters."""
    if body == WHOLE:
        return frozenset(field.name for field in request.fields) - in_query(request)
    csv_field = requests.csv_field if requests else None
    return frozenset(name for name in (body, csv_field) if name)
