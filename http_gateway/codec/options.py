"""Options of the JSON mapping: choices that ProtoJSON leaves open, and one deviation from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodecOptions:
    # Timestamps have exactly three fractional digits, truncated. This is the one deviation
    # from the specification, which writes as many as needed.
    milliseconds: bool = True
    # Fields without presence are written even if they have their default value.
    defaults: bool = True
    # Unknown keys and unknown enum names are ignored instead of rejected.
    ignore_unknown: bool = False


SERVICE = CodecOptions()
SPECIFICATION = CodecOptions(milliseconds=False, defaults=False)
