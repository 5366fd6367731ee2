"""Describes the CSV exports of other services, one table for each.

Names of columns and words are compared by `column_key`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..subscribers.fields import Status

UNCONFIRMED, CONFIRMED, UNSUBSCRIBED = Status.UNCONFIRMED, Status.CONFIRMED, Status.UNSUBSCRIBED
BOUNCED, COMPLAINED = Status.BOUNCED, Status.COMPLAINED


@dataclass(frozen=True)
class Preset:
    """The columns of the exports of a service, and their fields.

    `number` is that of the proto. The preset is detected if a header has all columns of one of
    its `signatures`. `columns` are the fields that a column sets, joined by plus signs, or "" for
    a column to ignore. Of several columns for one field, the first one with a value is used.
    `statuses` are status words. A row with a value in a column of `marks` has at least the status
    of the mark. With `lists_by_mark`, a file with one such column contains only these people.
    `status` is the default in files without a column of statuses; if the preset has columns of
    flags, only for rows with a flag. If `tags_are_quoted`, tags are cells of CSV.
    """

    number: int
    signatures: Collection[frozenset[str]]
    columns: Mapping[str, str]
    statuses: Mapping[str, Status] = field(default_factory=dict)
    marks: Mapping[str, Status] = field(default_factory=dict)
    status: Status | None = None
    tags_are_quoted: bool = False
    lists_by_mark: bool = False
    # Whether the first column is the address if no other column is.
    email_is_first: bool = False
    # Whether cells that cannot be parsed are reported and ignored, instead of failing the row.
    is_lenient: bool = True


def _signatures(*signatures: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names.split()) for names in signatures)


def _ignored(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "")


ROSTER = Preset(
    number=1,
    # Spelled as in an export: other applications have tables with the same columns.
    signatures=_signatures("id email firstName lastName status tags createdAt"),
    columns={},
    is_lenient=False,
)
_FIRST_NAMES = ("fname", "firstname", "vorname", "prénom", "nombre", "nome", "voornaam")
_LAST_NAMES = (
    *("lname", "lastname", "nachname", "nom", "apellido", "apellidos"),
    *("cognome", "sobrenome", "achternaam"),
)
MAILCHIMP = Preset(
    number=2,
    # The other names are in the language of the account.
    signatures=_signatures(
        "leid euid",
        "memberrating optintime",
        "memberrating leid",
        "unsubtime leid",
        "unsubtime optintime",
        "cleantime leid",
        "cleantime optintime",
    ),
    email_is_first=True,
    lists_by_mark=True,
    columns={
        "emailaddress": "email",
        **dict.fromkeys(_FIRST_NAMES, "firstName"),
        **dict.fromkeys(_LAST_NAMES, "lastName"),
        "tags": "tags",
        "status": "status",
        "optintime": "createdAt",
        "confirmtime": "confirmedAt+consentAt+createdAt",
        "unsubtime": "unsubscribedAt+statusChangedAt",
        "cleantime": "statusChangedAt",
        "confirmip": "consentIp",
        "optinip": "consentIp",
        "source": "consentSource",
        # Details of opt-outs, and permissions for other purposes.
        **_ignored(
            "unsubcampaigntitle unsubcampaignid unsubreason unsubreasonother cleancampaigntitle"
            " cleancampaignid marketingpermissions"
        ),
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
        **_ignored("unsubscriptionreason undeliverabilityreason bouncedate bouncereason"),
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
        "spammy": UNSUBSCRIBED,
        "unsubscribed": UNSUBSCRIBED,
        "undeliverable": BOUNCED,
        "complained": COMPLAINED,
    },
)
EMAILOCTOPUS = Preset(
    number=5,
    signatures=_signatures(
        "emailaddress status tags lastupdatedat", "identifier emailaddress lastchanged"
    ),
    columns={
        "emailaddress": "email",
        "firstname": "firstName",
        "lastname": "lastName",
        "status": "status",
        "tags": "tags",
        "created": "createdAt",
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
    # The lists of all and of paying subscribers.
    signatures=_signatures("email emaildisabled"),
    columns={
        "email": "email",
        "name": "name",
        # True if the person receives no mail. The paid subscription is independent of that.
        "emaildisabled": "optedOut",
        "createdat": "createdAt",
    },
    status=CONFIRMED,
)
BEEHIIV = Preset(
    number=7,
    signatures=_signatures(
        "email status subscriptiontier",
        "email status subscriptionid",
        "email status tier createdat",
    ),
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
GHOST = Preset(
    number=9,
    signatures=_signatures("email subscribedtoemails"),
    columns={
        "email": "email",
        "name": "name",
        "subscribedtoemails": "optedIn",
        "createdat": "createdAt",
        "labels": "tags",
    },
    marks={"deletedat": UNSUBSCRIBED},
)
MAILERLITE = Preset(
    number=10,
    # One file per status. Only a column that was chosen for the export says which.
    signatures=_signatures("subscriber sent opens clicks", "subscriber subscribed location"),
    columns={
        "subscriber": "email",
        "email": "email",
        "name": "firstName",
        "firstname": "firstName",
        "lastname": "lastName",
        "status": "status",
        "groups": "tags",
        "subscribed": "createdAt",
        "subscribedat": "createdAt",
        "optedinat": "confirmedAt+consentAt",
        "optindate": "confirmedAt+consentAt",
        "unsubscribed": "unsubscribedAt+statusChangedAt",
        "unsubscribedat": "unsubscribedAt+statusChangedAt",
        "optinip": "consentIp",
    },
    statuses={"junk": COMPLAINED},
)
BREVO = Preset(
    number=11,
    signatures=_signatures(
        "email blocklisted", "email emailblacklisted", "email addedtime modifiedtime"
    ),
    columns={
        "email": "email",
        **dict.fromkeys(_FIRST_NAMES, "firstName"),
        **dict.fromkeys(_LAST_NAMES, "lastName"),
        "addedtime": "createdAt",
        # Names of channels, such as email_marketing.
        "subscribed": "optedIn",
        "blocklisted": "optedOut",
        "emailblacklisted": "optedOut",
        "blacklisted": "optedOut",
        **_ignored("smsblacklisted"),
    },
    status=CONFIRMED,
)
HUBSPOT = Preset(
    number=12,
    # The columns of single subscriptions must be mapped: their names contain these.
    signatures=_signatures(
        "email unsubscribedfromallemail",
        "email hsemailoptout",
        "recordid email marketingcontactstatus",
        "recordidcontact email",
    ),
    columns={
        "email": "email",
        "firstname": "firstName",
        "lastname": "lastName",
        "createdate": "createdAt",
        "unsubscribedfromallemail": "optedOut",
        "hsemailoptout": "optedOut",
        "marketingemailconfirmationstatus": "status",
        # Columns about billing, and counts.
        **_ignored("marketingcontactstatus hsmarketablestatus marketingemailsbounced"),
    },
    marks={
        "emailhardbouncereason": BOUNCED,
        "hsemailhardbouncereason": BOUNCED,
        "hsemailhardbouncereasonenum": BOUNCED,
        "invalidemailaddress": BOUNCED,
        "hsemailbadaddress": BOUNCED,
        "emailaddressquarantined": BOUNCED,
        "hsemailquarantined": BOUNCED,
    },
)
KLAVIYO = Preset(
    number=13,
    signatures=_signatures("email klaviyoid", "email emailmarketingconsent"),
    columns={
        "email": "email",
        "firstname": "firstName",
        "lastname": "lastName",
        "source": "consentSource",
        "ipaddress": "consentIp",
        "profilecreatedon": "createdAt",
        "dateadded": "createdAt",
        "emailmarketingconsent": "status",
        "emailmarketingconsenttimestamp": "statusChangedAt",
        "emailsuppressions": "optedOut",
        **_ignored("emailsuppressionstimestamp"),
    },
)
ACTIVECAMPAIGN = Preset(
    number=14,
    signatures=_signatures(
        "contactid email status datesubscribed",
        "email firstname lastname phone tags datecreated ip status",
    ),
    columns={
        "email": "email",
        "firstname": "firstName",
        "lastname": "lastName",
        "status": "status",
        "tags": "tags",
        "datecreated": "createdAt",
        "datesubscribed": "createdAt",
        "dateunsubscribed": "unsubscribedAt+statusChangedAt",
        "ip": "consentIp",
    },
    statuses={"0": UNCONFIRMED, "1": CONFIRMED, "2": UNSUBSCRIBED, "3": BOUNCED},
)
PRESETS = (
    *(ROSTER, MAILCHIMP, KIT, BUTTONDOWN, EMAILOCTOPUS, SUBSTACK, BEEHIIV, LISTMONK),
    *(GHOST, MAILERLITE, BREVO, HUBSPOT, KLAVIYO, ACTIVECAMPAIGN),
)
BY_NUMBER = {preset.number: preset for preset in PRESETS}


def detect(cells: Iterable[str], names: Iterable[str]) -> Preset | None:
    """Returns the only preset with a signature among cells and their column keys, or None."""
    columns = frozenset((*cells, *names))
    detected = [
        preset for preset in PRESETS if any(signature <= columns for signature in preset.signatures)
    ]
    return detected[0] if len(detected) == 1 else None
