"""Client-streaming calls over a network channel."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Any

from roster.client import aio_requests


def writing_requests(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a multi-callable that writes the requests of its calls itself.

    Such calls end with the status of the server even if requests are left to write.
    """

    def call(requests: AsyncIterable[Any], **options: Any) -> Any:
        started = method(None, **options)
        aio_requests.write(started, requests)
        return started

    return call
