"""Pages that the gateway serves without a call."""

from __future__ import annotations

from rosterd.http_gateway.docs.documentation import Documentation, Guide
from rosterd.http_gateway.load_shedding import LoadShedder
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.pages import pages_of
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import POLICY

from .routing.protos import library
from .serving import channel_to, run

GUIDES = Documentation(guides=(Guide("start", "Get started", "# Start\n"),))


def test_page_of_event_types_exists_if_services_send_webhooks() -> None:
    async def check() -> None:
        async with channel_to("in-process", lambda _: None) as channel:
            load = LoadShedder(Options())
            assert "/docs/webhooks" in pages_of(channel, SERVICES, load, POLICY, Documentation())
            assert "/docs/webhooks" not in pages_of(
                channel, [library()], load, POLICY, Documentation()
            )

    run(check())


def test_each_guide_has_a_page() -> None:
    async def check() -> None:
        async with channel_to("in-process", lambda _: None) as channel:
            pages = pages_of(channel, [library()], LoadShedder(Options()), POLICY, GUIDES)
            assert [path for path in pages if "guides/" in path] == ["/docs/guides/start"]

    run(check())
