"""Calls whose clients stream, over sockets."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Any

from roster.client import aio_requests


def writing(calls: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what makes the calls that `calls` makes, and writes their requests itself.

    So that they end with the status of the server, whatever was still to be written.
    """

    def call(requests: AsyncIterable[Any], **options: Any) -> Any:
        made = calls(None, **options)
        aio_requests.write(made, requests)
        return made

    return call
