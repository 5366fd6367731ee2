"""Routing of methods and paths to rpcs."""

from __future__ import annotations

import pytest
from google.api.http_pb2 import HttpRule as Rule

from roster.v1 import subscribers_pb2
from rosterd.http_gateway.routing.bindings import InvalidBinding
from rosterd.http_gateway.routing.routes import Routes
from rosterd.server.serving.gateway_policy import POLICY

from .protos import matched, service_of


@pytest.mark.parametrize("one", ["/a/{id}", "/{id=**}"])
def test_path_without_variables_has_no_methods_of_other_templates(one: str) -> None:
    routes = Routes([service_of(One=one, Bulk=Rule(post="/a/bulk", body="*"))])

    for path in ("/a/bulk", "/%61/bulk"):
        assert matched(routes, "POST", path) == ("Bulk", {})
    assert matched(routes, "GET", "/a/bulk") is matched(routes, "HEAD", "/a/bulk") is None
    assert routes.methods("/a/bulk") == ["OPTIONS", "POST"]


def test_literal_does_not_hide_a_variable_with_another_method() -> None:
    routes = Routes([service_of(One="/a/{id}/{name}", Do=Rule(post="/a/{id}/do", body="*"))])

    assert matched(routes, "GET", "/a/x/do") == ("One", {"id": "x", "name": "do"})
    assert routes.methods("/a/x/do") == ["GET", "HEAD", "OPTIONS", "POST"]


def test_variable_that_is_not_utf_8_is_not_found() -> None:
    routes = Routes([service_of(One="/a/{id}")])

    assert matched(routes, "GET", "/a/%ff") is None
    assert routes.methods("/a/%ff") == []


def test_additional_bindings_are_routed() -> None:
    rule = Rule(put="/a/{id}", body="*", additional_bindings=[Rule(patch="/b/{id}", body="*")])
    routes = Routes([service_of(Change=rule)])

    assert (
        matched(routes, "PUT", "/a/x")
        == matched(routes, "PATCH", "/b/x")
        == ("Change", {"id": "x"})
    )
    assert matched(routes, "PATCH", "/a/x") is None


def test_rpc_without_a_binding_has_no_route() -> None:
    assert Routes([service_of(None_=Rule())]).methods("/") == []


def test_only_updates_with_a_body_fill_an_update_mask() -> None:
    routes = Routes(
        [subscribers_pb2.DESCRIPTOR.services_by_name["SubscriberService"]], POLICY.annotations
    )

    masks = {
        method: match.binding.update_mask.name if match.binding.update_mask else None
        for method in ("GET", "PUT", "PATCH", "DELETE")
        if (match := routes.match(method, "/api/subscribers/x"))
    }

    assert masks == {"GET": None, "PUT": "update_mask", "PATCH": "update_mask", "DELETE": None}


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("", id="no path"),
        pytest.param("a/{id}", id="no slash first"),
        pytest.param("/a/", id="slash last"),
        pytest.param("/a//b", id="empty segment"),
        pytest.param("/a/{id", id="brace not closed"),
        pytest.param("/a/id}", id="brace not opened"),
        pytest.param("/a/{}", id="variable without name"),
        pytest.param("/a/{nothing}", id="no such field"),
        pytest.param("/a/{tags}", id="repeated field"),
        pytest.param("/a/{id}/{id}", id="variable twice"),
        pytest.param("/a/x{id}", id="variable within a segment"),
        pytest.param(Rule(post="/a", body="nothing"), id="no such body"),
        pytest.param(Rule(get="/a", response_body="nothing"), id="no such response body"),
        pytest.param(
            Rule(get="/a", additional_bindings=[Rule(get="/a")]), id="same path twice of one rpc"
        ),
        pytest.param(
            Rule(get="/a", additional_bindings=[Rule(get="/b/{nothing}")]), id="additional binding"
        ),
    ],
)
def test_invalid_binding_fails_startup_and_is_named(rule: Rule | str) -> None:
    with pytest.raises(InvalidBinding, match=r"example\.Service\.Wrong"):
        Routes([service_of(Wrong=rule)])
