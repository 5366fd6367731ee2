"""Recognizes columns that state consent by their names.

A column of another service that contains opt-outs must not be ignored, or stored as a custom field.
The names are those that shops, CRMs and mail services document, and the words in such names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

from ...values.texts import LOST, cached_if_short, caseless_key

# Compared with column keys, which have no case, whitespace, hyphens or underscores.
_WORDS = re.compile(
    r"unsub|resubscri|(?<!lapt)(?<!deskt)(?<!ad)opt(?:ed)?(?:in|out)|consent|permission|gdpr|dsgvo"
    r"|(?<!date)(?<!time)(?<!last)subscribed(?!at|on|date|time|since)"
    r"|do(?:not|nt)(?:e?mail|bulke?mail|contact|market|send|allow)"
    r"|lgpd|rgpd|kvkk|suppress|blacklist|blocklist|denylist|bounce|spam|complain|undeliverable"
    r"|quarantin|(?:legal|lawful)basis"
    r"|(?:accept|receive|allow|want|agreed?|^can|^may)s?(?:to)?"
    r"(?:e?mail|sms|marketing|news|promo|offers|updates|contact)"
    # German, French, Spanish, Italian, Dutch, Portuguese and others.
    r"|einwilligung|werbeerlaubnis|abgemeldet|abmeld|austrag|d[eé]sabonn|d[eé]sinscri|suscri"
    r"|iscritt|disiscri|afgemeld|uitgeschreven|descadastr|inscrit|bloquead|afmeld|abbestell"
    # Questions
    r"|sendme\w{0,40}(?:newsletter|e?mail)|(?:darf|d(?:ü|ue)rfen)(?:ich|wir)\w{0,40}(?:mail|newsletter)"
    r"|(?:souhaite|voule)zvousrecevoir|mogenw(?:ij|e)\w{0,40}mail"
    r"|widerruf|werbesperre|sperrvermerk|sperrliste|marketingerlaubt|fechadebaja|odhl[aá][sš]|wypis"
)
# Words that also occur in questions and other long names, so that only short names count.
_SHORT_NAME = 40
_WORDS_OF_SHORT_NAMES = re.compile(
    r"newsletter(?!name|source|id|title)|mailinglist|blocked|cleaned|mailable|contactable"
    r"|(?:e?mail|contact|member|mailing|marketing|newsletter|subscri(?:ber|ption)|list|global)s?"
    r"(?:marketing|subscription|subscriber)?(?:status|preferences?)"
    r"|subscri(?:ber|ption)state|status\W?(?:e?mail(?!sent)|(?<!leadstatus)contact(?!perso)|marketing)"
    r"|emailmarketing|excluded|contactby\w*mail"
    r"|e?mails?(?:ok|okay|allowed|enabled|disabled|permitted|active|notifications?)"
    r"|emailsubscri|emailstate|emailaddressstatus|comm(?:unication)?pref|abuse|junk|deliverab"
    r"|deactivat|withdr[ae]w|revoke|revocation|objection|unscub|optdout|clean(?:date|time)"
    r"|do[’']?n[’']?t(?:e?mail|contact|market|send)|stope?mail|mailstop|mailererror|undelivered"
    r"|(?:bad|wrong|dead|failed|returned)e?mail|e?mailfailed|sende?mails?"
    r"|(?:^no|^request(?:s|ed)?no|never)(?:e?mail|marketing|contact|promo)|promo(?:tional)?e?mail"
    r"|e?mailopt(?:status)?$"
    r"|ok(?:ay)?to(?:e?mail|contact)|(?:can|may)(?:be|we)(?:contact|e?mail)|invalide?mail"
    r"|(?:marketing|contact)(?:allowed|emails?|ok)|(?:^|e?mail|mautic)dn[cdm](?:e?mail|reason|flag|$)"
    r"|(?<![cn])lockremov|(?:remov|delet|block|exclu|reject)\w*reason|reasonfor(?:remov|delet|block|exclu)"
    r"|suspended|donotdisturb|notinterested|^forgotten|delet(?:e|ion)request|e?mailfrequency"
    r"|smtp(?:code|error|status)|diagnosticcode|e?maildelivery(?:status|state)|delivery(?:fail|error)"
    r"|(?:valid|verific)ation(?:status|result)|e?mail(?:verified|validity|validation|alerts)"
    # German
    r"|ausgetragen|(?:^|mail|werbe)sperr|gesperrt|geblockt|robinson|widerspr|zustimm"
    r"|zugestimmt|werbung"
    r"|(?:kontakt|anmelde|adress)\w*status|zustellfehler|fehlerhaft|r(?:ü|ue)ckl(?:ä|ae)ufer"
    r"|k(?:ü|ue)ndig|erlaubt|erlaubnis|unzustellbar|schwarzeliste|kontaktiertwerden"
    r"|nicht(?:mehr)?(?:kontakt|anschreib|anmail|mailen)|keine?e?mails?|(?:mail|kontakt)verbot"
    r"|(?:mail|post|infos?)erw(?:ü|ue)nscht"
    # French
    r"|d[eé]sabon|d[eé]sinscr|nep(?:as|lus)(?:contact|envoy)|(?:^|a)refuse(?:r|d|$)|accepte(?!d)|^statutd|bloqu[eé]e?s?$(?<!bloque)"
    r"|d[eé]sactiv|rebond|listenoire|plainte|npai|opposition|r[eé]sili|supprim"
    r"|nesouhaite|refus(?:e?mail|courriel)|(?:courriel|e?mail)s?autoris|infolettre"
    r"|recevoir\w*(?:offres|mails|courriels)"
    # Spanish and Portuguese
    r"|(?:^|de|fecha)baja(?:$|news|fecha)|debaja|cancel(?:ou|ad[oa]|amento)|acepta|aceita|lopd|queja"
    r"|n(?:o|[aã]o)(?:enviar|contactar|contatar)|listan[eg][gr]r?a|rebot|bolet[ií]n|autoriz[ao](?!o?usode(?:la)?image[mn]s?$)|recib[ei]|recebe"
    r"|nomolestar|n[aã]operturbe|status(?:da|para)?(?:assinatura|comunica[cç])"
    r"|rejeitad|estado(?:de|do)(?:l?contact|contat|suscri|correo|e?mail)"
    r"|(?<!data)(?<!datade)inscri[cç][aã]o|removid|desinscri|desativad|desactivad"
    # Italian
    r"|(?<!data)(?<!datadi)iscrizion|consenso|cancella[tz]|noncontatt|bloccat|rimoss|disattivat"
    r"|revoca|privacymarketing|rimbalz|(?<!preventivo)accett[ao](?!z)(?<!dataaccetto)"
    r"|(?<!numero)autorizzazion"
    # Dutch
    r"|uitschrij[fv]|nieuwsbrief|toestemming|geene?mail|niet(?:e?mail|benader|contact)"
    r"|geblokkeerd|opgezegd|bezwaar|zwartelijst|geabonneerd|mailtoegestaan"
    # Swedish, Norwegian, Danish and Finnish
    r"|avregistr|avprenum|prenumererar|avslutadpren|avanm[aä]l|samty[ck]ke|sp[aä]rrad|reklamsp"
    r"|ny(?:he[dt]s|tt)brev|avb[oö]jt|utskick|frameld|avmeld|meldtav|reservert|f[aå]rej"
    r"|peruttu|peruutettu|uutiskirje|markkinointi|suostumus"
    # Polish, Czech, Slovak, Croatian and Slovenian
    r"|rezygn|^zgod[ay]|subskryp|zablokowan|usuni[eę]t|sprzeciw|niewysy[lł]a|odwo[lł]an[io]e?zgod"
    r"|subskrybuj|niekontakt"
    r"|souhlas|s[uú]hlas|^odb[eě]r|odjav|pretplat|suglasnost|privola|soglasje"
    # Hungarian, Romanian, Turkish, Vietnamese and Indonesian
    r"|leiratkoz|feliratkoz|h[ií]rlev[eé]l|hozz[aá]j[aá]rul|dezabon|abonat|consim[tțţ]"
    r"|aboneli[gğk]|ticariileti|^i\u0307?zin|(?:posta|pazarlama|mail)izni|b[uü]lten|h[uủ]y[dđ][aă]ngk[yý]|langganan"
    # Greek, Russian and Ukrainian
    r"|διαγρ[αά]φ|συγκατ[αά]θεση|отпис|відпис|подпис|согласи|рассылк|розсилк|ч[её]рныйсписок"
    # Arabic, Hebrew and Thai
    r"|الاشتراك|הוסר|הסרה|דיוור|ยกเลิก"
    # Japanese, Chinese and Korean
    r"|配信|購読|メルマガ|メールマガジン|メール受信|退会|解除|オプト(?:イン|アウト)|同意|停止|拒否|dm可否|エラー"
    r"|ニュースレター|メール許可|不達|案内メール|メール受け取り|^受信$"
    r"|退[订訂]|取消[订訂]|[订訂][阅閱]|黑名[单單]|拒收|수신|구독|동의"
)
# Permissions for another channel than mail.
_OTHER_CHANNELS = re.compile(r"sms|whatsapp|push|(?:tele)?phone|telefon|directmail|post(?:al)?mail")
_NAMES = re.compile(
    r"(?:is|was)?(?:active|inactive|enabled|disabled|removed|deleted|archived|cancell?ed|banned"
    r"|objected|opposed|suspended|silenced|unreachable|unconfirmed|notconfirmed|erased"
    r"|anonymi[sz]ed|purged|trashed|softdeleted|signedoff|unregistered|unfollowed)"
    r"(?:at|on|date|time)?\??|left(?:at|on|date)|date(?:removed|left|deleted|stopped)|rejectlist"
    r"|(?:remover?|removal|delete|deletion|exclude|exclusion|trash|signoff|unregister|unfollow)"
    r"(?:at|on|date|list)?"
    r"|(?:non)?transactional(?:only)?|dnd|fbl|feedbackloop"
    r"|(?:awaiting|pending)confirmation|subscribedtype|subscribetype"
    r"|(?:confirmation|zb)status|marketingstate|topicpreferences?"
    r"|marketing|stop|stopstatus|stoptime|statut|sub(?:scriber)?status|userstatus|sendingstatus|baja"
    r"|e?mailinvalid|invalid(?:e?mail)?|e?mailvalid|mailingok|mailme|dnc|dnm|opted|optin\?"
    r"|subscri(?:be|btion)|news&offers|doi(?:status)?"
    # The words for active, deleted, subscribed and status in other languages
    r"|(?:in)?aktiv|(?:de)?aktiviert|angemeldet|gel(?:ö|oe)scht(?:am)?|storniert(?:am)?|(?:in)?actif"
    r"|abonn[eé]e?|accord|rejet[eé]?|(?:in)?activo|(?:in)?ativo|(?:in)?attivo|(?:in)?actief"
    r"|aangemeld|ingeschreven|abonniert|refus|zapisan[ay]|rodo|i\u0307?ptal|onay|zgoda|(?:nie)?aktywny|situa[cç][aã]o|acord|abone|i\u0307?ys(?:durumu)?|отказ|згода"
    r"|ステータス|状態|状态|狀態|상태|статус|stav|κατάσταση|الحالة"
)

# Names of columns of addresses that also could be flags.
_ADDRESSES = re.compile(r"(?:contact|marketing|newsletter)e?mails?(?:address)?")
# Names in lists of opt-outs. They do not count if the account has a custom field with the name.
_GENERIC = re.compile(
    r"reasons?|(?:is)?(?:pending|valid|failed|returned)(?:at|on|date)?|errors?(?:code|message|count)?"
    r"|preferences?|mailings?|mailshots?|failure(?:reason)?|validation|subscriptions?"
    r"|promotions?|news|offers|updates|disposition"
    r"|(?:registration|record|current|present|actual|new|latest|last)status"
    r"|status\W?(?:id|code|text|name|label|value|current|actual|new|\d+)\W?"
    r"|aktuellerstatus|statutactuel|estadoactual|statoattuale|statusatual|huidigestatus"
    r"|(?:is|was)?(?:rejected|declined|refused|denied|paused|muted|frozen|lapsed|resigned|quit"
    r"|stopped|activated|snoozed|deceased|departed|exited)(?:at|on|date|time)?\??"
    r"|onhold|abo(?:nnement)?(?:status)?|abonnent|austritt(?:sdatum|am)?|abbonato|assina(?:nte|tura)"
    r"|fecha(?:de)?cancelaci[oó]n|[cç][ıi]k[ıi][sş]tarihi|解約日?|お知らせ"
    r"|left|(?:cancel(?:lation)?|exit|blocks?|reject)(?:at|on|date)?"
)
# Names of columns that state whether a person confirmed. `no` is not an opt-out.
_CONFIRMATIONS = re.compile(
    r"(?:e?mail|doi|doubleoptin)?(?:confirmed|confirmation|verified)(?:at|on|date|time)?\??"
    r"|best(?:ä|ae)tigt(?:am)?"
)
# Names with several meanings, such as the state of an address: the column is accepted, and only
# its status words count. The groups are kinds.
_STATES = re.compile(
    r"(?P<person>(?:contact|user|list|member|subscriber|recipient)?(?:state|type)"
    r"|estado|stato|etat|état|zustand|stan|tila|toestand)"
    r"|(?P<event>(?:last|e?mail)?event(?:type|name)?|sttext)"
    r"|(?:contact|user|list|member|e?mail)?result|subscriptiontype|delivery(?:status|state)"
    r"|(?:return|drop)reason"
)
# Names of columns with several tags, of which one can be a word for an opt-out.
_TAGS = re.compile(
    r"(?:contact|user|member|customer|subscriber|person|e?mail|mailing)?s?"
    r"(?:tags?|labels?|groups?|segments?|lists?|categor(?:y|ies)|interests?|audiences?"
    r"|gruppen?|listen?|segmente|kategorien?|schlagw(?:ö|oe)rter|stichw(?:ö|oe)rter"
    r"|etiquetas?|[eé]tiquettes?|etichett[ae]|grupos?|groupes?|grupp[oi]|listas?|listes?)"
)

# A question mark in a word, which some programs write for a letter, and letters that it can mean.
_LOST = re.compile(r"(?<=\w)\?(?=\w)")
_LOST_LETTERS = "éöüãí"
_IGNORED = re.compile(r"[._]|(?<=\w)['’](?=s)")

# The columns of lists of opt-outs that have no other sign of it, as they are spelled in the exports
# of SendGrid and Mailgun. The first one is the date of the opt-out.
_LISTS = [
    ["created", "email"],
    ["created", "email", "ip"],
    ["created_at", "address"],
    ["created_at", "address", "count"],
    ["created_at", "address", "tag"],
    ["created_at", "address", "tags"],
]

# Names of the files that services export, such as suppression_bounces.csv, and of own lists. These
# are words of the name, not a part of one, such as in "rebajas", and none follows a "no".
_LETTERS = r"[^\W\d_]"
_FILES = re.compile(
    rf"(?<!{_LETTERS})(?P<no>(?:not?|non|anti|without|ohne|sans|sin|except|excl|excluding)[\W_]+)?"
    r"(?:(?:e?mail|newsletter|hard|soft|global)s?)?"
    rf"(?:(?:unsub|suppress|complain|abgemeldet|abmeld|d[eé]sinscri|d[eé]sabonn|desuscri|disiscri"
    rf"|afgemeld|afmeld|uitgeschreven|descadastr|wypisan|odhl[aá][sš]|avregistr|отпис){_LETTERS}*"
    r"|opt(?:ed)?[\W_]*outs?|bounce[ds]?|spam(?:mers?|reports?|complaints?)?|bajas"
    r"|(?:black|block|deny)[\W_]*list(?:s|ed)?|do[\W_]*not[\W_]*(?:e?mail|contact|send)"
    rf"|invalid[\W_]*e?mails?|austragung(?:en)?|sperrlisten?)(?!{_LETTERS})"
    r"|退订|配信停止|수신거부"
)
# Names of flags, and of times that only people who opted out have.
_OPT_INS = re.compile(
    r"(?:is)?(?:e?mail)?(?:subscribed|opt(?:ed)?in)(?:to(?:e?mails?|newsletters?|marketing\w*))?"
    r"|(?:e?mail|marketing)consent|accepts(?:e?mail)?marketing|newsletter"
)
_OPT_OUTS = re.compile(
    r"(?:is|has|was)?(?:e?mail)?(?:global(?:ly)?)?(?:unsubscribed?|opt(?:ed)?out"
    r"|donot(?:e?mail|contact)|suppressed|(?:hard)?bounced|complained)(?:from\w+)?(?P<time>at|on|date)?"
)
# Names of what has the status of a person or of an address.
_MAIL = re.compile(
    r"^(?:marketing)?lists?$|member(?!ship)|subscriber|contact|recipient|newsletter|mail|consent|audience"
)
# The start of a word in a name such as GlobalUnsubscribes.csv.
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class StateKind(StrEnum):
    """Kinds of states in a column."""

    PERSON = "person"
    EVENT = "event"
    OTHER = "other"


def is_opt_in_flag(column_key: str) -> bool:
    """Whether a flag, given by its `column_key`, states that a person may be mailed."""
    return _OPT_INS.fullmatch(_normalized(column_key)) is not None


def is_opt_out_flag(column_key: str) -> bool:
    """Whether a flag, given by its `column_key`, states an opt-out."""
    found = _OPT_OUTS.fullmatch(_normalized(column_key))
    return found is not None and found["time"] is None


def is_opt_out_time(column_key: str) -> bool:
    """Whether only people who opted out have a time with a name, given by its `column_key`."""
    found = _OPT_OUTS.fullmatch(_normalized(column_key))
    return found is not None and found["time"] is not None


def is_about_mail(column_key: str) -> bool:
    """Whether a member of an object is about the mail to a person, given by its `column_key`."""
    return _MAIL.search(column_key) is not None


def names_opt_outs(name: str) -> bool:
    """Whether a file seems to list people who opted out, by its name without folders."""
    words = caseless_key(_CAPITAL.sub(" ", name))
    return any(found["no"] is None for found in _FILES.finditer(words))


def date_of_opt_outs(cells: Sequence[str]) -> int | None:
    """Returns the position of the dates in a header of a list of opt-outs; None for another one."""
    names = next((names for names in _LISTS if sorted(names) == sorted(cells)), None)
    return None if names is None else cells.index(names[0])


def is_other_channel(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, is about another channel than mail."""
    others, count = _OTHER_CHANNELS.subn("", column_key)
    return count > 0 and "mail" not in others and "newsletter" not in others


