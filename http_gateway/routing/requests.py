"""A request of HTTP as the request message of its rpc: body, query and path put together."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from .. import body
from ..codec import strict_json
from ..faults import Faults, invalid
from .routes import Match


async def message_of(match: Match, query: str, request: web.BaseRequest) -> Any:
    """Makes a request message of a request. Raises RequestFault."""
    binding = match.binding
    message = binding.request_class()
    if binding.read_body is not None:
        value = strict_json.read(await body.read(request))
        faults = Faults()
        given = binding.read_body(value, "", faults, message)
        if faults:
            raise invalid(faults)
        if binding.mask is not None:
            mask = getattr(message, binding.mask)
            mask.SetInParent()
            mask.paths.extend([binding.field_names[key] for key in given])
    if query:
        binding.query.read(query, message)
    for name, text in match.variables.items():
        setattr(message, name, text)
    return message
