"""States deprecation in the headers Deprecation (RFC 9745) and Sunset (RFC 8594).

Every response of a deprecated rpc has them, and every response to a request that sets a deprecated
field. The dates are options of the policy; without them there is no header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

from ..policy import Annotations, Deprecation
from .fields import Fields

DEPRECATION, SUNSET = "Deprecation", "Sunset"


class Deprecations(NamedTuple):
    """The deprecation of an rpc, and of fields of its request by their path of proto names."""

    of_rpc: Deprecation | None
    of_fields: tuple[tuple[tuple[str, ...], Deprecation], ...]

    def headers(self, message: Any) -> dict[str, str]:
        """Returns the headers for a request, with the earliest dates of what it uses."""
        used = [dates for path, dates in self.of_fields if _is_set([message], path)]
        used += [self.of_rpc] if self.of_rpc is not None else []
        if not used:
            return {}
        since = _midnight(min(dates.since for dates in used))
        headers = {DEPRECATION: f"@{int(since.timestamp())}"}
        sunsets = [dates.sunset for dates in used if dates.sunset is not None]
        if sunsets:
            headers[SUNSET] = format_datetime(_midnight(min(sunsets)), usegmt=True)
        return headers


def deprecations_of(method: MethodDescriptor, annotations: Annotations) -> Deprecations | None:
    """Returns the deprecations of an rpc; None if there are none."""
    of_rpc = annotations.of_method(method).deprecation
    of_fields = tuple(
        (tuple(field.name for field in path), dates)
        for path in _paths(method.input_type, ())
        if (dates := annotations.of_field(path[-1]).field_deprecation) is not None
    )
    return Deprecations(of_rpc, of_fields) if of_rpc is not None or of_fields else None


def _paths(message: Descriptor, within: Fields) -> Iterator[Fields]:
    """Yields the paths of all fields of a message. Recursive fields are not followed."""
    for field in message.fields:
        yield (*within, field)
        kind = field.message_type
        is_recursive = kind in {outer.containing_type for outer in (*within, field)}
        if kind is not None and not is_recursive and not kind.GetOptions().map_entry:
            yield from _paths(kind, (*within, field))


def _is_set(messages: Iterable[Any], path: tuple[str, ...]) -> bool:
    """Whether a message sets the field with a path, whose repeated messages count each."""
    name, *rest = path
    for message in messages:
        for field, value in message.ListFields():
            if field.name == name:
                inner = value if _is_repeated(field) else [value]
                if not rest or _is_set(inner, tuple(rest)):
                    return True
    return False


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
