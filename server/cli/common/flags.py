"""Names the flags of commands in errors of the service, which name the fields of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# The flags and arguments by the fields that they set.
FLAGS = {
    "action.addTags": "--add-tag",
    "action.changeStatus": "--status",
    "action.delete": "--delete",
    "action.removeTags": "--remove-tag",
    "action.setCustomFields": "--set",
    "addTags": "--add-tag",
    "bom": "--bom",
    "charset": "--charset",
    "columnMap": "--map",
    "consentSource": "--consent-source",
    "createdAfter": "--created-after",
    "createdBefore": "--created-before",
    "dateFormat": "--date-format",
    "dryRun": "--dry-run",
    "emails": "EMAIL",
    "eventId": "--event-id",
    "eventType": "--event-type",
    "escapeFormulas": "--no-escape-formulas",
    "filter": "--filter",
    "format": "--format",
    "ignoreColumns": "--ignore-column",
    "isConfirmed": "--confirmed",
    "httpStatus": "--http-status",
    "include": "--include",
    "nullTokens": "--null-token",
    "onConflict": "--on-conflict",
    "preset": "--preset",
    "q": "--search",
    "reason": "--reason",
    "segmentId": "--segment",
    "since": "--since",
    "state": "--state",
    "status": "--status",
    "statusMap": "--status-map",
    "subscriberId": "--subscriber",
    "tag": "--tag",
    "unknownColumns": "--unknown-columns",
    "until": "--until",
    "updatedAfter": "--updated-after",
    "updatedBefore": "--updated-before",
    "view": "--full",
    "webhookId": "--webhook",
}
# Codes of details about columns of a file, which the message of the error lists.
_LISTED = ("UNKNOWN_FIELD", "CONSENT_COLUMN")
_PATH = re.compile(r"((?:action\.)?\w+)(?:\[(\d+)\]|\.(.+))?")
# The fields that messages mention, with or without a value. They are no words of English.
_MENTIONED = re.compile(
    r"\b(columnMap|dateFormat|ignoreColumns|nullTokens|statusMap|unknownColumns"
    r"|(?:charset|preset)(?==))\b"
    r"(?:=([^\s,;]*[^\s,;.]))?"
)


def error_text(error: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """Returns the message of an error with its details, on one line.

    `sent` are the fields of the request. The message is left out if all details are about them.
    """
    message = with_flags(str(error.get("message", error.get("code"))))
    details, are_fields = [], True
    for detail in error.get("details") or ():
        # The options of an import are a field of their own.
        path = detail["field"].removeprefix("options.")
        if detail.get("code") in _LISTED and path in message:
            are_fields = False
            continue
        name = _name(path, sent)
        are_fields &= name is not None
        details.append(f"{name or path or 'The body'} {with_flags(detail['message'])}")
    if not details:
        return message
    text = "; ".join(details).removesuffix(".") + "."
    return text if are_fields else f"{message} {text}"


def _name(path: str, sent: Mapping[str, Any]) -> str | None:
    """Returns the flag of a field of the request, with its value if it can be repeated.

    Returns None if the path is of something else, such as a column of a file.
    """
    match = _PATH.fullmatch(path)
    flag = FLAGS.get(match[1]) if match else None
    if match is None or flag is None:
        return None
    value: Any = sent
    try:
        for key in match[1].split("."):
            value = value[key]
        if match[2]:
            return f"{flag} {value[int(match[2])]!r}"
    except (LookupError, TypeError):
        return None
    return f"{flag} {match[3]!r}" if match[3] else flag


def with_flags(message: str) -> str:
    """Replaces the fields that a message mentions, such as columnMap=#1=email."""
    return _MENTIONED.sub(lambda match: _flag_and_value(match[1], match[2]), message)


def _flag_and_value(field: str, value: str | None) -> str:
    if value is None:
        return FLAGS[field]
    if "=" in value:
        return f'{FLAGS[field]} "{value}"'
    # The value of an enumeration.
    return f"{FLAGS[field]} {value.lower().replace('_', '-')}"
