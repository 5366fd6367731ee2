"""Routing of methods and paths to rpcs."""

from __future__ import annotations

from google.api.http_pb2 import HttpRule as Rule

from roster.v1 import subscribers_pb2
from rosterd.http_gateway.routing.routes import Routes
from rosterd.server.serving.gateway_policy import POLICY

from ...cases import each
from .protos import matched, service_of


@each("one", ["/a/{id}", "/{id=**}"])
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


def test_additional_bindings_are_routed() -> None:
    rule = Rule(put="/a/{id}", body="*", additional_bindings=[Rule(patch="/b/{id}", body="*")])
    routes = Routes([service_of(Change=rule)])

    assert (
        matched(routes, "PUT", "/a/x")
        == matched(routes, "PATCH", "/b/x")
        == ("Change", {"id": "x"})
    )
    assert matched(routes, "PATCH", "/a/x") is None


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
