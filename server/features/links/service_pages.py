"""LinkPageService: the pages that links open."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote_to_bytes

from google.api.httpbody_pb2 import HttpBody

from roster.v1 import links_pb2 as pb
from roster.v1.links_pb2_grpc import LinkPageServiceServicer

from ...rpc import caller, response_times
from ...rpc.errors import (
    InvalidStatusTransition,
    LinkNotFound,
    SubscriberSuppressed,
    TooManyInvalidLinks,
)
from ...rpc.messages import Context
from ...rpc.response_times import wait_for_step
from ...security.links import Links, Purpose, Token, masked
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.actors import person
from ..accounts.store import Branding, branding, find_account
from ..subscribers.fields import Status
from ..subscribers.rules import DECIDED, OPTED_OUT
from . import pages
from .page_responses import language_of, response
from .pages import INVALID, Content, View
from .store import NO_TOKEN, FoundLink, LinkStore

_FORM = "application/x-www-form-urlencoded"
# The media type of a form that the gateway could not read. It may be a one-click unsubscription.
_UNREADABLE = "application/octet-stream"
# A larger form is ignored.
_MAX_FORM_BYTES = 1_000


class Limit(Protocol):
    """A token bucket for each client address."""

    def take(self, address: str) -> Any:
        """Takes a token of the bucket. The result has `allowed`, and `seconds` to wait if not."""


class LinkPageService(LinkPageServiceServicer):
    """Returns pages in the language of the person. The token of a link authorizes the call.

    Calls with invalid tokens are limited for each client address. Calls with valid ones are not,
    because mailbox providers unsubscribe many people from a few addresses.

    The page of a link that does not work anymore names the sender, because its token proves that
    the account issued it. It does not say whether the link expired, or the subscriber changed or
    was deleted. Any other invalid token gets the same page without a sender.
    """

    def __init__(
        self, database: Database, links: Links, store: LinkStore, invalid_links: Limit
    ) -> None:
        self._database = database
        self._links = links
        self._store = store
        self._invalid_links = invalid_links

    async def GetConfirmPage(self, request: pb.GetConfirmPageRequest, context: Context) -> HttpBody:
        return await self._show(Purpose.CONFIRM, request.token, context)

    async def SubmitConfirmPage(
        self, request: pb.SubmitConfirmPageRequest, context: Context
    ) -> HttpBody:
        opts_out = _is_one_click(request.form)
        if request.form.content_type == _UNREADABLE and not opts_out:
            return await self._show(Purpose.CONFIRM, request.token, context)
        return await self._submit(
            Purpose.CONFIRM,
            request.token,
            context,
            partial(self._store.follow, opts_out=opts_out),
            View.UNSUBSCRIBED if opts_out else None,
            opts_out=opts_out,
        )

    async def GetUnsubscribePage(
        self, request: pb.GetUnsubscribePageRequest, context: Context
    ) -> HttpBody:
        return await self._show(Purpose.UNSUBSCRIBE, request.token, context)

    async def SubmitUnsubscribePage(
        self, request: pb.SubmitUnsubscribePageRequest, context: Context
    ) -> HttpBody:
        is_undo = _action(request.form) == "undo" and not _is_one_click(request.form)
        change = self._store.undo if is_undo else self._store.follow
        view = View.RESUBSCRIBED if is_undo else None
        return await self._submit(Purpose.UNSUBSCRIBE, request.token, context, change, view)

    async def _show(self, purpose: Purpose, text: str, context: Context) -> HttpBody:
        started, language = response_times.now(), language_of(context)
        token = self._token(text, purpose)

        def read(tx: Transaction) -> Content:
            return _content(self._store.find(token, tx), tx)

        try:
            content = await self._database.read(read)
        except LinkNotFound:
            raise await self._not_found(token, language, context, started) from None
        return response(pages.page(language, content), context)

    async def _submit(
        self,
        purpose: Purpose,
        text: str,
        context: Context,
        change: Callable[[Token | None, Transaction], FoundLink],
        view: View | None = None,
        *,
        opts_out: bool = False,
    ) -> HttpBody:
        """Makes the change and returns `view`, or the page of the link's status.

        That page is also returned if there was nothing to undo.
        """
        started, language = response_times.now(), language_of(context)
        token, find = self._token(text, purpose), partial(self._store.find, opts_out=opts_out)

        def write(tx: Transaction) -> Content:
            link = change(token, tx)
            is_subscribed = link.is_current and link.status not in OPTED_OUT
            is_undone = view is not View.RESUBSCRIBED or is_subscribed
            return _content(link, tx, view if is_undone else None)

        def read(tx: Transaction) -> Content:
            return _content(find(token, tx), tx, View.NOT_CONFIRMABLE)

        try:
            # Read first, so that calls with an invalid token do not use the writer.
            await self._database.read(partial(find, token))
            try:
                content = await self._database.write(write)
            except (InvalidStatusTransition, SubscriberSuppressed):
                content = await self._database.read(read)
        except LinkNotFound:
            raise await self._not_found(token, language, context, started) from None
        return response(pages.page(language, content), context)

    def _token(self, text: str, purpose: Purpose) -> Token | None:
        """Returns a token of this purpose, or None.

        The account of the token becomes that of the call, and the person its actor.
        """
        token = self._links.token(text)
        if token is None or token.purpose is not purpose:
            return None
        caller.enter_account(token.account_id, person(caller.client_address()))
        return token

    async def _not_found(
        self, token: Token | None, language: str, context: Context, started: float
    ) -> LinkNotFound | TooManyInvalidLinks:
        """Returns the error for an invalid token, after a wait that hides why it is invalid."""
        content = await self._database.read(partial(_ended, token))
        await wait_for_step(started)
        decision = self._invalid_links.take(caller.client_address())
        if decision.allowed:
            return LinkNotFound(response(pages.page(language, content), context).data)
        page = pages.page(language, Content(View.TOO_MANY))
        return TooManyInvalidLinks(decision.seconds, response(page, context).data)


def _ended(token: Token | None, tx: Transaction) -> Content:
    """Returns the page for an invalid token. Every token causes the same work.

    Without the logo: gRPC sends the page of an error as metadata, whose size is limited.
    """
    account = find_account((token or NO_TOKEN).account_id, tx)
    # The MAC of a token of an earlier version was not checked.
    if token is None or token.mac:
        return INVALID
    sender = Branding(account.display_name, account.color, "", b"") if account else None
    return Content(View.ENDED, branding=sender)


def _content(link: FoundLink, tx: Transaction, view: View | None = None) -> Content:
    masked_email = masked(link.email_key)
    design = branding(link.token.account_id, tx)
    return Content(view or _view(link), masked_email, design, can_undo=link.undo is not None)


def _view(link: FoundLink) -> View:
    if link.token.purpose is Purpose.UNSUBSCRIBE:
        return View.UNSUBSCRIBED if link.status in DECIDED else View.UNSUBSCRIBE
    if link.status is Status.COMPLAINED:
        return View.NOT_CONFIRMABLE
    return View.CONFIRMED if link.status is Status.CONFIRMED else View.CONFIRM


def _is_one_click(form: HttpBody) -> bool:
    """Whether a form of any media type is that of a one-click unsubscription (RFC 8058).

    Mailbox providers and scanners submit it, and it never gives consent. UTF-16 has NUL characters.
    """
    text = form.data[:_MAX_FORM_BYTES].replace(b"\0", b"")
    return b"list-unsubscribe" in unquote_to_bytes(text).lower()


def _action(form: HttpBody) -> str:
    if not form.content_type.lower().startswith(_FORM) or len(form.data) > _MAX_FORM_BYTES:
        return ""
    action: str = parse_qs(form.data.decode("ascii", "replace")).get("action", [""])[0]
    return action
