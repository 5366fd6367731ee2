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
    r"|lgpd|rgpd|suppress|blacklist|blocklist|denylist|bounce|spam|complain|undeliverable"
    r"|quarantin|(?:legal|lawful)basis"
    r"|(?:accept|receive|allow|want|agreed?|^can|^may)s?(?:to)?"
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
    r"|emailsubscri|emailstate|emailaddressstatus|comm(?:unication)?pref|abuse|junk|deliverab"
    r"|deactivat|withdr[ae]w|revoke|revocation|objection|unscub|optdout|clean(?:date|time)"
    r"|do[’']?n[’']?t(?:e?mail|contact|market|send)|stope?mail|mailstop|mailererror|undelivered"
    r"|(?:bad|wrong|dead|failed|returned)e?mail|e?mailfailed|sende?mails?"
    r"|(?:^no|never)(?:e?mail|marketing|contact|promo)|promo(?:tional)?e?mail"
    r"|ok(?:ay)?to(?:e?mail|contact)|(?:can|may)(?:be|we)(?:contact|e?mail)|invalide?mail"
    r"|(?:marketing|contact)(?:allowed|emails?|ok)|(?:^|e?mail|mautic)dn[cdm](?:e?mail|reason|flag|$)"
    r"|(?:remov|delet|block|exclu|reject|return|drop)\w*reason|reasonfor(?:remov|delet|block|exclu)"
    r"|suspended|donotdisturb|notinterested|forgotten|delet(?:e|ion)request|e?mailfrequency"
    r"|smtp(?:code|error|status)|diagnostic|delivery?(?:status|state|fail|error)"
    r"|(?:valid|verific)ation(?:status|result)|e?mail(?:verified|validity|validation|alerts)"
    # German
    r"|ausgetragen|(?:^|mail|werbe)sperr|gesperrt|robinson|widerspr|zustimm|zugestimmt|werbung"
    r"|(?:kontakt|anmelde|adress)\w*status|zustellfehler|fehlerhaft|r(?:ü|ue)ckl(?:ä|ae)ufer"
    r"|k(?:ü|ue)ndig|erlaubt|erlaubnis|unzustellbar|schwarzeliste|kontaktiertwerden"
    r"|nicht(?:mehr)?(?:kontakt|anschreib|anmail|mailen)"
    # French
    r"|d[eé]sabon|d[eé]sinscr|nep(?:as|lus)(?:contact|envoy)|(?:^|a)refuse(?:r|d|$)|accepte(?!d)|^statutd|bloqu[eé]e?s?$(?<!bloque)"
    r"|d[eé]sactiv|rebond|listenoire|plainte|npai|opposition|r[eé]sili|supprim"
    # Spanish and Portuguese
    r"|(?:^|de|fecha)baja(?:$|news|fecha)|debaja|cancel(?:ou|ad[oa]|amento)|acepta|aceita|lopd|queja"
    r"|n(?:o|[aã]o)(?:enviar|contactar|contatar)|listan[eg][gr]r?a|rebot|bolet[ií]n|autoriza|recib[ei]|recebe"
    r"|rejeitad|estado(?:de|do)(?:l?contact|contat|suscri|correo|e?mail)"
    r"|(?<!data)(?<!datade)inscri[cç][aã]o|removid|desinscri|desativad|desactivad"
    # Italian
    r"|(?<!data)(?<!datadi)iscrizion|consenso|cancella[tz]|noncontatt|bloccat|rimoss|disattivat"
    r"|revoca|privacymarketing|rimbalz"
    # Dutch
    r"|uitschrij[fv]|nieuwsbrief|toestemming|geene?mail|niet(?:e?mail|benader|contact)"
    r"|geblokkeerd|opgezegd|bezwaar|zwartelijst"
    # Swedish, Norwegian, Danish and Finnish
    r"|avregistr|avprenum|prenumererar|avslutadpren|avanm[aä]l|samty[ck]ke|sp[aä]rrad|reklamsp"
    r"|ny(?:he[dt]s|tt)brev|avb[oö]jt|utskick|frameld|avmeld|meldtav|reservert|f[aå]rej"
    r"|peruttu|peruutettu|uutiskirje|markkinointi|suostumus"
    # Polish, Czech, Slovak, Croatian and Slovenian
    r"|rezygn|^zgod[ay]|subskryp|zablokowan|usuni[eę]t|sprzeciw|niewysy[lł]a|odwo[lł]aniezgod"
    r"|souhlas|s[uú]hlas|^odb[eě]r|odjav|pretplat|suglasnost|privola|soglasje"
    # Hungarian, Romanian, Turkish, Vietnamese and Indonesian
    r"|leiratkoz|feliratkoz|h[ií]rlev[eé]l|hozz[aá]j[aá]rul|dezabon|abonat|consim[tțţ]"
    r"|abonelik|ticariileti|^i\u0307?zin|h[uủ]y[dđ][aă]ngk[yý]|langganan"
    # Greek, Russian and Ukrainian
    r"|διαγρ[αά]φ|συγκατ[αά]θεση|отпис|відпис|подпис|согласи|рассылк|розсилк|ч[её]рныйсписок"
    # Arabic, Hebrew and Thai
    r"|الاشتراك|הוסר|הסרה|דיוור|ยกเลิก"
    # Japanese, Chinese and Korean
    r"|配信|購読|メルマガ|メールマガジン|メール受信|退会|解除|オプト(?:イン|アウト)|同意|停止|拒否|dm可否|エラー"
    r"|退[订訂]|取消[订訂]|[订訂][阅閱]|黑名[单單]|拒收|수신|구독|동의"
)
# Permissions for another channel than mail.
_OTHER_CHANNELS = re.compile(r"sms|whatsapp|push|(?:tele)?phone|telefon|directmail|post(?:al)?mail")
_NAMES = re.compile(
    r"(?:is|was)?(?:active|inactive|enabled|disabled|removed|deleted|archived|cancell?ed|banned"
    r"|rejected|declined|refused|denied|objected|opposed|suspended|paused|muted|silenced|frozen"
    r"|lapsed|resigned|quit|stopped|unreachable|unconfirmed|notconfirmed|activated|snoozed"
    r"|erased|anonymi[sz]ed|deceased|departed|exited|purged|trashed|softdeleted|signedoff"
    r"|unregistered|unfollowed)(?:at|on|date|time)?\??"
    r"|(?:left|remover?|removal|delete|deletion|cancel(?:lation)?|exclude|exclusion|exit|block|blocks"
    r"|reject|trash|signoff|unregister|unfollow)(?:at|on|date|list)?|date(?:removed|left|deleted)"
    r"|(?:non)?transactional(?:only)?|dnd|fbl|feedbackloop"
    r"|(?:awaiting|pending)confirmation|subscribedtype|subscribetype"
    r"|(?:confirmation|registration|record|zb)status|status(?:id|code)|marketingstate"
    r"|topicpreferences?|disposition"
    r"|marketing|stop|stopstatus|stoptime|statut|sub(?:scriber)?status|userstatus|sendingstatus|baja"
    r"|e?mailinvalid|invalid(?:e?mail)?|e?mailvalid|mailingok|mailme|dnc|dnm|opted|optin\?"
    r"|subscri(?:be|ptions?|btion)|promotions?|news|offers|updates|news&offers|doi(?:status)?"
    # The words for active, deleted, subscribed and status in other languages
    r"|(?:in)?aktiv|(?:de)?aktiviert|angemeldet|gel(?:ö|oe)scht(?:am)?|storniert(?:am)?|(?:in)?actif"
    r"|abonn[eé]e?|accord|rejet[eé]?|(?:in)?activo|(?:in)?ativo|(?:in)?attivo|(?:in)?actief"
    r"|aangemeld|ingeschreven|zgoda|(?:nie)?aktywny|situa[cç][aã]o|acord|abone|i\u0307ys|отказ|згода"
    r"|ステータス|状態|状态|狀態|상태|статус|stav|κατάσταση|الحالة"
)

