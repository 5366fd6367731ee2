"""Converts path templates to OpenAPI paths, in which a parameter is a single segment.

A variable of several segments is split: `{name=shelves/*/books/*}` becomes
`shelves/{name1}/books/{name2}`. A wildcard for any number of segments becomes one parameter,
or more if a shorter path already exists.

OpenAPI does not distinguish paths that differ only in parameter names. Their parameters have
the names of the first binding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, repeat
from typing import Any, NamedTuple
from urllib.parse import quote

from ..routing.bindings import ANY_METHOD, Binding, InvalidBinding
from ..routing.fields import Fields, json_path, path_field
from ..routing.templates import Segment, Template, Variable, Wildcard

# The parameter name of a wildcard that sets no field.
_NAMELESS = "any"
# The characters that are not percent-encoded in a literal. A colon could begin a verb.
_SAFE = "!$&'()+,;=@"


@dataclass(frozen=True, slots=True)
class PathParameter:
    """A parameter of a path."""

    name: str
    # The path of the field that it sets, wholly or in part; None if it sets no field.
    fields: Fields | None
    # The part of the path that sets the field; empty if it is only this parameter.
    field_template: str
    # Whether it matches any number of segments.
    has_rest: bool


@dataclass(frozen=True, slots=True)
class Path:
    """A path with the names of its parameters in braces."""

    text: str
    parameters: tuple[PathParameter, ...]


class _Part(NamedTuple):
    segment: Segment
    variable: Variable | None


class Paths:
    """The paths of a document. `items` has the operations of each path by HTTP method."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        # The parameter names of each path, by its text without names.
        self._names: dict[str, list[str]] = {}

    def path_of(self, binding: Binding, verbs: Sequence[str]) -> tuple[Path, list[str]]:
        """Returns the path of a binding, and those of the HTTP methods that are still free there.

        A binding for all methods gets the free ones. Raises InvalidBinding if the method of any
        other binding is not free.
        """
        for path in self._paths(binding):
            used = self.items.get(path.text, {})
            free = [verb for verb in verbs if verb not in used]
            if free == verbs or (free and binding.http_method == ANY_METHOD):
                return path, free
        if binding.http_method == ANY_METHOD:
            return path, []
        raise InvalidBinding(f"{binding} has the path of another binding in OpenAPI")

    def _paths(self, binding: Binding) -> Iterator[Path]:
        """Returns the possible paths of a binding."""
        lengths = count(1) if has_rest(binding) else (1,)
        return (self._path(binding, length) for length in lengths)

    def _path(self, binding: Binding, length: int) -> Path:
        """Returns the path with `length` segments for a `**` wildcard."""
        request, verb = binding.request_class.DESCRIPTOR, binding.template.verb
        end = f":{quote(verb, safe=_SAFE)}" if verb else ""
        parts = list(_parts(binding.template, length))
        wild = [part for part in parts if not isinstance(part.segment, str)]
        known = [
            path_field(request, part.variable.name) if part.variable else None for part in wild
        ]
        bare = "/".join(_texts(parts, repeat("")))
        bases = [json_path(fields) if fields else _NAMELESS for fields in known]
        names = self._names.setdefault(bare + end, _distinct(bases))
        texts = _texts(parts, iter(names))
        parameters = [
            PathParameter(
                name, fields, _field_template(part, parts, texts), part.segment is Wildcard.REST
            )
            for part, fields, name in zip(wild, known, names, strict=True)
        ]
        return Path(f"/{'/'.join(texts)}{end}", tuple(parameters))


def has_rest(binding: Binding) -> bool:
    """Whether the path of a binding can have any number of segments."""
    return Wildcard.REST in binding.template.segments


def _parts(template: Template, length: int) -> Iterator[_Part]:
    for index, segment in enumerate(template.segments):
        variables = [v for v in template.variables if index in range(v.start, v.stop or index + 1)]
        part = _Part(segment, variables[0] if variables else None)
        yield from repeat(part, length if segment is Wildcard.REST else 1)


def _texts(parts: Iterable[_Part], names: Iterator[str]) -> list[str]:
    return [
        quote(part.segment, safe=_SAFE) if isinstance(part.segment, str) else f"{{{next(names)}}}"
        for part in parts
    ]


def _field_template(one: _Part, parts: Iterable[_Part], texts: Iterable[str]) -> str:
    """Returns the segments of the variable of one part; empty if that part is all of it."""
    if one.variable is None:
        return ""
    same = [text for part, text in zip(parts, texts, strict=True) if part.variable is one.variable]
    return "/".join(same) if len(same) > 1 else ""


def _distinct(bases: list[str]) -> list[str]:
    """Returns distinct names by numbering duplicate ones."""
    names: list[str] = []
    for base in bases:
        numbered = (f"{base}{number}" for number in count(1))
        tries = numbered if bases.count(base) > 1 else chain([base], numbered)
        names.append(next(name for name in tries if name not in names))
    return names
