"""Entity tags, which keep a change from overwriting another one (RFC 9110, AIP-154).

A response with a resource contains its entity tag. A change that sends it back fails with
PreconditionFailed if the resource changed since. The tag is compared in the transaction of the
change, so of several changes with one tag, one succeeds.

The tag is a hash of the resource as it is returned, so that no column stores it, and it is the same
in all processes and databases. That of a subscriber is made of its revision, see
`SubscriberRow.etag`. A tag includes its quotes, as in the headers ETag and If-Match.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

from google.protobuf.message import Message

from .errors import PreconditionFailed

Reply = TypeVar("Reply", bound=Message)

_DIGEST_BYTES = 8
_TAG = re.compile(r'(?:W/)?"[^"]*"')


class Conditional(Protocol):
    """A request for a change of one resource."""

    @property
    def etag(self) -> str: ...


class Changing(Protocol):
    """A transaction that changes a resource."""

    def record_change(self, *, before: Any) -> None: ...


def etag_of(resource: Message, *others: bytes) -> str:
    """Returns the entity tag of a resource. `others` are parts of it that are not returned."""
    digest = blake2b(resource.SerializeToString(deterministic=True), digest_size=_DIGEST_BYTES)
    for part in others:
        digest.update(part)
    return f'"{digest.hexdigest()}"'


def with_etag(reply: Reply, *others: bytes) -> Reply:
    """Adds the entity tag of the resource, which is the first field of a response."""
    response: Any = reply
    response.etag = etag_of(getattr(reply, reply.DESCRIPTOR.fields[0].name), *others)
    return reply


def has_etag(text: str, etag: str) -> bool:
    """Whether a value of If-None-Match contains a tag, also as a weak one, or `*`."""
    return text == "*" or etag in [each.removeprefix("W/") for each in _TAG.findall(text)]


def check_change(request: Conditional, resource: Message, tx: Changing, *others: bytes) -> None:
    """Checks the condition of a change, as `check_etag`, and states the change for the audit log.

    `resource` is as it is before the change. `others` are those of `etag_of`.
    """
    check_etag(request, lambda: etag_of(resource, *others))
    tx.record_change(before=resource)


def check_etag(request: Conditional, current: Callable[[], str | None]) -> None:
    """Raises PreconditionFailed if the request has a condition that the resource does not meet.

    `current` reads the tag of the resource, in the transaction of the change; None if there is no
    resource. It is not called for a request without a condition. A weak tag matches none.
    """
    if not request.etag:
        return
    etag = current()
    if etag is None or (request.etag != "*" and etag not in _TAG.findall(request.etag)):
        raise PreconditionFailed