# Of a list of opt-outs, or about anything else if the account has a custom field for it.
_GENERIC = re.compile(
    r"reasons?|(?:is)?(?:pending|valid|failed|returned)(?:at|on|date)?|errors?(?:code|message|count)?"
    r"|preferences?|mailings?|mailshots?|failure(?:reason)?|validation"
)
# Of people who have not confirmed, these do not state that they opted out.
_CONFIRMATIONS = re.compile(
    r"(?:e?mail|doi|doubleoptin)?(?:confirmed|confirmation|verified)(?:at|on|date|time)?\??"
    r"|best(?:ä|ae)tigt(?:am)?"
)
# Most of these are about a part of a country, or something else, so that only words count.
_STATES = re.compile(
    r"(?:contact|user|list|member)?(?:state|type|group|result)|(?:last)?event(?:type)?|subscriptiontype"
    r"|membershiptype|(?:e?mail)?result|estado|stato|etat|état|zustand|stan|tila|toestand"
)

# Of the files that services export, such as suppression_bounces.csv, and of own lists.
_FILES = re.compile(
    r"unsub|opt(?:ed)?out|suppress|bounce|complain|spam|blacklist|blocklist|denylist|archived"
    r"|donot(?:e?mail|contact|send)|invalide?mail|abgemeldet|abmeld|austrag|sperrliste|robinson"
    r"|d[eé]sinscri|d[eé]sabonn|bajas|desuscri|disiscri|afgemeld|uitgeschreven|afmeld|descadastr"
    r"|wypisan|odhl[aá][sš]|avregistr|отпис|退订|配信停止|수신거부"
)


def names_opt_outs(column_key: str) -> bool:
    """Whether a file, given by the `column_key` of its name, seems to list people who opted out."""
    return _FILES.search(column_key) is not None


def is_other_channel(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, is about another channel than mail."""
    others, count = _OTHER_CHANNELS.subn("", column_key)
    return count > 0 and "mail" not in others and "newsletter" not in others


def is_generic(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, states consent unless it has a custom field."""
    return _GENERIC.fullmatch(column_key) is not None


def states_confirmation(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, looks as if it said who has confirmed."""
    return _CONFIRMATIONS.fullmatch(column_key) is not None


def can_state_status(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, can have words for the status of a person."""
    return _STATES.fullmatch(column_key) is not None


def states_consent(column_key: str) -> bool:
    """Whether a column, given by its `column_key`, looks as if it stated consent."""
    if is_other_channel(column_key):
        return False
    return (
        _NAMES.fullmatch(column_key) is not None
        or states_confirmation(column_key)
        or is_generic(column_key)
        or _WORDS.search(column_key) is not None
        or (len(column_key) <= _SHORT_NAME and _WORDS_OF_SHORT_NAMES.search(column_key) is not None)
    )
