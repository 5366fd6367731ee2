"""The requests, types and states of operations."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from ...values.actors import Actor, ActorType

MAX_RUNNING = 100


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
    SUBSCRIBERS_IMPORT = 4
    SUBSCRIBERS_EXPORT = 5
    IMPORT_INSPECTION = 7


class BatchRequest(NamedTuple):
    """A request for a change of many subscribers, as it is stored.

    `message` is the request in JSON, without its IDs. `texts` are the filter, and the filter
    of the segment at the start. `by_admin` is whether the caller has the scope admin. `revision` is
    the last one of the account at the start, and `end_id` is greater than the IDs of all
    subscribers at the start; they are 0 and empty in operations of earlier versions. `key_id`,
    `key_name` and `actor_type` are the actor, see `_actor`. `consent_source` is how the people
    asked for a change of the status. It is not in the action, because earlier versions expect one
    member there.
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


class JobRequest(NamedTuple):
    """A request for a job, as it is stored.

    `type` is a number of `Type`. `job` is what the job stores, in JSON, and `members` are those of
    Operation that belong to its type. The others are as in BatchRequest, with an empty `action` in
    the message: programs of the previous release read this as a change of subscribers.
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

    @property
    def actor(self) -> Actor | None:
        return _actor(self)

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


Request = BatchRequest | ReplayRequest | JobRequest


def _actor(request: Request) -> Actor | None:
    """Returns who started an operation, or None if an earlier version did not store it."""
    if not request.key_id:
        return None
    return Actor(ActorType(request.actor_type), request.key_id, request.key_name)


def type_name(request: Request) -> str:
    """Returns the name of what an operation does, also if a later version started it."""
    if isinstance(request, JobRequest):
        return Type(request.type).name if request.type in set(Type) else "TYPE_UNSPECIFIED"
    is_replay = isinstance(request, ReplayRequest)
    return (Type.WEBHOOK_REPLAY if is_replay else Type.SUBSCRIBERS_BATCH).name


def stored_request(stored: Any) -> Request:
    """Returns a request from its stored JSON, which is a list in operations of earlier versions."""
    if isinstance(stored, dict):
        kind: type[Request] = BatchRequest
        if "replay" in stored:
            kind = ReplayRequest
        elif "job" in stored:
            kind = JobRequest
        # Without members that a later version adds.
        return kind(**{name: stored[name] for name in kind._fields if name in stored})
    action, value, text, segment, texts, dry_run, key_id, by_admin = stored
    message = {"action": {action: value}, "filter": text, "segment": segment, "dryRun": dry_run}
    return BatchRequest(message, texts, by_admin, key_id=key_id)
