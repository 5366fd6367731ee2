"""Recognizes columns that state consent by their names.

A column of another service that contains opt-outs must not be ignored, or stored as a custom field.
The names are those that shops, CRMs and mail services document, and the words in such names.
"""

from __future__ import annotations

import re

# Compared with column keys, which have no case, whitespace, hyphens or underscores.
_WORDS = re.compile(
    r"unsub|resubscri|(?<!lapt)(?<!deskt)(?<!ad)opt(?:ed)?(?:in|out)|consent|permission|gdpr|dsgvo"
    r"|(?<!date)(?<!time)(?<!last)subscribed(?!at|on|date|time|since)"
    r"|do(?:not|nt)(?:e?mail|bulke?mail|contact|market|send|allow)"
    r"|lgpd|rgpd|suppress|blacklist|blocklist|bounce|spam|complain|undeliverable"
    r"|(?:accept|receive|allow|want|agree|^can|^may)s?(?:to)?"
    r"(?:e?mail|sms|marketing|news|promo|offers|updates|contact)"
    # German, French, Spanish, Italian, Dutch, Portuguese and others.
    r"|einwilligung|werbeerlaubnis|abgemeldet|abmeld|austrag|d[eé]sabonn|d[eé]sinscri|suscri"
    r"|iscritt|disiscri|afgemeld|uitgeschreven|descadastr|inscrit|bloquead|afmeld|abbestell"
    r"|widerruf|werbesperre|sperrvermerk|sperrliste|marketingerlaubt|fechadebaja|odhl[aá][sš]|wypis"
)
# Words that also occur in questions and other long names, so that only short names count.
_SHORT_NAME = 40
_WORDS_OF_SHORT_NAMES = re.compile(
    r"newsletter(?!name|source|id|title)|mailinglist|blocked|cleaned|mailable|contactable"
    r"|(?:e?mail|contact|member|mailing|marketing|newsletter|subscri(?:ber|ption)|list|global)"
    r"(?:marketing|subscription|subscriber)?(?:status|preferences?)"
    r"|subscri(?:ber|ption)state|emailmarketing|excluded|contactby\w*mail"
    r"|e?mails?(?:ok|okay|allowed|enabled|disabled|permitted|active|notifications?)"
)
# Permissions for another channel than mail.
_OTHER_CHANNELS = re.compile(r"sms|whatsapp|push|phone|directmail|post(?:al)?mail")
_NAMES = re.compile(
    r"(?:is|was)?(?:active|inactive|enabled|disabled|removed|deleted|archived|cancell?ed|banned)"
    r"|(?:deleted|removed|archived|cancell?ed|left|inactive)(?:at|on|date)|date(?:removed|left)"
    r"|marketing|stop|stopstatus|stoptime|statut|sub(?:scriber)?status|baja"
    r"|e?mailinvalid|invalide?mail|e?mailvalid|mailingok|dnc|dnm"
)


def states_consent(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, looks as if it stated consent."""
    others, count = _OTHER_CHANNELS.subn("", column_key)
    if count and "mail" not in others:
        return False
    return (
        _NAMES.fullmatch(column_key) is not None
        or _WORDS.search(column_key) is not None
        or (len(column_key) <= _SHORT_NAME and _WORDS_OF_SHORT_NAMES.search(column_key) is not None)
    )