def is_generic(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, states consent unless it has a custom field."""
    is_common = _GENERIC.fullmatch(_normalized(column_key)) is not None
    return is_common or states_confirmation(column_key)


def states_confirmation(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, looks as if it said who has confirmed."""
    return _CONFIRMATIONS.fullmatch(_normalized(column_key)) is not None


def can_be_address(column_key: str) -> bool:
    """Whether a column that looks like consent, given by its `column_key`, can have addresses."""
    return _ADDRESSES.fullmatch(_normalized(column_key)) is not None


def state_kind(column_key: str) -> StateKind | None:
    """Returns the kind of the states in a column, given by its `column_key`; None if it has none.

    They can be words for the status of a person.
    """
    found = _STATES.fullmatch(_normalized(column_key))
    return None if found is None else StateKind(found.lastgroup or StateKind.OTHER)


def can_list_tags(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, can have tags in each cell."""
    return _TAGS.fullmatch(_normalized(column_key)) is not None


def states_consent(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, looks as if it stated consent."""
    name = _normalized(column_key)
    if len(name) <= _SHORT_NAME and LOST in (damaged := _LOST.sub(LOST, name)):
        return any(states_consent(damaged.replace(LOST, letter)) for letter in _LOST_LETTERS)
    if is_other_channel(name):
        return False
    return (
        _NAMES.fullmatch(name) is not None
        or is_generic(name)
        or _WORDS.search(name) is not None
        or (len(name) <= _SHORT_NAME and _WORDS_OF_SHORT_NAMES.search(name) is not None)
    )


@cached_if_short
def _normalized(column_key: str) -> str:
    """Returns a name with letters of common width, without dots and apostrophes of a possessive."""
    return _IGNORED.sub("", unicodedata.normalize("NFKC", column_key))
