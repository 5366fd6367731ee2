"""The HTTP methods that aiohttp's parser accepts, except CONNECT, which has no path.

A request with any other method fails with 501 before routing.
"""

from __future__ import annotations

METHODS = frozenset(
    {
        *("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"),
        *("ACL", "BIND", "CHECKOUT", "COPY", "LINK", "LOCK", "M-SEARCH", "MERGE", "MKACTIVITY"),
        *("MKCALENDAR", "MKCOL", "MOVE", "NOTIFY", "PROPFIND", "PROPPATCH", "PURGE", "REBIND"),
        *("REPORT", "SEARCH", "SOURCE", "SUBSCRIBE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE"),
    }
)
