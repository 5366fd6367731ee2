"""Templates as OpenAPI has paths: what is no literal is a parameter, of one segment.

A variable of several segments is told by its parts: `{name=shelves/*/books/*}` is
`shelves/{name1}/books/{name2}`. What takes any number of segments is told with one, or
with as many as it takes to be told apart from what else there is.

Paths that differ in the names of their parameters alone are one path to OpenAPI. Its
parameters have the names that they have in the binding that comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count, repeat
from typing import Any, NamedTuple
from urllib.parse import quote

from ..routing.bindings import ANY_METHOD, Binding, InvalidBinding
from ..routing.fields import Fields, json_path, path_field
from ..routing.templates import Segment, Template, Variable, Wildcard

# The name of a wildcard that sets no field.
_NAMELESS = "any"
# What a literal may hold as it is. A colon is not among it: it could begin a verb.
_PLAIN = "!$&'()+,;=@"


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter of a path."""

    name: str
    # The field that it sets, or a part of; None where the service is not told of it.
    fields: Fields | None
    # All that the path holds of that field; empty where it is this parameter alone.
    whole: str
    # Whether it may be any number of segments.
    takes_rest: bool


@dataclass(frozen=True, slots=True)
class Path:
    """A path with the names of its parameters in braces."""

    text: str
    slots: tuple[Slot, ...]


class _Part(NamedTuple):
    segment: Segment
    variable: Variable | None


class Paths:
    """The paths of a document. `items` has the operations of each, by HTTP method."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        # The names of the parameters of each path, under its text without them.
        self._names: dict[str, list[str]] = {}

    def place(self, binding: Binding, verbs: Iterable[str]) -> tuple[Path, list[str]]:
        """Returns the path of a binding, and those of its methods that are free there.

        A binding that takes any method is content with those that are left. Raises
        InvalidBinding if another one has what this one cannot do without.
        """
        wanted = list(verbs)
        for path in self._paths(binding):
            taken = self.items.get(path.text, {})
            free = [verb for verb in wanted if verb not in taken]
            if free == wanted or (free and binding.http_method == ANY_METHOD):
                return path, free
        if binding.http_method == ANY_METHOD:
            return path, []
        raise InvalidBinding(f"{binding} has the path of another binding in OpenAPI")

    def _paths(self, binding: Binding) -> Iterator[Path]:
        """Yields the paths that a binding can be told with."""
        lengths = count(1) if takes_rest(binding) else (1,)
        return (self._path(binding, length) for length in lengths)

    def _path(self, binding: Binding, length: int) -> Path:
        """Returns a path with so many segments where there may be any number."""
        request, verb = binding.request_class.DESCRIPTOR, binding.template.verb
        end = f":{quote(verb, safe=_PLAIN)}" if verb else ""
        parts = list(_parts(binding.template, length))
        wild = [part for part in parts if not isinstance(part.segment, str)]
        known = [
            path_field(request, part.variable.name) if part.variable else None for part in wild
        ]
        bare = "/".join(_texts(parts, repeat("")))
        bases = [json_path(fields) if fields else _NAMELESS for fields in known]
        names = self._names.setdefault(bare + end, _distinct(bases))
        texts = _texts(parts, iter(names))
        slots = [
            Slot(name, fields, _whole(part, parts, texts), part.segment is Wildcard.REST)
            for part, fields, name in zip(wild, known, names, strict=True)
        ]
        return Path(f"/{'/'.join(texts)}{end}", tuple(slots))


def takes_rest(binding: Binding) -> bool:
    """Whether the path of a binding may have any number of segments."""
    return Wildcard.REST in binding.template.segments


def _parts(template: Template, length: int) -> Iterator[_Part]:
    for place, segment in enumerate(template.segments):
        holders = [v for v in template.variables if place in range(v.start, v.stop or place + 1)]
        part = _Part(segment, holders[0] if holders else None)
        yield from repeat(part, length if segment is Wildcard.REST else 1)


def _texts(parts: Iterable[_Part], names: Iterator[str]) -> list[str]:
    return [
        quote(part.segment, safe=_PLAIN) if isinstance(part.segment, str) else f"{{{next(names)}}}"
        for part in parts
    ]


def _whole(one: _Part, parts: Iterable[_Part], texts: Iterable[str]) -> str:
    """Returns what a path holds of the field of one part; nothing if that is the part alone."""
    held = [text for part, text in zip(parts, texts, strict=True) if part.variable is one.variable]
    return "/".join(held) if one.variable is not None and len(held) > 1 else ""


def _distinct(bases: list[str]) -> list[str]:
    """Returns names after some others, with numbers where those are not distinct."""
    names: list[str] = []
    for base in bases:
        numbered = (f"{base}{number}" for number in count(1))
        tries = numbered if bases.count(base) > 1 else chain([base], numbered)
        names.append(next(name for name in tries if name not in names))
    return names
