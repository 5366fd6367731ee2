"""A request of HTTP as the request message of its rpc: body, path and query put together."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from google.protobuf.empty_pb2 import Empty

from .. import body
from ..codec import strict_json
from ..codec.required import add_missing
from ..codec.scalars import InvalidValue
from ..codec.transcode import reader
from ..request_errors import RequestError, Violations, validation_error
from .bindings import Binding
from .bodies import WHOLE
from .fields import json_path, path_field
from .routes import Match

_read_no_keys = reader(Empty.DESCRIPTOR)


async def message_of(match: Match, query: str, request: web.BaseRequest) -> Any:
    """Returns the request message of an HTTP request. Raises RequestError.

    The path takes precedence over the same field in the body.
    """
    binding = match.binding
    message = binding.request_class()
    given: dict[str, Any] = {}
    if binding.read_body is not None:
        data = await body.read(request)
        value = strict_json.loads(data) if binding.body == WHOLE else _one_field(binding, data)
        violations = Violations()
        given = binding.read_body(value, "", violations, message)
        if violations:
            raise validation_error(violations)
    elif binding.request_records is None and request.body_exists:
        await _check_no_content(request)
    for name, text in match.variables.items():
        try:
            binding.variables[name](message, name, text)
        except InvalidValue as error:
            raise _wrong_variable(message, name, error) from None
    if query:
        binding.query.read(query, message)
    if binding.update_mask is not None:
        binding.update_mask.fill(message, given)
    if binding.request_records is None:
        _refuse_missing(message)
    return message


async def _check_no_content(request: web.BaseRequest) -> None:
    """Raises RequestError if the body is neither empty nor an object without keys.

    A body that the binding has no place for is refused with any method, GET and DELETE
    included: the client expects it to have an effect that it would not have.
    """
    data = await body.read(request)
    if data:
        violations = Violations()
        _read_no_keys(strict_json.loads(data), "", violations, Empty())
        if violations:
            raise validation_error(violations)


def _refuse_missing(message: Any) -> None:
    violations = Violations()
    add_missing(message, violations)
    if violations:
        raise validation_error(violations)


def _one_field(binding: Binding, data: bytes) -> Any:
    """Returns the value of a body that is one field; its violations are named from there on."""
    try:
        return strict_json.loads(data)
    except RequestError as fault:
        field = binding.request_class.DESCRIPTOR.fields_by_name[binding.body].json_name
        for detail in fault.error.details:
            separator = "" if detail.field.startswith("[") else "."
            detail.field = f"{field}{separator}{detail.field}" if detail.field else ""
        raise


def _wrong_variable(message: Any, name: str, error: InvalidValue) -> RequestError:
    violations = Violations()
    violations.add(json_path(path_field(message.DESCRIPTOR, name)), error.code, str(error))
    return validation_error(violations)
