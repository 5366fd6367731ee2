"""What the gateway answers by itself."""

from __future__ import annotations

from http_gateway.docs.reference import render
from http_gateway.load_shedding import LoadShedder
from http_gateway.openapi.document import document
from http_gateway.pages import pages_of
from server.app import SERVICES

from .routing.protos import library
from .serving import channel_to, run


def test_page_about_webhooks_is_there_where_services_send_them() -> None:
    async def look() -> None:
        async with channel_to("in-process", lambda _: None) as channel:
            assert "/docs/webhooks" in pages_of(channel, SERVICES, LoadShedder())
            assert "/docs/webhooks" not in pages_of(channel, [library()], LoadShedder())

    run(look())


def test_reference_leads_to_it_where_it_is() -> None:
    for services, is_there in ((SERVICES, True), ([library()], False)):
        html = render(document(services)).html.decode()
        assert ('href="/docs/webhooks"' in html) == is_there
