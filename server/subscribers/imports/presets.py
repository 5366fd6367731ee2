"""Describes the CSV exports of other services, one table for each.

Names of columns and words are compared by `column_key`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ..fields import Status

UNCONFIRMED, CONFIRMED, UNSUBSCRIBED = Status.UNCONFIRMED, Status.CONFIRMED, Status.UNSUBSCRIBED
BOUNCED, COMPLAINED = Status.BOUNCED, Status.COMPLAINED


@dataclass(frozen=True)
class Preset:
    """The columns of the exports of a service, and their fields.

    `number` is that of the proto. The preset is detected if a header has all columns of one of
    its `signatures`. `columns` are the fields that a column sets, joined by plus signs. Of
    several columns for one field, the first one with a value is used. `statuses`
    are status words. A column of `marks` gives its status to each row with a value, and to all
    rows if it is the only one of them in the file. `status` is that of rows without a column of
    statuses. If `tags_are_quoted`, tags are cells of CSV.
    """

    number: int
    signatures: Collection[frozenset[str]]
    columns: Mapping[str, str]
    statuses: Mapping[str, Status] = field(default_factory=dict)
    marks: Mapping[str, Status] = field(default_factory=dict)
    status: Status | None = None
    tags_are_quoted: bool = False
    # Whether cells that cannot be parsed are reported and ignored, instead of failing the row.
    is_lenient: bool = True


def _signatures(*signatures: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names.split()) for names in signatures)


ROSTER = Preset(
    number=1,
    signatures=_signatures("id email firstname lastname status tags createdat"),
    columns={},
    is_lenient=False,
)
MAILCHIMP = Preset(
    number=2,
    signatures=_signatures("emailaddress leid euid", "emailaddress memberrating optintime"),
    columns={
        "emailaddress": "email",
        "fname": "firstName",
        "lname": "lastName",
        "tags": "tags",
        "status": "status",
        "optintime": "createdAt",
        "confirmtime": "confirmedAt+consentAt+createdAt",
        "unsubtime": "unsubscribedAt+statusChangedAt",
        "cleantime": "statusChangedAt",
        "confirmip": "consentIp",
        "optinip": "consentIp",
        "source": "consentSource",
    },
    statuses={
        "subscribed": CONFIRMED,
        "unsubscribed": UNSUBSCRIBED,
        "nonsubscribed": UNCONFIRMED,
        "transactional": UNCONFIRMED,
        "pending": UNCONFIRMED,
        "archived": UNSUBSCRIBED,
        "cleaned": BOUNCED,
    },
    marks={"unsubtime": UNSUBSCRIBED, "cleantime": BOUNCED},
    status=CONFIRMED,
    tags_are_quoted=True,
)
KIT = Preset(
    number=3,
    signatures=_signatures("emailaddress firstname state", "subscriberid emailaddress state"),
    columns={
        "emailaddress": "email",
        "firstname": "firstName",
        "state": "status",
        "status": "status",
        "createdat": "createdAt",
        "subscribedat": "createdAt",
        "confirmedat": "confirmedAt+consentAt",
        "cancelledat": "unsubscribedAt+statusChangedAt",
        "unsubscribedat": "unsubscribedAt+statusChangedAt",
        "tags": "tags",
        "source": "consentSource",
    },
    statuses={
        "active": CONFIRMED,
        "confirmed": CONFIRMED,
        "cold": CONFIRMED,
        "inactive": UNCONFIRMED,
        "unconfirmed": UNCONFIRMED,
        "cancelled": UNSUBSCRIBED,
        "canceled": UNSUBSCRIBED,
        "unsubscribed": UNSUBSCRIBED,
        "bounced": BOUNCED,
        "complained": COMPLAINED,
    },
)
BUTTONDOWN = Preset(
    number=4,
    signatures=_signatures("subscribertype creationdate", "type creationdate emailaddress"),
    columns={
        "emailaddress": "email",
        "type": "status",
        "subscribertype": "status",
        "creationdate": "createdAt",
        "subscriptiondate": "createdAt",
        "unsubscriptiondate": "unsubscribedAt+statusChangedAt",
        "undeliverabilitydate": "statusChangedAt",
        "ipaddress": "consentIp",
        "source": "consentSource",
        "tags": "tags",
    },
    statuses={
        "regular": CONFIRMED,
        "premium": CONFIRMED,
        "gifted": CONFIRMED,
        "trialed": CONFIRMED,
        "churning": CONFIRMED,
        "churned": CONFIRMED,
        "pastdue": CONFIRMED,
        "unpaid": CONFIRMED,
        "paused": UNCONFIRMED,
        "unactivated": UNCONFIRMED,
        "upcoming": UNCONFIRMED,
        "blocked": UNSUBSCRIBED,
        "removed": UNSUBSCRIBED,
        "unsubscribed": UNSUBSCRIBED,
        "undeliverable": BOUNCED,
        "complained": COMPLAINED,
    },
)
EMAILOCTOPUS = Preset(
    number=5,
    signatures=_signatures("emailaddress status tags lastupdatedat"),
    columns={
        "emailaddress": "email",
        "firstname": "firstName",
        "lastname": "lastName",
        "status": "status",
        "tags": "tags",
        "createdat": "createdAt",
        "subscribedat": "createdAt",
        "datesubscribed": "createdAt",
        "unsubscribedat": "unsubscribedAt+statusChangedAt",
        "dateunsubscribed": "unsubscribedAt+statusChangedAt",
    },
    statuses={
        "subscribed": CONFIRMED,
        "pending": UNCONFIRMED,
        "unsubscribed": UNSUBSCRIBED,
        "bounced": BOUNCED,
        "complained": COMPLAINED,
    },
)
SUBSTACK = Preset(
    number=6,
    signatures=_signatures("email activesubscription emaildisabled"),
    columns={
        "email": "email",
        "name": "name",
        # True if the person receives no mail. The paid subscription is independent of that.
        "emaildisabled": "status",
        "createdat": "createdAt",
    },
    statuses={"true": UNSUBSCRIBED, "false": CONFIRMED},
)
BEEHIIV = Preset(
    number=7,
    signatures=_signatures("email status subscriptiontier", "email status subscriptionid"),
    columns={
        "email": "email",
        "firstname": "firstName",
        "lastname": "lastName",
        "status": "status",
        "created": "createdAt",
        "createdat": "createdAt",
        "subscribedat": "createdAt",
        "unsubscribedat": "unsubscribedAt+statusChangedAt",
        "tags": "tags",
        "utmsource": "consentSource",
    },
    statuses={
        "active": CONFIRMED,
        "pending": UNCONFIRMED,
        "validating": UNCONFIRMED,
        "needsattention": UNCONFIRMED,
        "paused": UNCONFIRMED,
        "inactive": UNSUBSCRIBED,
        "unsubscribed": UNSUBSCRIBED,
        "invalid": BOUNCED,
        "bounced": BOUNCED,
    },
)
LISTMONK = Preset(
    number=8,
    signatures=_signatures("uuid email name attributes status createdat updatedat"),
    columns={
        "email": "email",
        "name": "name",
        "status": "status",
        "createdat": "createdAt",
    },
    statuses={
        "enabled": CONFIRMED,
        "disabled": UNSUBSCRIBED,
        "blocklisted": UNSUBSCRIBED,
    },
)
PRESETS = (ROSTER, MAILCHIMP, KIT, BUTTONDOWN, EMAILOCTOPUS, SUBSTACK, BEEHIIV, LISTMONK)
BY_NUMBER = {preset.number: preset for preset in PRESETS}


def detect(names: Collection[str]) -> Preset | None:
    """Returns the only preset with a signature among column keys, or None."""
    columns = frozenset(names)
    detected = [
        preset for preset in PRESETS if any(signature <= columns for signature in preset.signatures)
    ]
    return detected[0] if len(detected) == 1 else None
