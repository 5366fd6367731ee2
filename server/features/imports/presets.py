"""Describes the CSV exports of other services, one entry for each.

Names of columns and words are compared by `column_key`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..subscribers.fields import Status

UNCONFIRMED, CONFIRMED, UNSUBSCRIBED = Status.UNCONFIRMED, Status.CONFIRMED, Status.UNSUBSCRIBED
BOUNCED, COMPLAINED = Status.BOUNCED, Status.COMPLAINED


@dataclass(frozen=True)
class Preset:
    """The columns of the exports of a service, and their fields.

    `name` is the enum value in the proto. The preset is detected if a header has all columns of
    one of its `signatures`. `columns` are the fields that a column sets, joined by plus signs, or
    "" to ignore it. Of several columns for one field, the first one with a value is used.
    `statuses` are status words in addition to COMMON_WORDS, or with another meaning. A row with a
    value in a column of `marks` has at least the status of the mark. With `lists_by_mark`, a file
    with one such column contains only these people. `status` is the default in files without a
    column of statuses; if the preset has columns of flags, only for rows with a flag. If
    `tags_are_quoted`, tags are cells of CSV.
    """

    name: str
    signatures: Collection[frozenset[str]]
    columns: Mapping[str, str]
    statuses: Mapping[str, Status]
    marks: Mapping[str, Status]
    status: Status | None = None
    tags_are_quoted: bool = False
    lists_by_mark: bool = False
    # Whether the first column is the address if no other column is.
    email_is_first: bool = False
    # Whether cells that cannot be parsed are reported and ignored, instead of failing the row.
    is_lenient: bool = True


def _preset(
    name: str,
    signatures: Iterable[str],
    columns: Mapping[str, str],
    statuses: Mapping[Status, str] = {},
    marks: Mapping[Status, str] = {},
    **options: Any,
) -> Preset:
    """Returns a preset from tables of the names for each field or status, separated by spaces."""
    return Preset(
        name,
        tuple(frozenset(names.split()) for names in signatures),
        {column: target for target, names in columns.items() for column in names.split()},
        {word: status for status, words in statuses.items() for word in words.split()},
        {column: status for status, names in marks.items() for column in names.split()},
        **options,
    )


_FIRST_NAMES = "fname firstname vorname prénom nombre nome voornaam"
_LAST_NAMES = "lname lastname nachname nom apellido apellidos cognome sobrenome achternaam"
_DECLARED = (
    _preset(
        "ROSTER",
        # Spelled as in an export: other applications have tables with the same columns.
        ["id email firstName lastName status tags createdAt"],
        {},
        is_lenient=False,
    ),
    _preset(
        "MAILCHIMP",
        # The other names are in the language of the account.
        [
            "leid euid",
            "memberrating optintime",
            "memberrating leid",
            "unsubtime leid",
            "unsubtime optintime",
            "cleantime leid",
            "cleantime optintime",
        ],
        {
            "email": "emailaddress",
            "firstName": _FIRST_NAMES,
            "lastName": _LAST_NAMES,
            "tags": "tags",
            "status": "status",
            "createdAt": "optintime",
            "confirmedAt+consentAt+createdAt": "confirmtime",
            "unsubscribedAt+statusChangedAt": "unsubtime",
            "statusChangedAt": "cleantime",
            "consentIp": "confirmip optinip",
            "consentSource": "source",
            # Details of opt-outs, and permissions for other purposes.
            "": "unsubcampaigntitle unsubcampaignid unsubreason unsubreasonother"
            " cleancampaigntitle cleancampaignid marketingpermissions erlaubniszummarketing"
            " marketingberechtigungen marketingtoestemmingen autorisationsmarketing"
            " permisosdemarketing autorizzazionimarketing permissõesdemarketing",
        },
        statuses={UNCONFIRMED: "transactional"},
        marks={
            UNSUBSCRIBED: "unsubtime",
            BOUNCED: "cleantime",
        },
        status=CONFIRMED,
        tags_are_quoted=True,
        lists_by_mark=True,
        email_is_first=True,
    ),
    _preset(
        "KIT",
        ["emailaddress firstname state", "subscriberid emailaddress state"],
        {
            "email": "emailaddress",
            "firstName": "firstname",
            "status": "state status",
            "createdAt": "createdat subscribedat",
            "confirmedAt+consentAt": "confirmedat",
            "unsubscribedAt+statusChangedAt": "cancelledat unsubscribedat",
            "tags": "tags",
            "consentSource": "source",
        },
        statuses={CONFIRMED: "cold", UNCONFIRMED: "inactive"},
    ),
    _preset(
        "BUTTONDOWN",
        ["subscribertype creationdate", "type creationdate emailaddress"],
        {
            "email": "emailaddress",
            "status": "type subscribertype",
            "createdAt": "creationdate subscriptiondate",
            "unsubscribedAt+statusChangedAt": "unsubscriptiondate",
            "statusChangedAt": "undeliverabilitydate",
            "": "unsubscriptionreason undeliverabilityreason bouncedate bouncereason",
            "consentIp": "ipaddress",
            "consentSource": "source",
            "tags": "tags",
        },
        statuses={
            CONFIRMED: "regular premium gifted trialed churning churned pastdue unpaid",
            UNCONFIRMED: "paused unactivated upcoming",
            UNSUBSCRIBED: "spammy",
        },
        marks={BOUNCED: "undeliverabilitydate"},
    ),
    _preset(
        "EMAILOCTOPUS",
        ["emailaddress status tags lastupdatedat", "identifier emailaddress lastchanged"],
        {
            "email": "emailaddress",
            "firstName": "firstname",
            "lastName": "lastname",
            "status": "status",
            "tags": "tags",
            "createdAt": "created createdat subscribedat datesubscribed",
            "unsubscribedAt+statusChangedAt": "unsubscribedat dateunsubscribed",
        },
    ),
    _preset(
        "SUBSTACK",
        # The lists of all and of paying subscribers.
        ["email emaildisabled"],
        {
            "email": "email",
            "name": "name",
            # True if the person receives no mail. The paid subscription is independent of that.
            "optedOut": "emaildisabled",
            "createdAt": "createdat",
            # Of the paid subscription.
            "": "canceldate",
        },
        status=CONFIRMED,
    ),
    _preset(
        "BEEHIIV",
        [
            "email status subscriptiontier",
            "email status subscriptionid",
            "email status tier createdat",
        ],
        {
            "email": "email",
            "firstName": "firstname",
            "lastName": "lastname",
            "status": "status",
            "createdAt": "created createdat subscribedat",
            "unsubscribedAt+statusChangedAt": "unsubscribedat",
            "tags": "tags",
            "consentSource": "utmsource",
        },
        statuses={UNCONFIRMED: "validating needsattention paused"},
    ),
    _preset(
        "LISTMONK",
        ["uuid email name attributes status createdat updatedat"],
        {
            "email": "email",
            "name": "name",
            "status": "status",
            "createdAt": "createdat",
        },
    ),
    _preset(
        "GHOST",
        ["email subscribedtoemails"],
        {
            "email": "email",
            "name": "name",
            "optedIn": "subscribedtoemails",
            "createdAt": "createdat",
            "tags": "labels",
        },
        marks={
            UNSUBSCRIBED: "deletedat",
        },
    ),
    _preset(
        "MAILERLITE",
        # One file per status. Only a column that was chosen for the export says which.
        ["subscriber sent opens clicks", "subscriber subscribed location"],
        {
            "email": "subscriber email",
            "firstName": "name firstname",
            "lastName": "lastname",
            "status": "status",
            "tags": "groups",
            "createdAt": "subscribed subscribedat",
            "confirmedAt+consentAt": "optedinat optindate",
            "unsubscribedAt+statusChangedAt": "unsubscribed unsubscribedat",
            "consentIp": "optinip",
        },
    ),
    _preset(
        "BREVO",
        ["email blocklisted", "email emailblacklisted", "email addedtime modifiedtime"],
        {
            "email": "email",
            "firstName": _FIRST_NAMES,
            "lastName": _LAST_NAMES,
            "createdAt": "addedtime",
            # Names of channels, such as email_marketing.
            "optedIn": "subscribed",
            "optedOut": "blocklisted emailblacklisted blacklisted",
            "": "smsblacklisted",
        },
        status=CONFIRMED,
    ),
    _preset(
        "HUBSPOT",
        # The columns of single subscriptions must be mapped: their names contain these.
        [
            "email unsubscribedfromallemail",
            "email hsemailoptout",
            "recordid email marketingcontactstatus",
            "recordidcontact email",
        ],
        {
            "email": "email",
            "firstName": "firstname",
            "lastName": "lastname",
            "createdAt": "createdate",
            "optedOut": "unsubscribedfromallemail hsemailoptout",
            "status": "marketingemailconfirmationstatus",
            # Columns about billing, and counts.
            "": "marketingcontactstatus hsmarketablestatus marketingemailsbounced",
        },
        marks={
            BOUNCED: "emailhardbouncereason hsemailhardbouncereason hsemailhardbouncereasonenum"
            " invalidemailaddress hsemailbadaddress emailaddressquarantined hsemailquarantined",
        },
    ),
    _preset(
        "KLAVIYO",
        ["email klaviyoid", "email emailmarketingconsent"],
        {
            "email": "email",
            "firstName": "firstname",
            "lastName": "lastname",
            "consentSource": "source",
            "consentIp": "ipaddress",
            "createdAt": "profilecreatedon dateadded",
            "status": "emailmarketingconsent",
            "statusChangedAt": "emailmarketingconsenttimestamp",
            "optedOut": "emailsuppressions",
            "": "emailsuppressionstimestamp",
        },
        marks={UNSUBSCRIBED: "emailsuppressionstimestamp"},
    ),
    _preset(
        "ACTIVECAMPAIGN",
        [
            "contactid email status datesubscribed",
            "email firstname lastname phone tags datecreated ip status",
        ],
        {
            "email": "email",
            "firstName": "firstname",
            "lastName": "lastname",
            "status": "status",
            "tags": "tags",
            "createdAt": "datecreated datesubscribed",
            "unsubscribedAt+statusChangedAt": "dateunsubscribed",
            "consentIp": "ip",
        },
        statuses={UNCONFIRMED: "0", CONFIRMED: "1", UNSUBSCRIBED: "2", BOUNCED: "3"},
    ),
)
PRESETS = {preset.name: preset for preset in _DECLARED}


def detect(cells: Iterable[str], names: Iterable[str]) -> Preset | None:
    """Returns the only preset with a signature among cells and their column keys, or None."""
    columns = frozenset((*cells, *names))
    detected = [
        preset
        for preset in _DECLARED
        if any(signature <= columns for signature in preset.signatures)
    ]
    return detected[0] if len(detected) == 1 else None
