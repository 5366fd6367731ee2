"""The Link header that leads from a page of a list to the next one (RFC 8288)."""

from __future__ import annotations

from urllib.parse import quote, unquote_plus

# What a page is found by. Under a page token the number of a page means nothing.
_PLACE = frozenset({"page", "pageToken", "page_token"})
# What RFC 3986 lets stand in a path or query, and what is encoded already.
_STANDS = "%:@/?!$&'()*+,;="


def next_page(path: str, query: str, token: str) -> str:
    """Returns a link to the page that a token leads to, beside a path and query as they were sent.

    The rest of the query stays as it is. Nothing that the client sent can end the
    link or the header: what may not stand in a URL is percent-encoded.
    """
    parts = [part for part in query.split("&") if part and _name(part) not in _PLACE]
    parts.append(f"pageToken={quote(token, safe='')}")
    return f'<{_encoded(path)}?{_encoded("&".join(parts))}>; rel="next"'


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0])


def _encoded(text: str) -> str:
    # Bytes that are no UTF-8 are surrogates here, unless aiohttp's parser in C has refused them.
    return quote(text, safe=_STANDS, errors="surrogateescape")
