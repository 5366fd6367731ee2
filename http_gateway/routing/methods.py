"""The HTTP methods that a request can have.

aiohttp's parser takes these and no others: any other is a 501 before its path is looked at,
and not the 405 of a method that its path does not have. CONNECT, which it takes too, has no
path.
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
