"""What schemathesis cannot know from the document: see `fit`.

It loads this by name, as schemathesis.toml tells; the test sets the environment.
"""

from __future__ import annotations

import os
import re
from typing import Any
from uuid import uuid4

import schemathesis
from hypothesis import strategies
from schemathesis import Case, GenerationMode, HookContext, SerializationContext

# The key that the calls are made with. Without it nothing more could be found out.
OWN_KEY = os.environ["ROSTER_API_KEY_ID"]
# The smallest bound of a text of which blanks are taken off.
SHORTEST_BOUND = 80
# The fields that are enums, or like a boolean, and their forms that are not described.
LENIENT = ("status", "dataType", "format", "onConflict", "isConfirmed", "onlyFailed")
OTHER_FORM = re.compile(r"-?[0-9]+(\.0)?|(?i:true|false|yes|no)")
_TIMEOUT = re.compile("[0-9]{1,8}[HMSmun]")

schemathesis.openapi.format(
    "ulid", strategies.from_regex("[0-7][0-9A-HJKMNP-TV-Z]{25}", fullmatch=True)
)


@schemathesis.serializer("application/x-ndjson", "text/csv")
def as_text(context: SerializationContext, value: Any) -> bytes:
    """Sends a body that is text as it is."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Keeps the calls' own key alive, and makes a request that should be taken one that can be."""
    if case.path.startswith("/api/keys/") and case.path_parameters.get("id") == OWN_KEY:
        case.path_parameters["id"] = "another"
    if _TIMEOUT.fullmatch(str((case.headers or {}).get("Grpc-Timeout", ""))):
        case.headers["Grpc-Timeout"] = "20S"  # whoever gives no time gets a 504, rightly
    if case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE:
        fit(case)
    else:
        case.body = unlike(untrimmed(case.body))
        case.query = unlike(case.query)


def untrimmed(value: Any) -> Any:
    """Returns a value whose long texts have letters in place of the blanks around them.

    Blanks do not count, so a text that is too long by them alone is taken.
    """
    if isinstance(value, dict):
        return {key: untrimmed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [untrimmed(item) for item in value]
    if isinstance(value, str) and len(value) >= SHORTEST_BOUND:
        trimmed = value.strip(" \t\r\n")
        return trimmed.rjust(len(value), "x") if trimmed else value
    return value


def unlike(value: Any) -> Any:
    """Returns an object whose enums and booleans have no other form of ProtoJSON.

    Those are accepted, and only their descriptions say so: the numbers of enums, and what
    counts as true or false.
    """
    if not isinstance(value, dict):
        return value
    return {
        key: "x" if key in LENIENT and OTHER_FORM.fullmatch(str(each)) else each
        for key, each in value.items()
    }


def fit(case: Case) -> None:
    """Takes off what only the account's data, or the moment, make right or wrong.

    Those are the keys of custom fields, the place that a page token leads to, whether a
    moment is in the future, which words a label may not be, whether an idempotency key
    came with another request before, where webhooks may be sent to, and what types of
    events there are.
    """
    if "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid4())
    # Python lets a line break follow what a pattern ends with; other languages do not.
    for given in (case.query, case.body):
        if isinstance(given, dict):
            given.update(
                {k: re.sub(r"\n\Z", "x", v) for k, v in given.items() if isinstance(v, str)}
            )
    if isinstance(case.query, dict):
        case.query.pop("pageToken", None)
        case.query.pop("type", None)
        case.query.pop("eventType", None)
    body = case.body
    if not isinstance(body, dict):
        return
    body.pop("customFields", None)
    if isinstance(body.get("expiresAt"), str):
        body["expiresAt"] = "2099-01-01T00:00:00Z"
    if isinstance(body.get("label"), str):
        body["label"] = f"Field {body['label'].strip()}"[:80]
    body.pop("until", None)  # it has to be later than since
    if isinstance(body.get("url"), str):
        body["url"] = "http://127.0.0.1:9/"
    if body.get("eventTypes"):
        body["eventTypes"] = ["tag.*"]
