"""Builds the HTTP bindings of rpcs from the google.api.http options of the protos.

An invalid binding fails the start with a message that names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.api import annotations_pb2
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor

from ..codec.transcode import MessageReader, MessageWriter, message_class
from ..policy import NO_ANNOTATIONS, Annotations, MethodOptions
from .bodies import (
    WHOLE,
    body_reader,
    check_body,
    is_http_body,
    row_arrays,
    takes_http_body,
    update_mask_of,
)
from .deprecations import Deprecations, deprecations_of
from .fields import Setter, check_oneofs, in_query, path_field, setter
from .forms import FormReader, form_reader
from .header_fields import HeaderField, header_fields
from .methods import METHODS
from .query import QueryReader
from .read_masks import ReadMask, read_mask_of
from .responses import (
    ConditionalStatus,
    conditional_status,
    cookie,
    holds_secret,
    next_link,
    response_writer,
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
    # The path of the rpc, such as /example.LibraryService/GetBook.
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
    # Whether an empty body is read as {}.
    optional_body: bool
    # The field that is the response body; "" for the whole response.
    response_body: str
    # None if there is no request body, or it is a stream or not JSON.
    read_body: MessageReader | None
    # The keys of the body that hold arrays of rows.
    row_arrays: frozenset[str]
    # Whether the request body, or the response, is a google.api.HttpBody.
    takes_http_body: bool
    returns_http_body: bool
    # Whether the response is a stream of google.api.HttpBody: the pieces of one body.
    streams_http_body: bool
    # Whether web pages of other origins can call it.
    cross_origin: bool
    # Whether it needs no credentials, and whether those in a cookie are accepted.
    is_public: bool
    takes_cookie: bool
    # The response field that is sent as a cookie; None if there is none.
    cookie: str | None
    query: QueryReader
    # None if HTML forms cannot call it.
    form: FormReader | None
    # Fills the field mask of an update from the keys of the body.
    update_mask: UpdateMask | None
    # Removes fields of the response that the request does not select.
    read_mask: ReadMask | None
    # The response field with the next page token, which is sent as a Link header instead.
    next_link: str | None
    # The fields of the request and of the response that headers carry.
    request_headers: tuple[HeaderField, ...]
    response_headers: tuple[HeaderField, ...]
    # What is deprecated; None if nothing is.
    deprecations: Deprecations | None
    # Whether the response has a `debug_redact` field.
    holds_secret: bool
    # The records in the messages of a stream; None if that side does not stream.
    request_records: RequestRecords | None
    response_records: ResponseRecords | None

    @property
    def is_page(self) -> bool:
        """Whether it is a public page, whose link or form mail programs can change."""
        return self.is_public and self.returns_http_body

    def __str__(self) -> str:
        return f"{self.rpc[1:].replace('/', '.')} ({self.http_method} {self.template.text})"


def bindings_of(
    service: ServiceDescriptor, annotations: Annotations = NO_ANNOTATIONS
) -> Iterator[Binding]:
    """Yields every binding of a service. Raises InvalidBinding."""
    for method in service.methods:
        rule = method.GetOptions().Extensions[annotations_pb2.http]
        if not rule.ByteSize():
            continue
        yield _binding(method, rule, annotations)
        for additional in rule.additional_bindings:
            if additional.additional_bindings:
                raise InvalidBinding(
                    f"{method.full_name} has additional bindings within additional bindings"
                )
            yield _binding(method, additional, annotations)


def _binding(method: MethodDescriptor, rule: Any, annotations: Annotations) -> Binding:
    http_method, path = _pattern(rule)
    try:
        return _build(method, rule, http_method, Template(path), annotations)
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


def _build(
    method: MethodDescriptor,
    rule: Any,
    http_method: str,
    template: Template,
    annotations: Annotations,
) -> Binding:
    if http_method != ANY_METHOD and http_method not in METHODS:
        raise BindingError(f"{http_method!r} is not a valid HTTP method for a path")
    request, body = method.input_type, rule.body
    paths = {variable.name: path_field(request, variable.name) for variable in template.variables}
    check_body(http_method, body, request, frozenset(paths), annotations)
    one_field = [(request.fields_by_name[body],)] if body not in ("", WHOLE) else []
    check_oneofs([*paths.values(), *one_field])
    requests = replies = None
    if method.client_streaming:
        requests = request_records(request, body, frozenset(paths), annotations)
    streams_http_body = method.server_streaming and is_http_body(method.output_type)
    if streams_http_body and method.client_streaming:
        raise BindingError("a stream of google.api.HttpBody needs one request")
    if method.server_streaming and not streams_http_body:
        replies = response_records(request, method.output_type, rule.response_body, annotations)
    in_head = header_fields(request, annotations)
    elsewhere = frozenset(paths) | {name for name, _ in in_head} | in_query(request, annotations)
    mask = None
    if requests is None:
        mask = update_mask_of(http_method, request, body, elsewhere, annotations)
    channel_method = _CHANNEL_METHODS[method.client_streaming, method.server_streaming]
    options = annotations.of_method(method)
    _check_options(options, rule.response_body, channel_method)
    in_response_head = header_fields(method.output_type, annotations)
    if channel_method != UNARY and not streams_http_body and (in_head or in_response_head):
        raise BindingError("header is not supported for streaming methods")
    return Binding(
        http_method=http_method,
        template=template,
        variables={name: setter(fields, annotations) for name, fields in paths.items()},
        method=method,
        rpc=f"/{method.containing_service.full_name}/{method.name}",
        channel_method=channel_method,
        success_status=options.success_status,
        conditional_status=conditional_status(method, annotations),
        request_class=message_class(request),
        response_class=message_class(method.output_type),
        write=response_writer(
            method.output_type, "" if replies else rule.response_body, annotations
        ),
        body=body,
        optional_body=options.optional_body,
        response_body=rule.response_body,
        read_body=None if requests else body_reader(request, body, elsewhere, mask, annotations),
        row_arrays=row_arrays(request, annotations),
        takes_http_body=takes_http_body(request, body),
        returns_http_body=channel_method == UNARY and is_http_body(method.output_type),
        streams_http_body=streams_http_body,
        cross_origin=options.cross_origin,
        is_public=options.is_public,
        takes_cookie=not (options.is_public or options.cross_origin or options.form),
        cookie=cookie(method, annotations),
        query=QueryReader(
            request,
            frozenset(paths)
            | {name for name, _ in in_head}
            | _in_body(request, body, requests, annotations),
            annotations,
            # Mail programs add parameters to the links of public pages.
            ignores_unknown=options.is_public
            and is_http_body(method.output_type)
            and not streams_http_body,
        ),
        form=form_reader(method, body, elsewhere, annotations),
        update_mask=mask,
        read_mask=read_mask_of(method, annotations),
        next_link=next_link(method, annotations),
        request_headers=in_head,
        response_headers=in_response_head,
        deprecations=deprecations_of(method, annotations),
        holds_secret=holds_secret(method.output_type),
        request_records=requests,
        response_records=replies,
    )


def _check_options(options: MethodOptions, response_body: str, channel_method: str) -> None:
    """Raises BindingError if the options exclude each other or the response body."""
    if options.cross_origin and channel_method != UNARY:
        raise BindingError("cross_origin is not supported for streaming methods")
    if options.success_status == 204 and (response_body or channel_method.endswith("stream")):
        raise BindingError("a response with status 204 has no body")


def _in_body(
    request: Descriptor, body: str, requests: RequestRecords | None, annotations: Annotations
) -> frozenset[str]:
    """Returns the fields that the body sets, which are not query parameters."""
    if body == WHOLE:
        return frozenset(field.name for field in request.fields) - in_query(request, annotations)
    csv_field = requests.csv_field if requests else None
    return frozenset(name for name in (body, csv_field) if name)
