"""From a method and a path to an rpc, by the google.api.http options of the protos.

Templates make a tree of their segments. Where several fit a path, the one goes first
that has a literal where the others have `*`, and `*` where they have `**`, in the first
segment in which they differ; one with a verb that the path ends with goes before them
all. So the order of the protos does not matter, and no two templates are equals but
those that fit the very same paths: these stop the start.

A template that fits but has no binding for the method leaves the path to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from google.protobuf.descriptor import ServiceDescriptor

from .bindings import ANY_METHOD, Binding, InvalidBinding, bindings_of
from .templates import Wildcard, decoded

# What a path takes at which a binding takes any method.
_METHODS = frozenset({"DELETE", "GET", "PATCH", "POST", "PUT"})


class Match(NamedTuple):
    """A binding and the values of its path's variables, by the path of each field."""

    binding: Binding
    variables: dict[str, str]


Methods = dict[str, Binding]


class _Node:
    """A place in the tree: what the templates have next."""

    __slots__ = ("literals", "methods", "one", "rest")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.one: _Node | None = None
        # The bindings of templates that go on with ** from here, and of those that end here.
        self.rest: Methods = {}
        self.methods: Methods = {}


class _Reading(NamedTuple):
    """A path in one of the ways to read it: with a verb at its end, or without."""

    root: _Node
    # Its segments, decoded and as they were sent.
    segments: list[str]
    sent: list[str]


class Routes:
    """All bindings, found by path and method."""

    def __init__(self, services: Iterable[ServiceDescriptor]) -> None:
        self._root = _Node()
        self._verbs: dict[str, _Node] = {}
        for service in services:
            for binding in bindings_of(service):
                self._add(binding)

    def _add(self, binding: Binding) -> None:
        template = binding.template
        node = self._verbs.setdefault(template.verb, _Node()) if template.verb else self._root
        methods: Methods | None = None
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
        """Raises InvalidBinding if a binding takes one of some paths, by whatever method.

        Somebody else answers there, and would be hidden.
        """
        for path in paths:
            for method in self.methods(path):
                match = self.match(method, path)
                if match is not None:
                    raise InvalidBinding(f"{match.binding} takes {path}, a page of the gateway")

    def match(self, http_method: str, path: str) -> Match | None:
        """Returns the binding for a method and the path as it was sent, or None.

        HEAD is taken as GET where nothing is bound to it. What is bound to any method
        takes those that nothing else at its template takes, but never OPTIONS.
        """
        sent = path.split("/")[1:]
        segments = decoded(sent) if "%" in path or not path.isascii() else sent
        if not segments or "" in sent or (self._verbs and ":" in path):
            return self._search(http_method, path)
        # The first of all templates is tried without a search: it is nearly always the one.
        node: _Node | None = self._root
        for segment in segments:
            node = node.literals.get(segment) or node.one  # type: ignore[union-attr]
            if node is None:
                return self._search(http_method, path)
        binding = node.methods.get(http_method)  # type: ignore[union-attr]
        if binding is None:
            return self._search(http_method, path)
        return Match(binding, binding.template.values(segments, sent))

    def _search(self, http_method: str, path: str) -> Match | None:
        for reading in self._readings(path):
            for methods in _leaves(reading.root, reading.segments):
                binding = _of(http_method, methods)
                if binding is not None:
                    values = binding.template.values(reading.segments, reading.sent)
                    return Match(binding, values)
        return None

    def methods(self, path: str) -> list[str]:
        """Returns the HTTP methods that the path has; none if there is no such path."""
        found = {
            name
            for reading in self._readings(path)
            for methods in _leaves(reading.root, reading.segments)
            for name in methods
        }
        if not found:
            return []
        if ANY_METHOD in found:
            found = found - {ANY_METHOD} | _METHODS
        return sorted(found | {"OPTIONS"} | ({"HEAD"} if "GET" in found else set()))

    def _readings(self, path: str) -> Iterator[_Reading]:
        """Yields the ways to read a path, the one with a verb first."""
        root, *sent = path.split("/")
        if root or not sent:
            return
        last, colon, verb = sent[-1].rpartition(":")
        with_verb = self._verbs.get(unquote(verb)) if colon else None
        if with_verb is not None:
            yield from _reading(with_verb, [*sent[:-1], last])
        yield from _reading(self._root, sent)


def _reading(root: _Node, sent: list[str]) -> Iterator[_Reading]:
    if sent == [""]:
        # The slash alone is the path of no segments.
        sent = []
    segments = decoded(sent)
    if segments is not None and all(sent):
        yield _Reading(root, segments, sent)


def _leaves(node: _Node, segments: list[str], place: int = 0) -> Iterator[Methods]:
    """Yields the bindings of each template that fits, in the order in which they go."""
    if place == len(segments):
        yield node.methods
    else:
        literal = node.literals.get(segments[place])
        for child in (literal, node.one):
            if child is not None:
                yield from _leaves(child, segments, place + 1)
    yield node.rest


def _of(http_method: str, methods: Methods) -> Binding | None:
    binding = methods.get(http_method)
    if binding is None and http_method == "HEAD":
        binding = methods.get("GET")
    if binding is None and http_method != "OPTIONS":
        binding = methods.get(ANY_METHOD)
    return binding
