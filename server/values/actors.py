"""Who makes a change, with the members of the message Actor."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ActorType(StrEnum):
    """The type of an actor, with the names of Actor.Type."""

    API_KEY = "API_KEY"
    PERSON = "PERSON"
    COMMAND_LINE = "COMMAND_LINE"
    SESSION = "SESSION"


class Actor(NamedTuple):
    """Who makes a change, with the name at that time.

    `id` is that of the API key or session. `ip` is the IP address of a person, which only the
    history has.
    """

    type: ActorType
    id: str = ""
    name: str = ""
    ip: str = ""

    def as_json(self) -> dict[str, str]:
        """Returns the actor as the API does."""
        members = {"type": self.type.value, "id": self.id, "name": self.name}
        return {name: value for name, value in members.items() if value}


def person(ip: str) -> Actor:
    """Returns a person who follows a link or sends a form."""
    return Actor(ActorType.PERSON, ip=ip)
