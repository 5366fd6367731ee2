"""Builds the Link header of a page of a list, which points to the next page (RFC 8288)."""

from __future__ import annotations

from urllib.parse import quote, unquote_plus

# Parameters that select a page, which are replaced by the page token.
_PAGE_PARAMETERS = frozenset({"page", "pageToken", "page_token"})
# Characters that RFC 3986 allows in a path or query, and the percent sign of those encoded.
_SAFE = "%:@/?!$&'()*+,;="


def next_page(path: str, query: str, token: str) -> str:
    """Returns a link to the page of a token, for a path and query as they were received.

    The rest of the query is unchanged. Characters that are not allowed in a URL are
    percent-encoded, so a client cannot end the link or the header.
    """
    parts = [part for part in query.split("&") if part and _name(part) not in _PAGE_PARAMETERS]
    parts.append(f"pageToken={quote(token, safe='')}")
    target = _encoded(f"{path}?{'&'.join(parts)}")
    return f'<{target}>; rel="next"'


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0])


def _encoded(text: str) -> str:
    # aiohttp's pure Python parser passes invalid UTF-8 as surrogates; its parser in C rejects it.
    return quote(text, safe=_SAFE, errors="surrogateescape")
