"""What a process is to others that serve on its ports.

A port listens before the database is open and migrated: whoever looks after the process
learns that it is alive and not ready, and does not end it in the midst of a migration.
But where others serve on the same port, the system deals out connections to whoever
listens; one that cannot serve yet would refuse what they could have answered. It listens
once it can serve.
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The first of several workers starts while none of the others serves; the further ones later.

    Only one that is alone has its ports to itself.
    """

    ALONE = ""
    FIRST = "first"
    FURTHER = "further"

    @property
    def shares_ports(self) -> bool:
        """Whether other processes may listen on the same ports."""
        return self is not Role.ALONE

    @property
    def listens_late(self) -> bool:
        """Whether others serve on its ports already."""
        return self is Role.FURTHER
