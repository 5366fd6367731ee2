"""Maps the words that services use for the status of a person, by column key."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from ...rpc.errors import invalid
from ...values.texts import column_key
from ..subscribers.fields import Status
from ..subscribers.rules import OPTED_OUT

STATUSES = {status.name.lower(): status for status in Status}
# Known without a preset, which can give them another meaning.
_COMMON = {
    Status.CONFIRMED: "active subscribed subscriber enabled optedin optin doubleoptin verified"
    " aktiv abonniert bestätigt actif abonné activo suscrito attivo iscritto",
    Status.UNCONFIRMED: "pending nonsubscribed notconfirmed notactivated unverified"
    " doubleoptinpending",
    Status.UNSUBSCRIBED: "unsubscribe unsub optedout optout cancelled canceled inactive disabled"
    " removed deleted archived blocked blocklisted blacklisted suppressed usersuppressed donotmail"
    " donotemail donotcontact neversubscribed notsubscribed noconsent inaktiv abgemeldet gesperrt"
    " abbestellt widerrufen gelöscht désabonné desabonne désinscrit desinscrit inactivo desuscrito"
    " baja dadodebaja cancelado desinscrito descadastrado bloqueado inattivo disiscritto afgemeld"
    " uitgeschreven geblokkeerd wypisany zablokowany odhlášen avregistrerad avmeldt afmeldt"
    " unsubscribedfromall nontransactional отписан 配信停止 退会 退订 수신거부",
    Status.BOUNCED: "cleaned bounce hardbounce hardbounced undeliverable invalid invalidemail"
    " unzustellbar rebotado",
    Status.COMPLAINED: "complaint spam junk abuse spamcomplaint reportedspam markedasspam",
}
COMMON_WORDS = STATUSES | {
    word: status for status, words in _COMMON.items() for word in words.split()
}
OPT_OUT_WORDS = {word: status for word, status in COMMON_WORDS.items() if status in OPTED_OUT}
# Words that state an opt-out in any column, by column key. The others have further meanings, such
# as an order that was canceled.
_UNAMBIGUOUS = {
    Status.UNSUBSCRIBED: "unsubscribed unsubscribe unsub optedout donotmail donotemail donotcontact"
    " usersuppressed blocklisted blacklisted abgemeldet abbestellt désabonné désinscrit desuscrito"
    " dadodebaja disiscritto afgemeld uitgeschreven descadastrado wypisany avregistrerad 配信停止"
    " 退订 отписан",
    Status.BOUNCED: "hardbounce hardbounced emailbounced",
    Status.COMPLAINED: "complained spamcomplaint reportedspam markedasspam",
}
_STATED = {word: status for status, words in _UNAMBIGUOUS.items() for word in words.split()}
# Words that also state something else in a column such as State, such as of an order.
_AMBIGUOUS = (
    "cancelled canceled cancelado disabled inactive archived invalid blocked removed junk abuse"
    " baja inaktiv inactivo inattivo gesperrt widerrufen bloqueado geblokkeerd zablokowany"
)
_OF_STATES = {word: each for word, each in OPT_OUT_WORDS.items() if word not in _AMBIGUOUS.split()}
_MAX_WORD_LENGTH = 20
STATED_HINT = (
    "This opt-out counts. Map the column to status or optedOut, or list it in ignoreColumns if it"
    " says nothing about permission to send mail."
)


def _starts(word: str) -> set[str]:
    """Returns the first two characters of all forms of a word."""
    first, second = word[0], {word[1], unicodedata.normalize("NFD", word[1])[0]}
    return {a + b for a in (first, first.upper()) for each in second for b in (each, each.upper())}


_STARTS = frozenset[str]().union(*map(_starts, _STATED))


def stated_opt_out(text: str, *, of_state: bool = False) -> Status | None:
    """Returns the opt-out that a text states in any column, or in one `of_state`, or None."""
    if of_state and len(text) <= _MAX_WORD_LENGTH:
        return _OF_STATES.get(word := column_key(text)) or _STATED.get(word)
    # Column keys of all cells of 20 such columns take longer than the rest of their row.
    start = text[:2]
    if len(text) > _MAX_WORD_LENGTH or (start not in _STARTS and start.isalnum()):
        return None
    return _STATED.get(column_key(text))


def parse_status_map(entries: Iterable[str]) -> dict[str, Status]:
    """Returns the words of the option statusMap. Raises ValidationError."""
    words = {}
    for number, entry in enumerate(entries):
        word, equals, name = entry.rpartition("=")
        path = f"statusMap[{number}]"
        if not equals or not column_key(word):
            raise invalid(path, "INVALID_FORMAT", "must be WORD=STATUS, such as active=CONFIRMED")
        status = STATUSES.get(name.strip().lower())
        if status is None:
            names = ", ".join(status.name for status in Status)
            raise invalid(path, "INVALID_VALUE", f"must map the word to one of {names}")
        words[column_key(word)] = status
    return words
