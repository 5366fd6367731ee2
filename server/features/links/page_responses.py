"""Returns pages as responses of calls, in the language of the person."""

from __future__ import annotations

from google.api.httpbody_pb2 import HttpBody

from ...rpc.errors import RateLimited, RosterError
from ...rpc.messages import HTML, Context
from . import pages
from .pages import Content, Page, View


def language_of(context: Context) -> str:
    return pages.language_of(",".join(_values("accept-language", context)))


def is_form(context: Context) -> bool:
    """Whether an HTML form made the call. A gateway then states the type of the response."""
    return bool(_values("accept", context))


def accepts_page(context: Context) -> bool:
    """Whether an HTML form made the call, and the client can show a page."""
    return HTML.partition(";")[0] in _values("accept", context)


def response(page: Page, context: Context) -> HttpBody:
    context.set_trailing_metadata((*(context.trailing_metadata() or ()), *page.metadata))
    return HttpBody(content_type=HTML, data=page.html)


def add_page(error: RosterError, context: Context) -> None:
    """Adds a page to the error of a call by a form."""
    if accepts_page(context):
        page = pages.page(language_of(context), Content(_error_view(error)))
        error.page = response(page, context).data


def _error_view(error: RosterError) -> View:
    if isinstance(error, RateLimited):
        return View.TOO_MANY
    fields = {detail.field for detail in error.details}
    if "email" in fields:
        return View.INVALID_EMAIL
    return View.INVALID_NAME if fields & {"firstName", "lastName"} else View.FORM_FAILED


def _values(name: str, context: Context) -> list[str]:
    metadata = context.invocation_metadata() or ()
    return [str(value) for key, value in metadata if key == name]
