"""From a method and a path to an rpc, by the google.api.http options of the protos.

A template is made of literal segments and of `{field}` variables, each one segment; a
literal goes before a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from google.protobuf.descriptor import ServiceDescriptor

from .bindings import Binding, ImpossibleBinding, bindings_of


class Match(NamedTuple):
    """A binding and the values of its path's variables."""

    binding: Binding
    variables: dict[str, str]


Segments = tuple[str | None, ...]


class Routes:
    """All bindings, found by path and method.

    A template is kept under its segments with None for each variable, so that a
    path is found by putting None where some template of its length has variables.
    """

    def __init__(self, services: Iterable[ServiceDescriptor]) -> None:
        self._methods: dict[Segments, dict[str, Binding]] = {}
        self._variables: dict[int, list[tuple[int, ...]]] = {}
        for service in services:
            for binding in bindings_of(service):
                self._add(binding)

    def _add(self, binding: Binding) -> None:
        shape = tuple(None if part.startswith("{") else part for part in binding.template)
        methods = self._methods.setdefault(shape, {})
        if binding.http_method in methods:
            other = methods[binding.http_method].rpc
            raise ImpossibleBinding(f"{binding.rpc} and {other} are bound to the same path")
        methods[binding.http_method] = binding
        places = tuple(index for index, part in enumerate(shape) if part is None)
        same_length = self._variables.setdefault(len(shape), [])
        if places not in same_length:
            same_length.append(places)
            same_length.sort(key=lambda places: (len(places), places))

    def match(self, http_method: str, path: str) -> Match | None:
        """Returns the binding for a method and the path as it was sent, or None."""
        segments = path.split("/")[1:]
        for methods in self._candidates(segments):
            binding = methods.get(http_method)
            if binding is not None:
                return Match(binding, _variables(binding, segments))
        return None

    def methods(self, path: str) -> list[str]:
        """Returns the HTTP methods that the path has; none if there is no such path."""
        found = {name for m in self._candidates(path.split("/")[1:]) for name in m}
        if not found:
            return []
        return sorted(found | {"OPTIONS"} | ({"HEAD"} if "GET" in found else set()))

    def _candidates(self, segments: list[str]) -> Iterator[dict[str, Binding]]:
        """Yields the methods of each template that fits, those with fewer variables first."""
        if not all(segments) or not _is_text(segments):
            return
        for places in self._variables.get(len(segments), ()):
            shape: list[str | None] = [*segments]
            for index in places:
                shape[index] = None
            methods = self._methods.get(tuple(shape))
            if methods is not None:
                yield methods


def _is_text(segments: list[str]) -> bool:
    """Whether every segment is text in UTF-8 once it is decoded."""
    try:
        for part in segments:
            if "%" in part:
                unquote(part, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _variables(binding: Binding, segments: list[str]) -> dict[str, str]:
    """Returns the variables of a path, decoded."""
    return {
        name: unquote(segments[index]) if "%" in segments[index] else segments[index]
        for index, name in binding.variables
    }
