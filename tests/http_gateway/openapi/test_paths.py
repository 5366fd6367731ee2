"""Paths: every binding has one, differs there from all others, and is reached by it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from google.api import http_pb2 as google_http
from google.protobuf.descriptor import ServiceDescriptor
from openapi_spec_validator import validate

from http_gateway.openapi.document import document
from http_gateway.routing.bindings import ANY_METHOD, InvalidBinding, bindings_of
from http_gateway.routing.routes import Routes
from server.app import SERVICES

from ..routing import protos

Rule = google_http.HttpRule
Operations = dict[tuple[str, str], dict[str, Any]]


def custom(kind: str, path: str) -> Rule:
    return Rule(custom=google_http.CustomHttpPattern(kind=kind, path=path))


def operations_of(*services: ServiceDescriptor) -> Operations:
    """Returns the operations of some services by method and path, in a document that is valid."""
    described = document(services)
    validate(described)
    return {
        (verb.upper(), path): operation
        for path, item in described["paths"].items()
        for verb, operation in item.items()
    }


def rules(*given: Rule | str) -> ServiceDescriptor:
    return protos.service_of(**{f"Rule{number}": rule for number, rule in enumerate(given)})


def ids(operations: Operations) -> dict[str, str]:
    return {" ".join(place): found["operationId"] for place, found in operations.items()}


GIVEN = {
    "roster": SERVICES,
    "library": [protos.library()],
    "rests": [rules("/a/{id}", "/a/{id=**}", "/a/{id}/{name}", custom("*", "/a/{name=**}"))],
    "any": [rules(custom("*", "/a/{id}"), "/a/{name}", custom("*", "/b/*"), "/b/{id=**}")],
    "nameless": [rules("/a/*/b/*", "/a/*/{id=c/*/d/*}:do", "/a%7B/{id}/x%3Ab")],
}


@pytest.mark.parametrize("services", GIVEN.values(), ids=GIVEN)
def test_every_binding_is_documented_and_every_operation_leads_to_its_own(
    services: list[ServiceDescriptor],
) -> None:
    operations, routes = operations_of(*services), Routes(services)
    reached: Counter[str] = Counter()

    for (verb, path), operation in operations.items():
        match = routes.match(verb, re.sub(r"\{[^}]*\}", "some.text", path))
        assert match is not None, path
        assert operation["operationId"].startswith(match.binding.rpc.rpartition("/")[2])
        reached[str(match.binding)] += 1

    bound = [binding for service in services for binding in bindings_of(service)]
    assert reached.keys() == {str(binding) for binding in bound}
    assert all(reached[str(each)] == 1 for each in bound if each.http_method != ANY_METHOD)


@pytest.mark.parametrize("services", GIVEN.values(), ids=GIVEN)
def test_no_two_paths_are_alike_but_for_the_names_of_their_parameters(
    services: list[ServiceDescriptor],
) -> None:
    operations = operations_of(*services)

    bare = Counter(re.sub(r"\{[^}]*\}", "{}", path) for path in {path for _, path in operations})
    assert set(bare.values()) == {1}
    for (_, path), operation in operations.items():
        told = [each["name"] for each in operation["parameters"] if each.get("in") == "path"]
        assert told == re.findall(r"\{([^}]*)\}", path)


def test_a_variable_of_several_segments_is_told_by_its_parts() -> None:
    operations = operations_of(rules("/v1/{name=shelves/*/books/*}", "/v1/{name=shelves/*}"))

    assert ids(operations) == {
        "GET /v1/shelves/{name1}/books/{name2}": "Rule0",
        "GET /v1/shelves/{name}": "Rule1",
    }
    one, other, *_ = operations["GET", "/v1/shelves/{name1}/books/{name2}"]["parameters"]
    assert (one["name"], other["name"]) == ("name1", "name2")
    assert one["description"] == "`name` is `shelves/{name1}/books/{name2}`."


def test_paths_that_are_alike_have_the_names_of_the_first() -> None:
    operations = operations_of(rules("/a/{id}", Rule(delete="/a/{name=*}")))

    assert ids(operations) == {"GET /a/{id}": "Rule0", "DELETE /a/{id}": "Rule1"}
    assert "`name`" not in str(operations["DELETE", "/a/{id}"])
    assert {"name": "name", "in": "query"}.items() <= operations["GET", "/a/{id}"]["parameters"][
        1
    ].items()


def test_what_takes_any_number_of_segments_is_told_with_as_many_as_are_its_own() -> None:
    operations = operations_of(rules("/a/{id=**}", "/a/*", "/a/*/*"))

    assert ids(operations) == {
        "GET /a/{any}": "Rule1",
        "GET /a/{any1}/{any2}": "Rule2",
        "GET /a/{id1}/{id2}/{id3}": "Rule0",
    }
    first = operations["GET", "/a/{id1}/{id2}/{id3}"]["parameters"][0]
    assert "any number of segments" in first["description"]


def test_what_takes_any_method_has_those_that_are_not_bound_whatever_comes_first() -> None:
    for given in (["/a", custom("*", "/a")], [custom("*", "/a"), "/a"]):
        operations = operations_of(rules(*given))

        own = f"Rule{given.index('/a')}"
        assert [verb for (verb, _), each in operations.items() if each["operationId"] == own] == [
            "GET"
        ]
        assert {verb for verb, _ in operations} == {"DELETE", "GET", "PATCH", "POST", "PUT"}


def test_names_of_parameters_are_distinct() -> None:
    operations = operations_of(rules("/a/*/{id=b/*/c/*}/*"))

    assert ids(operations) == {"GET /a/{any1}/b/{id1}/c/{id2}/{any2}": "Rule0"}


def test_bindings_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(InvalidBinding, match="has the path of another"):
        document([rules("/a/{id}", "/a/{name}")])
