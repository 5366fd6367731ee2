"""Implements SessionService and SignInLinkService."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, Protocol

from google.protobuf.json_format import ParseDict

from roster.v1 import sessions_pb2 as pb
from roster.v1.sessions_pb2_grpc import SessionServiceServicer, SignInLinkServiceServicer

from ...rpc import caller
from ...rpc.caller import account_id, current
from ...rpc.errors import (
    Forbidden,
    InvalidSignInLink,
    InvalidSignInToken,
    RateLimited,
    SessionNotFound,
    SignInLinkLimitReached,
    SignInLinkNotFound,
    Unauthorized,
)
from ...rpc.messages import Context
from ...rpc.paging import page_in
from ...security.links import Links
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.actors import Actor, ActorType
from ...values.ids import checked_id
from ..accounts import store as accounts
from ..accounts import store_keys
from ..accounts.messages import account_message, api_key_message
from ..accounts.rules import READ, hash_secret, is_well_formed
from ..accounts.store_keys import Identity
from ..audit import store as audit
from . import rules, store
from .store import KeyOfSession, SessionRow, SignInLinkRow


class Throttle(Protocol):
    """Limits failed attempts for each client address."""

    def check(self, address: str) -> None:
        """Raises RateLimited if the address failed too often."""

    def record_failure(self, address: str, error: Unauthorized) -> Unauthorized | RateLimited:
        """Counts a failed attempt, and returns the error to report."""


class SessionService(SessionServiceServicer):
    """Signs people in and out.

    `invalidate(ids)` removes sessions from the cache of this process.
    """

    def __init__(
        self,
        database: Database,
        throttle: Throttle,
        invalidate: Callable[..., None],
        links: Links,
        limits: pb.Limits,
    ) -> None:
        self._database = database
        self._throttle = throttle
        self._invalidate = invalidate
        self._links = links
        self._limits = limits

    async def SignIn(self, request: pb.SignInRequest, _context: Context) -> pb.SignInResponse:
        address = caller.client_address()
        self._throttle.check(address)
        try:
            return await self._sign_in(request.token)
        except Unauthorized as error:
            raise self._throttle.record_failure(address, error) from None

    async def _sign_in(self, text: str) -> pb.SignInResponse:
        """Raises Unauthorized, or Forbidden for a key of scope signup."""
        account, secret_hash = rules.account_of(text), hash_secret(text)
        if account is not None:
            caller.enter_account(account)
            read = partial(store.find_link_by_hash, account, secret_hash)
            # Read first, so that calls with an invalid token do not use the writer.
            if await self._database.read(read) is None:
                raise InvalidSignInLink
        else:
            if not is_well_formed(text):
                raise InvalidSignInToken
            caller.enter_account(None)
            account = (await self._database.read(partial(_identify, secret_hash))).account_id
            caller.enter_account(account)
        begin = _with_link if rules.account_of(text) else _with_key
        token, ip = rules.make_token(account), caller.client_address()
        row = await self._database.write(
            partial(begin, account, secret_hash, hash_secret(token), ip)
        )
        return pb.SignInResponse(session=_session(row), token=token)

    async def GetCurrentSession(
        self, _request: pb.GetCurrentSessionRequest, _context: Context
    ) -> pb.GetCurrentSessionResponse:
        account, credential = account_id(), current().actor.id
        public_url = self._links.public_url

        def read(tx: Transaction) -> pb.GetCurrentSessionResponse:
            response = pb.GetCurrentSessionResponse(
                account=account_message(accounts.find_account(account, tx), tx),
                server_version=version("roster"),
                public_url=public_url,
                limits=self._limits,
            )
            session = store.find_session_or_none(account, credential, tx)
            if session is not None:
                response.session.CopyFrom(_session(session))
            else:
                key = store_keys.find_key(account, credential, tx)
                response.api_key.CopyFrom(api_key_message(key))
            return response

        return await self._database.read(read)

    async def SignOut(self, _request: pb.SignOutRequest, _context: Context) -> pb.SignOutResponse:
        await self._end(current().actor.id)
        return pb.SignOutResponse()

    async def SignOutEverywhere(
        self, _request: pb.SignOutEverywhereRequest, _context: Context
    ) -> pb.SignOutEverywhereResponse:
        account = account_id()

        def end(tx: Transaction) -> list[str]:
            session_ids, links = store.delete_all(account, tx)
            counts = {"sessions": len(session_ids), "signInLinks": links}
            tx.record_change(account, before=counts)
            return session_ids

        self._invalidate(*await self._database.write(end))
        return pb.SignOutEverywhereResponse()

    async def ListSessions(
        self, request: pb.ListSessionsRequest, _context: Context
    ) -> pb.ListSessionsResponse:
        read = partial(store.page_of_sessions, account_id(), page := page_in("sessions", request))
        rows, total, following = await self._database.read(read)
        return pb.ListSessionsResponse(
            sessions=map(_session, rows), **page.fields(total, following)
        )

    async def DeleteSession(
        self, request: pb.DeleteSessionRequest, _context: Context
    ) -> pb.DeleteSessionResponse:
        await self._end(checked_id(request.id, SessionNotFound))
        return pb.DeleteSessionResponse()

    async def _end(self, session_id: str) -> None:
        account = account_id()

        def end(tx: Transaction) -> None:
            row = store.find_session(account, session_id, tx)
            tx.record_change(before=_session(row))
            store.delete_session(account, session_id, tx)

        await self._database.write(end)
        self._invalidate(session_id)


class SignInLinkService(SignInLinkServiceServicer):
    """Manages the sign-in links of an account."""

    def __init__(self, database: Database, links: Links) -> None:
        self._database = database
        self._links = links

    async def CreateSignInLink(
        self, request: pb.CreateSignInLinkRequest, _context: Context
    ) -> pb.CreateSignInLinkResponse:
        account = account_id()
        token = rules.make_token(account)
        url = rules.sign_in_url(self._links.required_url(), token)
        time = request.expires_in_seconds * 1000 or rules.LINK_TIME

        def create(tx: Transaction) -> pb.CreateSignInLinkResponse:
            if store.count_links(account, tx) >= rules.MAX_LINKS:
                raise SignInLinkLimitReached(rules.MAX_LINKS)
            row = store.create_link(
                account, request.name, request.scope, hash_secret(token), time, tx
            )
            return pb.CreateSignInLinkResponse(sign_in_link=_link(row), url=url)

        return await self._database.write(create)

    async def ListSignInLinks(
        self, request: pb.ListSignInLinksRequest, _context: Context
    ) -> pb.ListSignInLinksResponse:
        page = page_in("sign-in links", request)
        read = partial(store.page_of_links, account_id(), page)
        rows, total, following = await self._database.read(read)
        return pb.ListSignInLinksResponse(
            sign_in_links=map(_link, rows), **page.fields(total, following)
        )

    async def DeleteSignInLink(
        self, request: pb.DeleteSignInLinkRequest, _context: Context
    ) -> pb.DeleteSignInLinkResponse:
        account, link_id = account_id(), checked_id(request.id, SignInLinkNotFound)

        def delete(tx: Transaction) -> None:
            tx.record_change(before=_link(store.find_link(account, link_id, tx)))
            store.delete_link(account, link_id, tx)

        await self._database.write(delete)
        return pb.DeleteSignInLinkResponse()


def _identify(secret_hash: str, tx: Transaction) -> Identity:
    """Returns the identity of a key that can sign in. Raises Unauthorized or Forbidden."""
    identity = store_keys.identify_any_account(secret_hash, tx)
    if identity is None or (identity.expires_at is not None and identity.expires_at <= tx.now):
        raise Unauthorized
    if identity.scope not in rules.SCOPES:
        raise Forbidden(neededScope=READ, scope=identity.scope)
    return identity


def _with_key(account: str, key_hash: str, token_hash: str, ip: str, tx: Transaction) -> SessionRow:
    identity = _identify(key_hash, tx)
    key = KeyOfSession(identity.key_id, key_hash, identity.expires_at)
    row = store.create_session(account, identity.name, identity.scope, token_hash, tx, key)
    by = Actor(ActorType.API_KEY, identity.key_id, identity.name)
    _record_creation(account, row.as_json(), by, ip, tx)
    return row


def _with_link(
    account: str, link_hash: str, token_hash: str, ip: str, tx: Transaction
) -> SessionRow:
    link = store.find_link_by_hash(account, link_hash, tx)
    if link is None:
        raise InvalidSignInLink
    store.delete_link(account, link.id, tx)
    row = store.create_session(account, link.name, link.scope, token_hash, tx)
    by = Actor(ActorType.SESSION, row.id, row.name)
    _record_creation(account, {**row.as_json(), "signInLinkId": link.id}, by, ip, tx)
    return row


def _record_creation(
    account: str, session: Mapping[str, Any], by: Actor, ip: str, tx: Transaction
) -> None:
    """Records the creation of a session by its API key, or by the session itself."""
    entry = audit.entry(
        tx.new_id(), "session.created", by, session["id"], before=None, after=session, ip=ip
    )
    audit.add(account, [entry], tx)


def _session(row: SessionRow) -> pb.Session:
    return ParseDict(row.as_json(), pb.Session())


def _link(row: SignInLinkRow) -> pb.SignInLink:
    return ParseDict(row.as_json(), pb.SignInLink())
