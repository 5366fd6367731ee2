"""What ProtoJSON leaves to those who speak it, and where Roster departs from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How messages are read and written; readers and writers are made once for each style."""

    # Whether a Timestamp has exactly three fractional digits, cut off, and not as many
    # as it needs. This is the one departure from the specification.
    milliseconds: bool = True
    # Whether fields without presence are written even where they hold their defaults.
    defaults: bool = True
    # Whether unknown keys, and unknown names of enum values, are passed over and no violations.
    ignore_unknown: bool = False


SERVICE = Style()
SPECIFICATION = Style(milliseconds=False, defaults=False)
