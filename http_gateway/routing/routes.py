"""Finds the binding for an HTTP method and path.

Templates form a tree of segments. If several match a path, the first segment in which they
differ decides: a literal takes precedence over `*`, and `*` over `**`. A template with a
matching verb takes precedence over all others. The order in the protos does not matter. Two
bindings with the same method and equivalent templates fail the start.

If a matching template has no binding for the method, the next template is tried. A template
without wildcards is the only one of its path: `POST /a/bulk` hides `GET /a/{id}` for the ID "bulk".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

from google.protobuf.descriptor import ServiceDescriptor

from ..policy import NO_ANNOTATIONS, Annotations
from .bindings import ANY_METHOD, Binding, InvalidBinding, bindings_of
from .templates import Wildcard, decode_segments

_SLASH = re.compile("/|%2f", re.IGNORECASE)
# The segments of the path of a page that are compared with templates.
_MAX_SEGMENTS = 8
# The methods that are reported for a path bound to all methods.
_METHODS = frozenset({"DELETE", "GET", "PATCH", "POST", "PUT"})


class Match(NamedTuple):
    """A binding and the values of its path variables, by field path."""

    binding: Binding
    variables: dict[str, str]


Methods = dict[str, Binding]


class _Node:
    """A node of the tree of template segments."""

    __slots__ = ("literals", "methods", "one", "rest")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.one: _Node | None = None
        # The bindings of templates that continue with ** here, and of those that end here.
        self.rest: Methods = {}
        self.methods: Methods = {}


class _ParsedPath(NamedTuple):
    """The segments of a path, parsed with or without a verb at its end."""

    root: _Node
    segments: list[str]
    # Still percent-encoded.
    raw_segments: list[str]


class Routes:
    """All bindings, found by path and method."""

    def __init__(
        self, services: Iterable[ServiceDescriptor], annotations: Annotations = NO_ANNOTATIONS
    ) -> None:
        self._root = _Node()
        self._verbs: dict[str, _Node] = {}
        # The first segments of public pages.
        self._first_of_pages = set[str]()
        for service in services:
            for binding in bindings_of(service, annotations):
                self._add(binding)

    def _add(self, binding: Binding) -> None:
        template = binding.template
        node = self._verbs.setdefault(template.verb, _Node()) if template.verb else self._root
        methods: Methods | None = None
        first = template.segments[0] if template.segments else None
        if binding.is_page and isinstance(first, str):
            self._first_of_pages.add(first)
        for segment in template.segments:
            if segment is Wildcard.REST:
                methods = node.rest
            elif segment is Wildcard.ONE:
                node.one = node = node.one or _Node()
            else:
                node = node.literals.setdefault(segment, _Node())
        methods = node.methods if methods is None else methods
        other = methods.setdefault(binding.http_method, binding)
        if other is not binding:
            raise InvalidBinding(f"{binding} takes the same paths as {other}")

    def check_reserved(self, paths: Iterable[str]) -> None:
        """Raises InvalidBinding if a binding matches one of the gateway's own pages."""
        for path in paths:
            for method in self.methods(path):
                match = self.match(method, path)
                if match is not None:
                    raise InvalidBinding(f"{match.binding} takes {path}, a page of the gateway")

    def match(self, http_method: str, path: str) -> Match | None:
        """Returns the binding for a method and a percent-encoded path, or None.

        HEAD falls back to GET. A binding for all methods matches those without a binding of
        their own at the same template, except OPTIONS. Mail programs change the links of public
        pages, so further slashes and segments, characters that are not UTF-8 and the case of the
        first segment do not matter there.
        """
        return self._match(http_method, path) or self._match_page(http_method, path)

    def _match_page(self, http_method: str, path: str) -> Match | None:
        first, *others = [each for each in _SLASH.split(path) if each][:_MAX_SEGMENTS] or [""]
        first = unquote(first, errors="replace").lower()
        if first not in self._first_of_pages:
            return None
        segments = [first, *(quote(unquote(each, errors="replace"), safe="") for each in others)]
        for count in range(len(segments), 0, -1):
            found = self._match(http_method, "/" + "/".join(segments[:count]))
            if found and found.binding.is_page:
                return found
        return None

    def _match(self, http_method: str, path: str) -> Match | None:
        raw = path.split("/")[1:]
        segments = decode_segments(raw) if "%" in path or not path.isascii() else raw
        if not segments or "" in raw or (self._verbs and ":" in path):
            return self._search(http_method, path)
        # The template with the highest precedence is tried first, without a full search.
        node: _Node | None = self._root
        for segment in segments:
            node = node.literals.get(segment) or node.one  # type: ignore[union-attr]
            if node is None:
                return self._search(http_method, path)
        binding = node.methods.get(http_method)  # type: ignore[union-attr]
        if binding is None:
            return self._search(http_method, path)
        return Match(binding, binding.template.values(segments, raw))

    def _search(self, http_method: str, path: str) -> Match | None:
        for parsed in self._parse(path):
            for methods in _candidates(parsed.root, parsed.segments):
                binding = _binding_for(http_method, methods)
                if binding is not None:
                    values = binding.template.values(parsed.segments, parsed.raw_segments)
                    return Match(binding, values)
        return None

    def methods(self, path: str) -> list[str]:
        """Returns the HTTP methods of a path; empty if there is no such path."""
        names = {
            name
            for parsed in self._parse(path)
            for methods in _candidates(parsed.root, parsed.segments)
            for name in methods
        }
        if not names:
            return []
        if ANY_METHOD in names:
            names = names - {ANY_METHOD} | _METHODS
        return sorted(names | {"OPTIONS"} | ({"HEAD"} if "GET" in names else set()))

    def _parse(self, path: str) -> Iterator[_ParsedPath]:
        """Yields the path parsed with a verb, if there is one, and without."""
        root, *raw = path.split("/")
        if root or not raw:
            return
        last, colon, verb = raw[-1].rpartition(":")
        with_verb = self._verbs.get(unquote(verb)) if colon else None
        if with_verb is not None:
            yield from _parse_segments(with_verb, [*raw[:-1], last])
        yield from _parse_segments(self._root, raw)


def _parse_segments(root: _Node, raw: list[str]) -> Iterator[_ParsedPath]:
    if raw == [""]:
        # The path "/" has no segments.
        raw = []
    segments = decode_segments(raw)
    if segments is not None and all(raw):
        yield _ParsedPath(root, segments, raw)


def _candidates(root: _Node, segments: list[str]) -> Iterable[Methods]:
    """Returns the bindings of each template of a path, in order of precedence."""
    node: _Node | None = root
    for segment in segments:
        node = node.literals.get(segment) if node is not None else None
    if node is not None and node.methods:
        return (node.methods,)
    return _matching_methods(root, segments)


def _matching_methods(node: _Node, segments: list[str], index: int = 0) -> Iterator[Methods]:
    """Yields the bindings of each matching template, in order of precedence."""
    if index == len(segments):
        yield node.methods
    else:
        literal = node.literals.get(segments[index])
        for child in (literal, node.one):
            if child is not None:
                yield from _matching_methods(child, segments, index + 1)
    yield node.rest


def _binding_for(http_method: str, methods: Methods) -> Binding | None:
    binding = methods.get(http_method)
    if binding is None and http_method == "HEAD":
        binding = methods.get("GET")
    if binding is None and http_method != "OPTIONS":
        binding = methods.get(ANY_METHOD)
    return binding
