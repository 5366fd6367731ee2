"""Who is asking, in context variables that live as long as the call."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

_caller: ContextVar[Caller] = ContextVar("caller")
_request_id: ContextVar[str] = ContextVar("request_id", default="")


@dataclass(frozen=True, slots=True)
class Caller:
    """The account that a call acts for, and what the key that came with it may do."""

    account_id: str
    key_id: str
    scope: str
    email_verified: bool


def current() -> Caller:
    """Returns the caller. Raises LookupError outside an authenticated call."""
    return _caller.get()


def account_id() -> str:
    """Returns the account that the call acts for. Raises LookupError as `current` does."""
    return _caller.get().account_id


def account_id_or_none() -> str | None:
    """Returns the account that the call acts for, or None while nobody knows."""
    caller = _caller.get(None)
    return caller.account_id if caller else None


def enter(caller: Caller) -> None:
    """Says who is asking for the rest of this call."""
    _caller.set(caller)


def request_id() -> str:
    """Returns the id under which the log keeps this call; empty outside a call."""
    return _request_id.get()


def enter_request(request_id: str) -> None:
    """Says under which id the log keeps this call."""
    _request_id.set(request_id)
