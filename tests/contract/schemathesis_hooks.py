"""Adapts generated requests to rules that the OpenAPI document cannot express.

schemathesis.toml names this module, and the test sets the environment variables.
"""

from __future__ import annotations

import os
import re
from typing import Any
from uuid import uuid4

import schemathesis
from schemathesis import Case, GenerationMode, HookContext, SerializationContext

# The API key of the run, which must not be revoked.
OWN_KEY = os.environ["ROSTER_API_KEY_ID"]
# The lowest maximum length of a trimmed text.
SHORTEST_BOUND = 80
# Enums and booleans. Their schemas do not contain all forms that ProtoJSON accepts.
LENIENT = (
    "status",
    "state",
    "type",
    "reason",
    "dataType",
    "format",
    "delimiter",
    "onConflict",
    "view",
    "isConfirmed",
    "dryRun",
    "include",
    "onlyFailed",
    "total",
    "by",
)
OTHER_FORM = re.compile(r"-?[0-9]+(\.0)?|(?i:true|false|yes|no)")
_TIMEOUT = re.compile("[0-9]{1,8}[HMSmun]")


@schemathesis.serializer("application/x-ndjson", "text/csv")
def as_text(_context: SerializationContext, value: Any) -> bytes:
    """Serializes a text body unchanged."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def before_call(_context: HookContext, case: Case, _kwargs: dict[str, Any]) -> None:
    """Protects the API key of the run, and adapts the request."""
    if case.path.startswith("/api/keys/") and case.path_parameters.get("id") == OWN_KEY:
        case.path_parameters["id"] = "another"
    if case.path == "/api/session":
        case.headers["Sec-Fetch-Site"] = "same-origin"
    for name in ("Range", "If-Range", "If-None-Match"):
        value = str(dict(case.headers or ()).get(name, ""))
        if value != value.strip() or not value.isprintable():
            case.headers[name] = "x"  # The client of schemathesis cannot send it.
    if isinstance(case.query, dict):
        case.query.pop("readMask", None)  # the response would lack required fields
    if _TIMEOUT.fullmatch(str(dict(case.headers or ()).get("Grpc-Timeout", ""))):
        case.headers["Grpc-Timeout"] = "20S"  # A shorter timeout could cause a 504.
    if case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE:
        make_acceptable(case)
    else:
        case.body = without_other_forms(without_whitespace(case.body))
        case.query = without_other_forms(case.query)
        if isinstance(case.query, dict):
            # The server treats an empty text as absent.
            empty = [name for name in ("from", "to") if case.query.get(name) == ""]
            case.query |= dict.fromkeys(empty, "x")


def without_whitespace(value: Any) -> Any:
    """Replaces the surrounding whitespace of long texts with letters.

    The server trims whitespace, so a text that exceeds the maximum length only by whitespace is
    valid.
    """
    if isinstance(value, dict):
        return {key: without_whitespace(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_whitespace(item) for item in value]
    if isinstance(value, str) and len(value) >= SHORTEST_BOUND:
        trimmed = value.strip(" \t\r\n\x85\u2028\u2029")
        return trimmed.rjust(len(value), "x") if trimmed else value
    return value


def without_other_forms(value: Any) -> Any:
    """Replaces the forms of enums and booleans that the server accepts but the schema does not
    contain.
    """
    if not isinstance(value, dict):
        return value
    return {
        key: "x" if key in LENIENT and OTHER_FORM.fullmatch(str(item)) else item
        for key, item in value.items()
    }


def make_acceptable(case: Case) -> None:
    """Replaces values whose validity depends on stored data, the time or the configuration.

    These are custom field values, page tokens, entity tags, filters, times in the future, labels
    with reserved words, used idempotency keys, webhook URLs and event types.
    """
    for name, value in case.path_parameters.items():
        # A link can have found no value, which results in the path of another operation.
        case.path_parameters[name] = value or "missing"
    if case.path.endswith("/mailability"):
        case.path_parameters["id"] = "ada@example.com"  # must be an address or an ID
    if "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid4())
    if case.headers:
        case.headers.pop("If-Match", None)  # must be the current entity tag
    # In Python `$` also matches before a final line break; in other languages it does not.
    for values in (case.query, case.body):
        if isinstance(values, dict):
            values.update(
                {k: re.sub(r"\n\Z", "x", v) for k, v in values.items() if isinstance(v, str)}
            )
    if isinstance(case.query, dict):
        case.query.pop("pageToken", None)
        if "filter" in case.query:
            case.query["filter"] = "status = CONFIRMED"
        case.query.pop("segmentId", None)  # must exist
        case.query.pop("from", None)  # must be at most 366 days before to
        case.query.pop("email", None)  # must be an address
        case.query.pop("bom", None)  # requires a table
        case.query.pop("eventType", None)
        case.query.pop("timeZone", None)  # must be known
        if " " in str(case.query.get("orderBy", "")):
            case.query.pop("order", None)  # must not contradict the direction in orderBy
        case.query.pop("allowMissing", None)  # requires an address in the path
    body = case.body
    if not isinstance(body, dict):
        return
    body.pop("customFields", None)
    if case.path.endswith("/signup"):
        body.pop("tags", None)  # must exist
        body.pop("key", None)  # of a form, must be an API key
        for name in [name for name in body if name.startswith("customFields.")]:
            del body[name]
        body.update((name, "Ada") for name in ("firstName", "lastName") if name in body)  # no link
    if isinstance(body.get("logo"), str):
        body["logo"] = "R0lGODlhAQABAAAAACH5BAEAAAAALAAAAAABAAEAAAIBAAA="  # a GIF
    if isinstance(body.get("ip"), str):
        body["ip"] = "192.0.2.1"
    for name in ("firstName", "lastName"):
        if isinstance(body.get(name), str):
            body[name] = body[name].strip("\t")  # which other text may have at its ends
    if case.method in ("PUT", "PATCH"):
        body.pop("isConfirmed", None)  # requires allowMissing
        body.pop("dataType", None)  # of which values and filters in other requests are
    if case.path.endswith("/batch-get"):
        body["ids"] = ["x"]  # 1 to 100 items together
        emails = body.get("emails")
        body["emails"] = emails[:10] if isinstance(emails, list) else []
    if isinstance(body.get("expiresAt"), str):
        body["expiresAt"] = "2099-01-01T00:00:00Z"
    if isinstance(body.get("label"), str):
        body["label"] = f"Field {body['label'].strip()}"[:80]
    if "filter" in body:
        body["filter"] = "status = CONFIRMED"
    if case.path.endswith("/batch"):  # exactly one selection, and one action
        body.pop("segmentId", None)
        body.pop("ids", None)
        body |= {"filter": "status = CONFIRMED", "action": {"addTags": ["vip"]}}
    body.pop("until", None)  # must be later than since
    if isinstance(body.get("url"), str):
        body["url"] = "http://127.0.0.1:9/"
    if body.get("eventTypes"):
        body["eventTypes"] = ["tag.*"]
