"""The role of a process among others that listen on the same ports.

A process listens before its database is open and migrated, so that a service manager sees that it
is alive and not ready, and does not stop it during a migration. If other processes already serve
on the same port, the kernel would also send connections to a process that cannot serve them yet. So
a FURTHER process listens only when it can serve.
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """ALONE is not supervised. The FIRST process of a supervisor starts before FURTHER ones."""

    ALONE = ""
    FIRST = "first"
    FURTHER = "further"

    @property
    def is_supervised(self) -> bool:
        return self is not Role.ALONE

    @property
    def listens_late(self) -> bool:
        """Whether other processes already serve on its ports."""
        return self is Role.FURTHER
