"""The requests and states of operations."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

MAX_RUNNING = 100


class State(IntEnum):
    """The state of an operation; the numbers of Operation.State."""

    RUNNING = 1
    SUCCEEDED = 2
    CANCELLED = 3
    FAILED = 4


class ActionKind(StrEnum):
    """What is done to each subscriber: the fields of BatchAction in JSON."""

    ADD_TAGS = "addTags"
    REMOVE_TAGS = "removeTags"
    SET_CUSTOM_FIELDS = "setCustomFields"
    CHANGE_STATUS = "changeStatus"
    DELETE = "delete"


class BatchRequest(NamedTuple):
    """A request for an operation, as it is stored.

    `value` is the value of the action in JSON. `texts` are the filter and that of the segment at
    the start. `key_id` and `by_admin` are those of the caller.
    """

    action: ActionKind
    value: Any
    filter: str
    segment: str
    texts: list[str]
    dry_run: bool
    key_id: str
    by_admin: bool
