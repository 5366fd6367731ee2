"""Decides what the entries of the audit log contain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...values.emails import without_addresses

RETENTION_MILLISECONDS = 400 * 24 * 3600 * 1000
# The types of resources whose fields are recorded. Others can name persons, such as operations,
# or have a history.
_RECORDED = {
    *("account", "api_key", "custom_field", "segment", "session", "sign_in_link"),
    *("suppression", "tag", "webhook"),
}
# The entry itself has the ID, the time and the actor. Uses of a key or resource are no changes.
_OMITTED = {"id", "emailHash", "createdAt", "createdBy", "updatedAt", "lastUsedAt", "usedBy"}
_QUERY = re.compile(r"\?.*")

# Actions that change nothing if the resource is equal before and after them. That of a key whose
# secret is rotated is equal too.
_UNLESS_EQUAL = ("updated", "canceled")

Fields = Mapping[str, Any]


def resource_type(action: str) -> str:
    """Returns the type of the resource of an action, such as webhook of webhook.updated."""
    return action.partition(".")[0]


def has_effect(action: str, before: Any, after: Any) -> bool:
    """Whether an action changed something; None is a resource that does not exist."""
    return not action.endswith(_UNLESS_EQUAL) or before is None or before != after


def changes(
    action: str, before: Fields | None, after: Fields | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the fields to record before and after an action: those that differ.

    The fields are those of the resource as JSON, or None if it does not exist.
    """
    if resource_type(action) not in _RECORDED:
        return {}, {}
    old, new = _recorded(action, before or {}), _recorded(action, after or {})
    if before is None or after is None:
        return old, new
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return {name: old.get(name) for name in names}, {name: new.get(name) for name in names}


def _recorded(action: str, fields: Fields) -> dict[str, Any]:
    """Returns fields without addresses of persons, and without queries of URLs.

    A query can contain a secret. The address of an account is recorded.
    """
    recorded = {name: value for name, value in fields.items() if name not in _OMITTED}
    if resource_type(action) == "account":
        return recorded
    return {
        name: without_addresses(_QUERY.sub("", value) if name == "url" else value)
        if isinstance(value, str)
        else value
        for name, value in recorded.items()
    }
