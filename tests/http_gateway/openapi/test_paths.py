"""Every binding has a distinct path in the document, and the gateway routes that path to the
binding.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import pytest
from google.api.http_pb2 import CustomHttpPattern
from google.api.http_pb2 import HttpRule as Rule
from google.protobuf.descriptor import ServiceDescriptor
from openapi_spec_validator import validate

from rosterd.http_gateway.openapi.document import document
from rosterd.http_gateway.routing.bindings import ANY_METHOD, InvalidBinding, bindings_of
from rosterd.http_gateway.routing.routes import Routes
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

from ..routing import protos

Operations = dict[tuple[str, str], dict[str, Any]]


def custom(kind: str, path: str) -> Rule:
    return Rule(custom=CustomHttpPattern(kind=kind, path=path))


@cache
def operations_of(*services: ServiceDescriptor) -> Operations:
    """Returns the operations of a valid document by method and path."""
    described = document(services)
    validate(described)
    return {
        (verb.upper(), path): operation
        for path, item in described["paths"].items()
        for verb, operation in item.items()
    }


def rules(*http_rules: Rule | str) -> ServiceDescriptor:
    return protos.service_of(**{f"Rule{number}": rule for number, rule in enumerate(http_rules)})


def ids(operations: Operations) -> dict[str, str]:
    return {" ".join(key): operation["operationId"] for key, operation in operations.items()}


SERVICES_BY_CASE = {
    "roster": SERVICES,
    "library": [protos.library()],
    "rests": [rules("/a/{id}", "/a/{id=**}", "/a/{id}/{name}", custom("*", "/a/{name=**}"))],
    "any": [rules(custom("*", "/a/{id}"), "/a/{name}", custom("*", "/b/*"), "/b/{id=**}")],
    "nameless": [rules("/a/*/b/*", "/a/*/{id=c/*/d/*}:do", "/a%7B/{id}/x%3Ab")],
}


@pytest.mark.parametrize("services", SERVICES_BY_CASE.values(), ids=SERVICES_BY_CASE)
def test_every_binding_is_documented_and_every_operation_is_routed_to_it(
    services: list[ServiceDescriptor],
) -> None:
    operations, routes = operations_of(*services), Routes(services)
    reached: Counter[str] = Counter()

    for (verb, path), operation in operations.items():
        match = routes.match(verb, re.sub(r"\{[^}]*\}", "some.text", path))
        assert match is not None, path
        assert operation["operationId"].startswith(match.binding.rpc.rpartition("/")[2])
        reached[str(match.binding)] += 1

    bound = [
        binding for service in services for binding in bindings_of(service, POLICY.annotations)
    ]
    assert reached.keys() == {str(binding) for binding in bound}
    assert all(reached[str(b)] == 1 for b in bound if b.http_method != ANY_METHOD)


def test_variable_of_several_segments_is_split_into_parameters() -> None:
    operations = operations_of(rules("/v1/{name=shelves/*/books/*}", "/v1/{name=shelves/*}"))

    assert ids(operations) == {
        "GET /v1/shelves/{name1}/books/{name2}": "Rule0",
        "GET /v1/shelves/{name}": "Rule1",
    }
    one, other, *_ = operations["GET", "/v1/shelves/{name1}/books/{name2}"]["parameters"]
    assert (one["name"], other["name"]) == ("name1", "name2")
    assert one["description"] == "`name` is `shelves/{name1}/books/{name2}`."


def test_binding_for_all_methods_covers_the_unbound_methods_in_any_order() -> None:
    for case_rules in (["/a", custom("*", "/a")], [custom("*", "/a"), "/a"]):
        operations = operations_of(rules(*case_rules))

        bound = f"Rule{case_rules.index('/a')}"
        assert [verb for (verb, _), each in operations.items() if each["operationId"] == bound] == [
            "GET"
        ]
        assert {verb for verb, _ in operations} == {"DELETE", "GET", "PATCH", "POST", "PUT"}


def test_indistinguishable_bindings_are_rejected() -> None:
    with pytest.raises(InvalidBinding, match="has the path of another"):
        document([rules("/a/{id}", "/a/{name}")])
