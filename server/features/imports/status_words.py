"""Maps the words that services use for the status of a person, by column key."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from ...rpc.errors import invalid
from ...values.texts import LOST, caseless_key, column_key, repaired_encoding, word_key
from ..subscribers.fields import Status
from ..subscribers.rules import OPTED_OUT
from .consent_columns import StateKind

STATUSES = {status.name.lower(): status for status in Status}
# Known without a preset, which can give them another meaning, as are those of _UNAMBIGUOUS.
_COMMON = {
    Status.CONFIRMED: "active subscribed subscriber enabled optedin optin doubleoptin verified"
    " aktiv abonniert bestätigt actif abonné activo suscrito attivo iscritto",
    Status.UNCONFIRMED: "pending nonsubscribed notconfirmed notactivated unverified"
    " doubleoptinpending",
    # Those that begin with "by" are delivery statuses of Mailman.
    Status.UNSUBSCRIBED: "optout byuser bymoderator cancelled canceled inactive disabled removed"
    " deleted archived"
    " blocked suppressed neversubscribed notsubscribed noconsent inaktiv gesperrt widerrufen"
    " gelöscht inactivo baja cancelado desinscrito removido removida bloqueado inattivo"
    " geblokkeerd zablokowany odhlášen avmeldt afmeldt unsubscribedfromall nontransactional"
    " zrezygnował zrezygnowała avanmäld frameldt 退会 退会済み 수신거부",
    Status.BOUNCED: "cleaned bounce bybounces undeliverable invalid invalidemail unzustellbar"
    " rebotado",
    Status.COMPLAINED: "complaint spam junk abuse",
}
# Words that state an opt-out in any column, by column key. The others have further meanings, such
# as an order that was canceled.
_UNAMBIGUOUS = {
    Status.UNSUBSCRIBED: "unsubscribed unsubscribe unsub optedout donotmail donotemail donotcontact"
    " usersuppressed blocklisted blacklisted abgemeldet abbestellt ausgetragen désabonné désabonnée"
    " desabonne desabonnee désinscrit désinscrite desinscrit desinscrite desuscrito desuscrita"
    " desuscripto desuscripta dadodebaja dadadebaja disiscritto disiscritta afgemeld"
    " uitgeschreven descadastrado descadastrada wypisany wypisana avregistrerad"
    " userunsubscribed listunsubscribed listunsubscribe linkunsubscribe groupunsubscribe"
    " globallyunsubscribed leiratkozott dezabonat dezabonată aboneliktençıktı"
    " 配信停止 配信解除 退订 已退订 取消订阅 구독취소 отписан отписана отписался отписалась",
    Status.BOUNCED: "hardbounce hardbounces hardbounced emailbounced",
    Status.COMPLAINED: "complained spamcomplaint spamreport reportedspam markedasspam",
}
_STATED = {word: status for status, words in _UNAMBIGUOUS.items() for word in words.split()}
COMMON_WORDS = (
    _STATED
    | STATUSES
    | {word: status for status, words in _COMMON.items() for word in words.split()}
)
OPT_OUT_WORDS = {word: status for word, status in COMMON_WORDS.items() if status in OPTED_OUT}
# Words that also state something else in a column such as State, such as of an order.
_AMBIGUOUS = (
    "cancelled canceled cancelado disabled inactive archived invalid blocked removed junk abuse"
    " inaktiv inactivo inattivo gesperrt widerrufen bloqueado geblokkeerd zablokowany"
)
_OF_STATES = {
    **{word: each for word, each in OPT_OUT_WORDS.items() if word not in _AMBIGUOUS.split()},
    **dict.fromkeys(("unconfirmed", "notconfirmed", "notactivated"), Status.UNCONFIRMED),
}
_OF_PERSONS = "blocked removed gesperrt bloqueado geblokkeerd zablokowany"
_OF_EVENTS = "failed permanentfail permanentfailure dropped outofband invalid"
_BY_KIND = {
    StateKind.PERSON: _OF_STATES | dict.fromkeys(_OF_PERSONS.split(), Status.UNSUBSCRIBED),
    StateKind.EVENT: _OF_STATES | dict.fromkeys(_OF_EVENTS.split(), Status.BOUNCED),
    StateKind.OTHER: _OF_STATES,
}
_MAX_WORD_LENGTH = 20
# A word with more lost characters, or fewer others, can be any word.
_MAX_LOST, _MIN_LENGTH = 3, 5
# The word that a longer text begins with, such as "Unsubscribed by an admin".
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)(.*)", re.DOTALL)
# What follows if that word states no opt-out from mail, such as "(SMS)" or "= false".
_NOT_FROM_MAIL = re.compile(
    r"\W*(?:from\W+)?(?:no|not|never|false|0|nein|nicht|non|não|nie|nee"
    r"|ip|sms|whatsapp|push|print|catalog(?:ue)?s?|kataloge?)\W*"
)
_MAX_LENGTH_NOT_FROM_MAIL = 40
STATED_HINT = (
    "This status counts. Map the column to status or optedOut. If it says nothing about permission"
    " to send mail, map it to a custom field, or list it in ignoreColumns."
)
JSON_STATED_HINT = (
    "This status counts. If the custom field says nothing about permission to send mail, list it in"
    " ignoreColumns."
)
TAG_HINT = (
    "This status counts. If such tags say nothing about permission to send mail, map the column to"
    " tags, such as columnMap=Tags=tags."
)
JSON_TAG_HINT = (
    "This status counts. If such tags say nothing about permission to send mail, rename them. For"
    " an export of Roster, set preset=ROSTER."
)


def _starts(word: str) -> set[str]:
    """Returns the first two characters of all forms of a word, also in full width."""
    first, second = word[0], {word[1], unicodedata.normalize("NFD", word[1])[0]}
    starts = {a + b for a in (first, first.upper()) for c in second for b in (c, c.upper())}
    # Of UTF-8 that was read in another encoding.
    encoded = {each.encode() for each in starts if not each.isascii()}
    starts |= {each.decode(name, "ignore")[:2] for each in encoded for name in _ENCODINGS}
    return starts | {each.translate(_FULL_WIDTH) for each in starts}


_ENCODINGS = ("cp1252", "latin-1", "mac_roman", "cp1251")
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_STARTS = frozenset[str]().union(*map(_starts, _STATED))


def status_of(words: Mapping[str, Status], text: str) -> Status | None:
    """Returns the status of a text in a column of statuses, or None if it is not known.

    An opt-out can have punctuation around it, or be the first word of the text.
    """
    status = words.get(column_key(text))
    if status is None and (status := _found(words, _wide_word_key(text))) not in OPTED_OUT:
        status = _status_at_start(text)
    return status


def status_in(text: str, kind: StateKind | None = None) -> Status | None:
    """Returns the status that a text states in any column: an opt-out, or None.

    In a column of states of a `kind`, further words count, the first one of a text does, and a word
    can state UNCONFIRMED, which is no opt-out.
    """
    if kind is not None:
        return _found(_BY_KIND[kind], _word(text)) or _status_at_start(text)
    # Column keys of all cells of 20 such columns take longer than the rest of their row.
    start = text[:2]
    if len(text) > _MAX_WORD_LENGTH or (start not in _STARTS and start.isalnum()):
        return None
    return _found(_STATED, _word(text))


def status_in_tag(tag: str) -> Status | None:
    """Returns UNSUBSCRIBED if a tag states an opt-out. A complaint can be one to support."""
    is_opt_out = status_in(tag) is not None and _word(tag) != "complained"
    return Status.UNSUBSCRIBED if is_opt_out else None


def _status_at_start(text: str) -> Status | None:
    """Returns the opt-out that a text begins with, such as "Unsubscribed by an admin", or None."""
    found = _FIRST_WORD.match(repaired_encoding(text))
    if found is None or _STATED.get(_word(found[1])) is not Status.UNSUBSCRIBED:
        return None
    is_short = len(found[2]) <= _MAX_LENGTH_NOT_FROM_MAIL
    is_other = is_short and _NOT_FROM_MAIL.fullmatch(caseless_key(found[2]))
    return None if is_other else Status.UNSUBSCRIBED


def _word(text: str) -> str:
    return _wide_word_key(text) if len(text) <= _MAX_WORD_LENGTH else ""


def _wide_word_key(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", repaired_encoding(text))
    return word_key(text)


def _found(words: Mapping[str, Status], word: str) -> Status | None:
    """Returns the status of a word, in which some characters can be lost."""
    status = words.get(word)
    if status is not None or not _MIN_LENGTH <= len(word) <= _MAX_WORD_LENGTH:
        return status
    word = word.replace("?", LOST)
    if not 0 < word.count(LOST) <= min(_MAX_LOST, len(word) // 2):
        return None
    # One at the end counts as punctuation.
    lengths = (len(word), len(word) + 1)
    return next((words[each] for each in words if len(each) in lengths and _fits(word, each)), None)


def _fits(word: str, other: str) -> bool:
    return all(a in (b, LOST) for a, b in zip(word, other, strict=False))


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
