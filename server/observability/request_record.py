"""The log fields of one call.

An HTTP request whose gateway is in the same process is one call. The gateway creates its record,
and the rpc adds its account and status. An rpc over the gRPC port has its own record. A context
variable holds the record, and the side that created it writes the line.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

from ..rpc.caller import Caller


class RequestRecord:
    """A call, from its start until its line is written.

    Defaults are class attributes, because most records set only a few of them.
    """

    # The HTTP method; empty for a call over gRPC.
    method = ""
    # The rpc as Service.Method, or the path of a page of the gateway.
    route = ""
    status = 0
    code = ""
    # None for a call that was not authenticated.
    caller: Caller | None = None
    # Over HTTP, the peer of the connection until the rpc determines the client.
    client_address = ""
    received = 0
    sent = 0
    seconds = 0.0
    ended = 0.0
    trace_id = ""
    level = "info"

    def __init__(self, request_id: str = "") -> None:
        self.started = time.perf_counter()
        self.request_id = request_id


_current: ContextVar[RequestRecord | None] = ContextVar("record", default=None)
current = _current.get
enter = _current.set
