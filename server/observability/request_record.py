"""What is noted of one call, where it came in.

A request over HTTP whose gateway is in this process is one call: the gateway begins its
record, and the rpc that answers it adds what it knows, the account and the outcome. An
rpc that comes over a socket has a record of its own. Which of both it is, a context
variable tells; so there is one line a call, written by whoever began the record.
"""

from __future__ import annotations

import time
from contextvars import ContextVar


class RequestRecord:
    """One call, from its beginning until its line is written.

    What is not known of it yet is what the class says: to write all of it down for each call
    would take longer than to count it.
    """

    # The method of a request over HTTP; empty where the call came over gRPC.
    method = ""
    # The rpc as Service.Method, or the path of a page of the gateway.
    route = ""
    status = 0
    code = ""
    account: str | None = None
    received = 0
    sent = 0
    seconds = 0.0
    ended = 0.0
    trace_id = ""

    def __init__(self, request_id: str = "") -> None:
        self.started = time.perf_counter()
        self.request_id = request_id


_current: ContextVar[RequestRecord | None] = ContextVar("record", default=None)
current = _current.get
enter = _current.set
