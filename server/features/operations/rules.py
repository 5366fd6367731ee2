"""The requests, types and states of operations."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

from ...values.actors import Actor, ActorType

MAX_RUNNING = 100
# The time after its end in which an operation can be undone.
UNDO_MILLISECONDS = 24 * 3600 * 1000
# The number of subscribers that a selection may differ by from the expected number: the greater
# one of this number and this part of it.
MAX_DIFFERENCE, MAX_DIFFERENCE_PERCENT = 10, 1
# A text of stored requests that exclude subscribers. A program of an earlier version would change
# these; it ends such an operation as FAILED, because it has no field of this name.
_EXCLUDES = "excludedSubscribers = true"


class State(IntEnum):
    """The state of an operation; the numbers of Operation.State."""

    RUNNING = 1
    SUCCEEDED = 2
    CANCELLED = 3
    FAILED = 4


class Type(IntEnum):
    """What an operation does; the numbers of Operation.Type."""

    SUBSCRIBERS_BATCH = 1
    WEBHOOK_REPLAY = 2
    SUBSCRIBERS_UNDO = 3
    SUBSCRIBERS_IMPORT = 4
    SUBSCRIBERS_EXPORT = 5
    IMPORT_INSPECTION = 7


class UndoFailure(StrEnum):
    """Why a change of a subscriber was not undone, among the reasons of errors."""

    # The subscriber, or the address that the status belongs to, was changed after the operation.
    CHANGED_SINCE = "CHANGED_SINCE"
    # A file or a person stated the opt-out.
    OPT_OUT_KEPT = "OPT_OUT_KEPT"


class BatchRequest(NamedTuple):
    """A request for a change of many subscribers, as it is stored.

    `message` is the request in JSON, without its IDs. `texts` are the filter, and the filter
    of the segment at the start. `by_admin` is whether the caller has the scope admin. `revision` is
    the last one of the account at the start, and `end_id` is greater than the IDs of all
    subscribers at the start; they are 0 and empty in operations of earlier versions. `key_id`,
    `key_name` and `actor_type` are the actor, see `_actor`. `consent_source` is how the people
    asked for a change of the status. It is not in the action, because earlier versions expect one
    member there. `excluded` is the number of subscribers that match and are excluded.
    `is_in_history` is whether the history has the operation of each change.
    """

    message: dict[str, Any]
    texts: list[str]
    by_admin: bool
    revision: int = 0
    end_id: str = ""
    key_id: str = ""
    key_name: str = ""
    actor_type: str = ActorType.API_KEY
    consent_source: str = ""
    excluded: int = 0
    is_in_history: bool = False

    @property
    def actor(self) -> Actor | None:
        return _actor(self)

    @property
    def action(self) -> str:
        (name,) = self.message["action"]
        return str(name)

    @property
    def value(self) -> Any:
        """The value of the action."""
        (value,) = self.message["action"].values()
        return value

    @property
    def filter(self) -> str:
        return self.message.get("filter", "")  # type: ignore[no-any-return]

    @property
    def q(self) -> str:
        return self.message.get("q", "")  # type: ignore[no-any-return]

    @property
    def is_of_ids(self) -> bool:
        """Whether the request names the subscribers, instead of conditions that they match."""
        return not self.texts and not self.q

    @property
    def segment_id(self) -> str:
        # Earlier versions stored the other name.
        return str(self.message.get("segmentId") or self.message.get("segment", ""))

    @property
    def can_be_undone(self) -> bool:
        return self.is_in_history and not self.dry_run and self.action != "delete"

    @property
    def excluded_ids(self) -> list[str]:
        return self.message.get("excludeIds", [])  # type: ignore[no-any-return]

    @property
    def dry_run(self) -> bool:
        return self.message.get("dryRun", False)  # type: ignore[no-any-return]


class ReplayRequest(NamedTuple):
    """A request for a replay, as it is stored.

    `replay` is the JSON of Operation.Replay, without the number of deliveries. The last event is
    `until_sequence`. `key_id`, `key_name` and `actor_type` are the actor, see `_actor`.
    """

    replay: dict[str, Any]
    until_sequence: int
    key_id: str = ""
    key_name: str = ""
    actor_type: str = ActorType.API_KEY

    @property
    def actor(self) -> Actor | None:
        return _actor(self)

    @property
    def webhook_id(self) -> str:
        return str(self.replay["webhookId"])

    @property
    def dry_run(self) -> bool:
        return False


class UndoRequest(NamedTuple):
    """A request for the undo of an operation, as it is stored.

    `undo_of` is the operation, which started at `started_at`, after the `revision`. `end_id` is
    greater than the IDs of all subscribers at the start of the undo. `is_of_import` is whether it
    created subscribers. `by_admin` is whether the caller has the scope admin.
    """

    undo_of: str
    started_at: int
    revision: int
    by_admin: bool
    dry_run: bool = False
    is_of_import: bool = False
    end_id: str = ""
    key_id: str = ""
    key_name: str = ""
    actor_type: str = ActorType.API_KEY

    @property
    def actor(self) -> Actor | None:
        return _actor(self)


class JobRequest(NamedTuple):
    """A request for a job, as it is stored.

    `type` is a number of `Type`. `job` is what the job stores, in JSON, and `members` are those of
    Operation that belong to its type. The others are as in BatchRequest, with an empty `action` in
    the message: programs of the previous release read this as a change of subscribers.
    `is_in_history` is also as there.
    """

    type: int
    job: dict[str, Any]
    members: dict[str, Any]
    message: dict[str, Any]
    texts: list[str]
    by_admin: bool
    revision: int = 0
    end_id: str = ""
    key_id: str = ""
    key_name: str = ""
    actor_type: str = ActorType.API_KEY
    is_in_history: bool = False

    @property
    def actor(self) -> Actor | None:
        return _actor(self)

    @property
    def can_be_undone(self) -> bool:
        is_import = self.type == Type.SUBSCRIBERS_IMPORT
        return self.is_in_history and not self.dry_run and is_import

    @property
    def filter(self) -> str:
        return str(self.message.get("filter", ""))

    @property
    def q(self) -> str:
        return str(self.message.get("q", ""))

    @property
    def segment_id(self) -> str:
        return str(self.message.get("segmentId", ""))

    @property
    def dry_run(self) -> bool:
        return bool(self.message.get("dryRun", False))


Request = BatchRequest | ReplayRequest | UndoRequest | JobRequest


def _actor(request: Request) -> Actor | None:
    """Returns who started an operation, or None if an earlier version did not store it."""
    if not request.key_id:
        return None
    return Actor(ActorType(request.actor_type), request.key_id, request.key_name)


def selection_differs(total: int, expected: int) -> bool:
    """Whether a selection is not the one that the caller expected, given their sizes."""
    difference = abs(total - expected)
    return difference > MAX_DIFFERENCE and 100 * difference > MAX_DIFFERENCE_PERCENT * expected


def as_stored(request: Request) -> dict[str, Any]:
    """Returns a request in JSON, as `stored_request` reads it.

    A program of an earlier version takes an undo for a replay. It cannot run it, because its
    position is not the number of an event, and leaves it to the other programs.
    """
    stored = request._asdict()
    if isinstance(request, UndoRequest):
        return {**stored, "replay": {"webhookId": ""}, "until_sequence": 0}
    if isinstance(request, BatchRequest) and request.excluded_ids:
        stored["texts"] = [*request.texts, _EXCLUDES]
    return stored


def type_name(request: Request) -> str:
    """Returns the name of what an operation does, also if a later version started it."""
    if isinstance(request, JobRequest):
        return Type(request.type).name if request.type in set(Type) else "TYPE_UNSPECIFIED"
    if isinstance(request, UndoRequest):
        return Type.SUBSCRIBERS_UNDO.name
    is_replay = isinstance(request, ReplayRequest)
    return (Type.WEBHOOK_REPLAY if is_replay else Type.SUBSCRIBERS_BATCH).name


def stored_request(stored: Any) -> Request:
    """Returns a request from its stored JSON, which is a list in operations of earlier versions."""
    if isinstance(stored, dict):
        kind: type[Request] = BatchRequest
        if "undo_of" in stored:
            kind = UndoRequest
        elif "replay" in stored:
            kind = ReplayRequest
        elif "job" in stored:
            kind = JobRequest
        # Without members that a later version adds.
        request = kind(**{name: stored[name] for name in kind._fields if name in stored})
        if isinstance(request, BatchRequest) and _EXCLUDES in request.texts:
            return request._replace(texts=[each for each in request.texts if each != _EXCLUDES])
        return request
    action, value, text, segment, texts, dry_run, key_id, by_admin = stored
    message = {"action": {action: value}, "filter": text, "segment": segment, "dryRun": dry_run}
    return BatchRequest(message, texts, by_admin, key_id=key_id)
