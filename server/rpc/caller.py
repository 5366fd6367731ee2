"""The account, caller, client address and request ID of the current call, in context variables."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from ..values.actors import Actor

_caller: ContextVar[Caller] = ContextVar("caller")
_account_id: ContextVar[str | None] = ContextVar("account_id", default=None)
_actor: ContextVar[Actor | None] = ContextVar("actor", default=None)
_client_address: ContextVar[str] = ContextVar("client_address", default="")
_request_id: ContextVar[str] = ContextVar("request_id", default="")


@dataclass(frozen=True, slots=True)
class Caller:
    """The account of a call, and who makes it: an API key or a session, with its scope."""

    account_id: str
    actor: Actor
    scope: str
    email_verified: bool


def current() -> Caller:
    """Returns the caller. Raises LookupError outside an authenticated call."""
    return _caller.get()


def account_id() -> str:
    """Returns the account ID of the caller. Raises LookupError as `current` does."""
    return _caller.get().account_id


def account_id_or_none() -> str | None:
    """Returns the account that the current call or task works for, or None."""
    return _account_id.get()


def actor_or_none() -> Actor | None:
    """Returns who makes the changes of the current call or task, or None for the service."""
    return _actor.get()


def enter(caller: Caller) -> None:
    """Sets the caller of the current call."""
    _caller.set(caller)
    enter_account(caller.account_id, caller.actor)


def enter_account(account_id: str | None, actor: Actor | None = None) -> None:
    """Sets the account that the current task works for, and who makes its changes."""
    _account_id.set(account_id)
    _actor.set(actor)


def client_address() -> str:
    """Returns the address of the client of the current call; empty if it is unknown."""
    return _client_address.get()


def enter_client(address: str) -> None:
    """Sets the address of the client of the current call."""
    _client_address.set(address)


def request_id() -> str:
    """Returns the request ID of the current call; empty outside a call."""
    return _request_id.get()


def enter_request(request_id: str) -> None:
    """Sets the request ID of the current call."""
    _request_id.set(request_id)
