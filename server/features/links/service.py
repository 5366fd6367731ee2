"""LinkService."""

from __future__ import annotations

from functools import partial

from google.api.httpbody_pb2 import HttpBody

from roster.v1 import links_pb2 as pb
from roster.v1 import subscribers_pb2
from roster.v1.links_pb2_grpc import LinkServiceServicer

from ...rpc.caller import account_id, enter_account
from ...rpc.messages import Context, check_ip, timestamp
from ...security.links import CONFIRM_TIME, Links, Purpose, Token, masked
from ...storage.database import Database
from ...values.actors import person
from ...values.clock import Clock
from ..accounts.store import branding
from ..subscribers.linked import urls_of
from ..subscribers.store_reading import check_reference, find
from . import pages
from .page_responses import language_of, response
from .pages import Content, View
from .store import FoundLink, LinkStore

# The address of a preview.
_EXAMPLE = "ada@example.com"


class LinkService(LinkServiceServicer):
    """Creates the links of the caller's account, and acts on them for its services."""

    def __init__(self, database: Database, links: Links, store: LinkStore, clock: Clock) -> None:
        self._database = database
        self._links = links
        self._store = store
        self._clock = clock

    async def CreateSubscriberLinks(
        self, request: pb.CreateSubscriberLinksRequest, _context: Context
    ) -> pb.CreateSubscriberLinksResponse:
        account, reference = account_id(), check_reference(request.id)
        row = await self._database.read(partial(find, account, reference))
        now = self._clock()
        urls = urls_of(account, row, self._links, now, can_confirm=True)
        expires_at = timestamp(now + CONFIRM_TIME)
        links = (
            pb.SubscriberLink(
                purpose=pb.Link.CONFIRM, url=urls.confirm_url or "", expires_at=expires_at
            ),
            pb.SubscriberLink(purpose=pb.Link.UNSUBSCRIBE, url=urls.unsubscribe_url),
        )
        purposes = request.purposes or list(Purpose)
        response = pb.CreateSubscriberLinksResponse(
            links=[link for link in links if link.purpose in purposes]
        )
        # Deprecated fields.
        if pb.Link.CONFIRM in purposes:
            response.confirm_url = links[0].url
            response.confirm_expires_at.CopyFrom(expires_at)
        if pb.Link.UNSUBSCRIBE in purposes:
            response.unsubscribe_url = links[1].url
        return response

    async def GetLink(self, request: pb.GetLinkRequest, _context: Context) -> pb.GetLinkResponse:
        token = self._own_token(request.token)
        link = await self._database.read(lambda tx: self._store.find(token, tx))
        return pb.GetLinkResponse(link=_link(link))

    async def FollowLink(
        self, request: pb.FollowLinkRequest, _context: Context
    ) -> pb.FollowLinkResponse:
        token = self._own_token(request.token)
        act = self._store.undo if request.undo else self._store.follow
        enter_account(account_id(), person(check_ip(request.ip)))
        return await self._database.write(
            lambda tx: pb.FollowLinkResponse(link=_link(act(token, tx)))
        )

    async def GetPagePreview(self, request: pb.GetPagePreviewRequest, context: Context) -> HttpBody:
        view = View[pb.GetPagePreviewRequest.Page.Name(request.page)]
        design = await self._database.read(partial(branding, account_id()))
        content = Content(
            view,
            # Only links have masked addresses.
            _EXAMPLE if view is View.SIGNED_UP else masked(_EXAMPLE),
            # The page of a link that does not work anymore has no logo.
            design._replace(logo=b"") if view is View.ENDED else design,
            can_undo=view is View.UNSUBSCRIBED,
            is_preview=True,
        )
        language = request.language or language_of(context)
        return response(pages.page(language, content), context)

    def _own_token(self, text: str) -> Token | None:
        """Returns a token of the caller's account, or None."""
        token = self._links.token(text)
        return token if token is not None and token.account_id == account_id() else None


def _link(link: FoundLink) -> pb.Link:
    token, row = link.token, link.subscriber
    message = pb.Link(
        purpose=pb.Link.Purpose.ValueType(token.purpose),
        subscriber_id=row.id if row else "",
        masked_email=masked(link.email_key),
        status=subscribers_pb2.Subscriber.Status.ValueType(link.status),
    )
    if token.expires_at is not None:
        message.expires_at.CopyFrom(timestamp(token.expires_at))
    if link.undo is not None:
        message.undo_until.CopyFrom(timestamp(link.undo.until))
    return message
