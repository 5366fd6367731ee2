"""Parses path templates, by the grammar of google.api.http.

    Template = "/" Segments [ Verb ] ;
    Segments = Segment { "/" Segment } ;
    Segment  = "*" | "**" | LITERAL | Variable ;
    Variable = "{" FieldPath [ "=" Segments ] "}" ;
    FieldPath = IDENT { "." IDENT } ;
    Verb     = ":" LITERAL ;

`*` matches one segment; `**` matches zero or more and must be last. Segments are not empty.
Literals are compared after percent-decoding. Characters with a meaning in the grammar or in a
URL must be percent-encoded in the template.

A variable of one segment is fully decoded. In a variable of several segments, including `**`,
encoded slashes stay encoded, to distinguish them from separators.
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
    """An invalid binding. The message completes a sentence that names the binding."""


class Wildcard(Enum):
    ONE = "*"
    REST = "**"


Segment = str | Wildcard


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a template, which sets a field."""

    # The field path, by proto names.
    name: str
    # The indexes of its segments; `stop` is None if it extends to the end of the path.
    start: int
    stop: int | None

    @property
    def is_single(self) -> bool:
        return self.stop == self.start + 1


class Template:
    """A parsed template. Raises BindingError if it is invalid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables: list[Variable] = []
        self.segments: list[Segment] = []
        path, self.verb = _split_verb(text)
        if not path.startswith("/"):
            raise BindingError("the path does not start with a slash")
        for part in _SLASH_OUTSIDE_BRACES.split(path[1:]):
            self._add(part)
        if Wildcard.REST in self.segments[:-1]:
            raise BindingError("** is allowed only as the last segment of the path")
        for one, other in pairwise(sorted(variable.name for variable in self.variables)):
            if one == other:
                raise BindingError(f"the path contains the variable {one} twice")
        # Variables of one segment, the most common ones, have a faster path.
        self._single_segment = [(v.start, v.name) for v in self.variables if v.is_single]
        self._multi_segment = [v for v in self.variables if not v.is_single]

    def _add(self, part: str) -> None:
        variable = _VARIABLE.fullmatch(part)
        if variable is None:
            self.segments.append(_segment(part))
            return
        name, inner = variable.groups(default="*")
        start = len(self.segments)
        self.segments += [_segment(text) for text in inner.split("/")]
        takes_rest = self.segments[-1] is Wildcard.REST
        self.variables.append(Variable(name, start, None if takes_rest else len(self.segments)))

    def values(self, segments: Sequence[str], raw_segments: Sequence[str]) -> dict[str, str]:
        """Returns the variables of a matching path, given its decoded and its raw segments."""
        values = {name: segments[index] for index, name in self._single_segment}
        for variable in self._multi_segment:
            raw = raw_segments[variable.start : variable.stop]
            values[variable.name] = _decode_except_slashes("/".join(raw))
        return values


def _split_verb(text: str) -> tuple[str, str]:
    """Splits a template into its path and verb; the verb is empty if there is none."""
    path, colon, verb = text.rpartition(":")
    if not colon or "/" in verb or "}" in verb:
        return text, ""
    return path, _literal(verb)


def _segment(text: str) -> Segment:
    return Wildcard(text) if text in ("*", "**") else _literal(text)


def _literal(text: str) -> str:
    if not text:
        raise BindingError("a segment of the path is empty")
    if _NOT_IN_LITERALS & set(text):
        raise BindingError(
            f"{text!r} is not a valid segment: percent-encode {{ }} * : ? # in literals"
        )
    if _BAD_ESCAPE.search(text):
        raise BindingError(f"{text!r} has an invalid percent-encoding")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise BindingError(f"{text!r} does not decode to UTF-8") from None


def decode_segments(raw: Sequence[str]) -> list[str] | None:
    """Returns the percent-decoded segments of a path; None if one is not UTF-8.

    An invalid escape such as %zz is left unchanged.
    """
    try:
        "".join(raw).encode()
        return [unquote(part, errors="strict") if "%" in part else part for part in raw]
    except UnicodeError:
        return None


def _decode_except_slashes(text: str) -> str:
    if "%" not in text:
        return text
    parts = _ENCODED_SLASH.split(text)
    # Every second part is an encoded slash.
    return "".join(part if index % 2 else unquote(part) for index, part in enumerate(parts))
