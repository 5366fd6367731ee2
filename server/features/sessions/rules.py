"""Decides how long sessions and sign-in links work, and creates their tokens.

A token is the ID of the account, so that its row is found on the node of the account, and 32 random
bytes in base 64.
"""

from __future__ import annotations

import re
import secrets

from ..accounts.rules import ADMIN, READ, WRITE

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
SCOPES = (READ, WRITE, ADMIN)
# A session ends after this time, and after this time without a call.
SESSION_TIME = 7 * DAY
IDLE_TIME = 12 * HOUR
# The use of a session is stored after this time at the earliest, so that calls do not write.
USE_INTERVAL = 5 * MINUTE
# How long a sign-in link works by default and at most.
LINK_TIME = 10 * MINUTE
MAX_LINK_TIME = 7 * DAY
# Sessions and links that were created later than this from now do not work: the clock was wrong
# when they were created, and they would work for too long. Clocks of servers can differ by less.
CLOCK_TOLERANCE = DAY
# The links that the API creates for an account before some are used, revoked or expire.
MAX_LINKS = 100
# The sessions that one API key can have. Older ones end.
MAX_SESSIONS_OF_KEY = 100

_TOKEN = re.compile(r"([0-7][0-9A-HJKMNP-TV-Z]{25})[0-9A-Za-z_-]{43}")
# The page that exchanges the token of a link.
SIGN_IN_PATH = "/console/signin"


def make_token(account_id: str) -> str:
    return account_id + secrets.token_urlsafe(32)


def account_of(token: str) -> str | None:
    """Returns the account ID in a token, or None if the text has not the form of a token."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match else None


def sign_in_url(base_url: str, token: str) -> str:
    """Returns the URL of a link. Browsers send what follows the # to no server."""
    return f"{base_url}{SIGN_IN_PATH}#{token}"


def is_use_due(last_used_at: int, now: int) -> bool:
    """Whether the use of a session is to be stored."""
    return now - last_used_at >= USE_INTERVAL
