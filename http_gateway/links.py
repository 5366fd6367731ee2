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
    names = ((part, unquote_plus(part.partition("=")[0])) for part in query.split("&") if part)
    parts = [part for part, name in names if name not in _PAGE_PARAMETERS]
    parts.append(f"pageToken={quote(token, safe='')}")
    # aiohttp's pure Python parser passes invalid UTF-8 as surrogates; its parser in C rejects it.
    target = quote(f"{path}?{'&'.join(parts)}", safe=_SAFE, errors="surrogateescape")
    return f'<{target}>; rel="next"'
