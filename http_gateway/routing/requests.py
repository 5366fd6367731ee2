"""Converts an HTTP request to the request message of its rpc."""

from __future__ import annotations

from typing import Any

from google.protobuf.empty_pb2 import Empty

from .. import body
from ..codec import strict_json
from ..codec.required import add_missing
from ..codec.scalars import InvalidValue
from ..codec.transcode import reader
from ..request import Request
from ..request_errors import RequestError, Violations, single_violation, validation_error
from .bindings import Binding
from .bodies import WHOLE
from .fields import json_path, path_field
from .header_fields import IF_MATCH, read_headers
from .routes import Match

CONTENT_RANGE = "Content-Range"
_read_no_keys = reader(Empty.DESCRIPTOR)


async def message_of(match: Match, query: str, request: Request, form: str | None = None) -> Any:
    """Returns the request message with the fields of body, path, query and headers.

    Raises RequestError.

    The path takes precedence over the body. `form` is a submitted form, which was read already.
    """
    binding = match.binding
    message = binding.request_class()
    body_keys: dict[str, Any] = {}
    if form is not None and binding.form is not None:
        binding.form.read(form, message)
    elif binding.read_body is not None:
        data = await body.read(request)
        if not data and binding.optional_body:
            data = b"{}"
        if binding.body == WHOLE:
            value = strict_json.loads_rows(data, binding.row_arrays)
        else:
            value = _read_field(binding, data)
        violations = Violations()
        body_keys = binding.read_body(value, "", violations, message)
        if violations:
            raise validation_error(violations)
    elif binding.takes_http_body:
        await _read_http_body(getattr(message, binding.body), request, is_page=binding.is_page)
    elif binding.request_records is None and request.body_exists:
        await _check_no_content(request)
    for name, text in match.variables.items():
        try:
            binding.variables[name](message, name, text)
        except InvalidValue as error:
            path = json_path(path_field(message.DESCRIPTOR, name))
            raise single_violation(error.code, str(error), path) from None
    if query:
        binding.query.read(query, message)
    # The form of a page is taken under any condition: it can be an opt-out.
    is_form = binding.is_page and binding.takes_http_body
    if binding.request_headers or (IF_MATCH in request.headers and not is_form):
        read_headers(binding.request_headers, request.headers, message)
        if request.method == "HEAD":
            # A range is defined for GET only (RFC 9110).
            for name in (each.name for each in binding.request_headers if each.header == "Range"):
                message.ClearField(name)
    if binding.update_mask is not None:
        binding.update_mask.fill(message, body_keys)
    if binding.request_records is None and not message.IsInitialized():
        violations = Violations()
        add_missing(message, violations)
        raise validation_error(violations)
    return message


async def _read_http_body(target: Any, request: Request, *, is_page: bool) -> None:
    """Reads a body of any media type into a google.api.HttpBody. Raises RequestError."""
    if is_page:
        target.data, target.content_type = await body.read_form(request)
        return
    target.data = await body.read(request, any_type=True)
    content_type = request.headers.get("Content-Type", "")
    if not (content_type.isascii() and content_type.isprintable()):
        raise single_violation("INVALID_CHARACTER", "must be printable ASCII", "Content-Type")
    target.content_type = content_type
    if CONTENT_RANGE in request.headers:
        # The client expects that the content replaces these bytes (RFC 9110).
        raise single_violation("UNKNOWN_FIELD", "is not supported by this operation", CONTENT_RANGE)


async def _check_no_content(request: Request) -> None:
    """Raises RequestError if the body is neither empty nor `{}`.

    A body that would be ignored is rejected, because the client expects it to have an effect.
    """
    data = await body.read(request)
    if data:
        violations = Violations()
        _read_no_keys(strict_json.loads(data), "", violations, Empty())
        if violations:
            raise validation_error(violations)


def _read_field(binding: Binding, data: bytes) -> Any:
    """Parses a body that is one field. The paths of violations start with that field."""
    try:
        return strict_json.loads(data)
    except RequestError as error:
        field = binding.request_class.DESCRIPTOR.fields_by_name[binding.body].json_name
        for detail in error.error.details:
            separator = "" if detail.field.startswith("[") else "."
            detail.field = f"{field}{separator}{detail.field}" if detail.field else ""
        raise
