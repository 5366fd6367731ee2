"""Templates of paths, by the grammar of google.api.http.

    Template = "/" Segments [ Verb ] ;
    Segments = Segment { "/" Segment } ;
    Segment  = "*" | "**" | LITERAL | Variable ;
    Variable = "{" FieldPath [ "=" Segments ] "}" ;
    FieldPath = IDENT { "." IDENT } ;
    Verb     = ":" LITERAL ;

`*` stands for one segment, `**` for any number of them, none among it, and only at
the end. No segment is empty. A literal is compared decoded: whether it is written
with percent-encoding, in the template or in a path, makes no difference, and what has
a meaning in the grammar or in a URL has to be encoded in the template.

A variable of one segment is decoded in full. In one of several segments (and `**` is
several, however many it takes) an encoded slash stays encoded, in the letters in which
it was sent, so that it is not taken for one that parts segments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from urllib.parse import unquote

_SLASH_OUTSIDE_BRACES = re.compile(r"/(?![^{]*\})")
_IDENT = "[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = re.compile(rf"\{{({_IDENT}(?:\.{_IDENT})*)(?:=(.*))?\}}", re.DOTALL)
_NOT_IN_LITERALS = frozenset("{}*:?#")
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_ENCODED_SLASH = re.compile("(%2[Ff])")


class BindingError(ValueError):
    """Why a binding cannot work, as the rest of a sentence that names the binding."""


class Wildcard(Enum):
    """What stands for segments of any text."""

    ONE = "*"
    REST = "**"


Segment = str | Wildcard


@dataclass(frozen=True, slots=True)
class Variable:
    """A field that a part of the path is the value of."""

    # The path of the field, by the names of the proto.
    name: str
    # The places of its segments; `stop` is None where it takes the rest of the path.
    start: int
    stop: int | None

    @property
    def is_single(self) -> bool:
        """Whether it is exactly one segment."""
        return self.stop == self.start + 1


class Template:
    """A template, read. Raises BindingError if it is none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables: list[Variable] = []
        self.segments: list[Segment] = []
        path, self.verb = _without_verb(text)
        if not path.startswith("/"):
            raise BindingError("the path does not begin with a slash")
        for part in _SLASH_OUTSIDE_BRACES.split(path[1:]):
            self._add(part)
        if Wildcard.REST in self.segments[:-1]:
            raise BindingError("** may only be the last part of the path")
        for one, other in pairwise(sorted(variable.name for variable in self.variables)):
            if one == other:
                raise BindingError(f"the variable {one} stands in the path twice")
        # Most templates have variables of one segment only; their values are taken faster.
        self._singles = [(v.start, v.name) for v in self.variables if v.is_single]
        self._others = [v for v in self.variables if not v.is_single]

    def _add(self, part: str) -> None:
        variable = _VARIABLE.fullmatch(part)
        if variable is None:
            self.segments.append(_segment(part))
            return
        name, inner = variable.groups(default="*")
        start = len(self.segments)
        self.segments += [_segment(each) for each in inner.split("/")]
        takes_rest = self.segments[-1] is Wildcard.REST
        self.variables.append(Variable(name, start, None if takes_rest else len(self.segments)))

    def values(self, segments: Sequence[str], sent: Sequence[str]) -> dict[str, str]:
        """Returns the variables of a path that fits, given its segments decoded and as sent."""
        values = {name: segments[index] for index, name in self._singles}
        for variable in self._others:
            part = sent[variable.start : variable.stop]
            values[variable.name] = _decoded_but_slashes("/".join(part))
        return values


def _without_verb(text: str) -> tuple[str, str]:
    """Parts a template from the verb at its end, which is empty where there is none."""
    path, colon, verb = text.rpartition(":")
    if not colon or "/" in verb or "}" in verb:
        return text, ""
    return path, _literal(verb)


def _segment(text: str) -> Segment:
    return Wildcard(text) if text in ("*", "**") else _literal(text)


def _literal(text: str) -> str:
    if not text:
        raise BindingError("a part of the path is empty")
    if _NOT_IN_LITERALS & set(text):
        raise BindingError(
            f"{text!r} is no part of a path (a literal has {{ }} * : ? # percent-encoded)"
        )
    if _BAD_ESCAPE.search(text):
        raise BindingError(f"{text!r} is not percent-encoded well")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise BindingError(f"{text!r} is not in UTF-8 once it is decoded") from None


def decoded(sent: Sequence[str]) -> list[str] | None:
    """Returns the segments of a path decoded; None if one of them is no text then.

    An escape that is none, such as %zz, stands for itself.
    """
    try:
        "".join(sent).encode()
        return [unquote(part, errors="strict") if "%" in part else part for part in sent]
    except UnicodeError:
        return None


def _decoded_but_slashes(text: str) -> str:
    if "%" not in text:
        return text
    parts = _ENCODED_SLASH.split(text)
    # Every second part is an encoded slash.
    return "".join(part if place % 2 else unquote(part) for place, part in enumerate(parts))
