"""Calls by HTML forms without script: the API key in the form, and pages as responses.

A page is sent if the Accept header allows HTML. An error is sent as a page only if the header
names HTML, as those of browsers do, because other clients expect JSON.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import body
from .headers import FORM_KEY, Metadata, printable, qualities, quality
from .http_bodies import success_response
from .request import Request
from .request_errors import request_error, single_violation
from .responses import JSON, Response
from .routing.bindings import Binding
from .routing.forms import FormReader

MEDIA_TYPE = "application/x-www-form-urlencoded"
_HTML = "text/html"


class Form(NamedTuple):
    """A submitted form, the metadata with its API key, and the URL of its redirect."""

    data: bytes
    metadata: Metadata
    redirect: str


def is_form(request: Request, binding: Binding) -> bool:
    if binding.form is None:
        return False
    return body.media_type(request.headers.get("Content-Type", ""))[0] == MEDIA_TYPE


def response_type(request: Request) -> Metadata:
    """Returns the metadata of a call by a form: the media type of the response."""
    accepts_html = quality(request.headers.get("Accept", "*/*"), _HTML)
    return (("accept", _HTML if accepts_html else JSON),)


def shows_error_page(request: Request, binding: Binding) -> bool:
    """Whether the error of a call can be sent as a page."""
    if not is_form(request, binding):
        return binding.returns_http_body
    return bool(qualities(request.headers.get("Accept", "")).get(_HTML))


async def submitted(request: Request, reader: FormReader) -> Form:
    """Returns the submitted form. Its content is not checked yet. Raises RequestError."""
    data = await body.read(request, any_type=True)
    text = data.decode(errors="replace")
    keys, redirects = reader.values(text, reader.key, reader.redirect)
    metadata = tuple((FORM_KEY, printable(key)) for key in keys)
    return Form(data, metadata, next(iter(redirects), ""))


def text_of(form: Form, request: Request) -> str:
    """Returns the content of a form. Raises RequestError if it is not in UTF-8."""
    if body.text_type(request.headers["Content-Type"]) is None:
        message = "The charset of a form must be UTF-8."
        raise request_error("UNSUPPORTED_MEDIA_TYPE", message)
    try:
        return form.data.decode()
    except UnicodeDecodeError:
        raise single_violation("INVALID_FORMAT", "the form must be encoded in UTF-8") from None


async def response(
    reply: Any,
    redirect_url: str | None,
    binding: Binding,
    request: Request,
    request_id: str,
    more: dict[str, str],
) -> Response | None:
    """Returns the redirect or the page of a successful call; None if there is neither."""
    if redirect_url is not None:
        location = {"Location": redirect_url, "Cache-Control": "no-store"}
        return Response(303, request_id, b"", content_type="text/plain", more=location)
    name = binding.form.page if binding.form is not None else None
    if name is None or not reply.HasField(name):
        return None
    return await success_response(getattr(reply, name), binding, request, request_id, more)
