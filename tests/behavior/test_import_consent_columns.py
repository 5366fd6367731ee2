"""Columns of an import whose names look like consent, and those that only resemble them."""

from __future__ import annotations

import pytest

from ..conftest import Account
from .helpers import create_field
from .streams import (
    send_rows,
    send_table,
    written_table,
)
from .test_import import outcomes, rejections

CONSENT_COLUMNS = (
    *("Reason", "Removal reason", "ARCHIVED_TIME", "non_transactional", "Subscribe Type"),
    *("Denylist", "Marketing Suspended", "email_quarantined", "Legal basis", "DND", "Disposition"),
    *(
        "smtp_error",
        "Email Delivery Status",
        "Validation Result",
        "Invalid email address",
        "Verified",
        "email.verified",
    ),
    *("Status Code", "Deceased", "Block", "Delivery error", "Diagnostic code", "Forgotten at"),
    *("Confirmation Status", "Pending", "Preferences", "deletion_requested_at", "Unregistered"),
    *("Current status", "Status (current)", "Status 1", "Subscriber’s status", "member.lockremove"),
    *("Kontaktstatus", "Rückläufer", "Désactivé", "Estado del contacto", "Rejeitado", "Rimbalzato"),
    *(
        "subscribed",
        "opted_out",
        "Email Opt Out",
        "Accepts Email Marketing",
        "newsletter",
    ),
    *("Portal Unsubscribe", "Is this subscriber blacklisted", "Email subscriber status"),
    *(
        "subscribed_to_emails",
        "Einwilligung",
        "désabonné",
        "Do not allow Bulk Emails",
        "is_active",
        "GDPR consent",
        "can_email",
        "removed_at",
        "Contact by phone or mail",
    ),
    *(
        "Abbestellt",
        "Widerruf am",
        "Werbesperre",
        "Fecha de baja",
        "Cancelled",
        "RGPD",
        "Statut",
        "STOP",
    ),
    *("dnc_email", "email_subscribe", "Deaktiviert", "Gesperrt am", "Werbewiderspruch"),
    *("Ne pas contacter", "Dado de baja", "Geen e-mail", "Stato iscrizione", "Zgoda marketingowa"),
    *("Status para comunicação", "Requests no email", "Email Opt Status"),
    *("Keine E-Mails", "Mailverbot", "Abonniert", "Infolettre", "Refus", "Recevoir des offres"),
    *(
        "No molestar",
        "Assinatura",
        "Accetta marketing",
        "Autorizzazione invio mail",
        "Nie kontaktować",
        "RODO",
    ),
    *("E-posta izni", "İptal", "Bülten", "Onay", "KVKK", "メール許可", "受信", "ニュースレター"),
    *("opt.in", "ｏｐｔｅｄ＿ｏｕｔ", "Status (E-Mail)", "On Hold", "exit.date", "Abo."),
    # In lost encodings.
    *("DÃ©sabonnÃ©", "DÃƒÂ©sinscription", "РћС‚РїРёСЃР°РЅ", "D\ufffdsabonn\ufffd", "D?sabonn?"),
    *("Geblockt", "Date stopped", "Darf ich dir E-Mails schicken?", "Mogen wij u mailen?"),
    *("I agree that you may send me your letter by email", "Souhaitez-vous recevoir ceci ?"),
    *("CRM Status Marketing", "Accettato email", "Autorizzazione privacy", "Autorizo email"),
    *(
        "Não enviar",
        "Avregistrerad",
        "Samtykke",
        "配信停止",
        "メルマガ",
        "退订",
        "수신거부",
        "Отписан",
    ),
)
# Of other services, about other things.
OTHER_COLUMNS = (
    *("State", "Angemeldet am", "Data iscrizione", "Trabajo", "Account status"),
    *(
        "Subscription tier",
        "Would you accept a discount code for your next order with us?",
        "登録日",
    ),
    *("SMS opt-in", "Adopted pets", "push_subscribe", "Estado", "Type", "Event", "Code", "Level"),
    *("Delivery State", "Order delivery state", "Delivery Status", "Return Reason", "Drop reason"),
    *("Diagnostics", "Unforgotten", "Membership type", "Group", "Clock removed", "Unlock removal"),
    *(
        "Abonnent seit",
        "Rückruf erwünscht",
        "Refuse collection",
        "Data accettazione",
        "Onay tarihi",
    ),
    *("Subskrybent od", "受信日時", "許可番号", "Retail", "No.", "E.Mail", "P.O. Box", "Household"),
    *("Subscription end", "Reason for your interest", "Topics", "Registered", "Valid until"),
    *("Last status email sent", "Lead status contact", "Status contactpersoon", "Ret"),
    *("Liste rouge", "Numero autorizzazione", "Data accetto", "Autorizo uso de imagen"),
    *("Darf ich dein Foto zeigen?", "Please send me a catalog"),
    *("PrÃ©nom", "Pr\ufffdnom", "Pr?nom ou nom"),
    *("Preventivo accettato", "Autoriza uso de imagem"),
)


@pytest.mark.parametrize("name", CONSENT_COLUMNS)
def test_column_that_looks_like_consent_is_not_ignored(account: Account, name: str) -> None:
    table = f"email,{name}\na@b.io,\n"
    is_known = name == "subscribed_to_emails"  # by the preset for Ghost
    is_confirmation = name in ("Verified", "email.verified")
    for options in (
        *([{}] if is_confirmation else [{"columnMap": [f"{name}=isConfirmed"]}]),
        *([] if is_known else [{"unknownColumns": "IGNORE"}, {"unknownColumns": "CREATE_FIELDS"}]),
    ):
        error = send_table(account, table, **options).error
        assert error is not None
        assert error.violations == [(name, "CONSENT_COLUMN")]
        # A person without a verified address has not opted out.
        assert ("optedIn or optedOut" in str(error.body)) is not is_confirmation
        assert ("Map each to isConfirmed" in str(error.body)) is is_confirmation

    assert send_table(account, table, ignoreColumns=[name]).error is None


def test_columns_about_other_things_do_not_look_like_consent(account: Account) -> None:
    table = written_table([["email", *OTHER_COLUMNS], ["a@b.io", *"x" * len(OTHER_COLUMNS)]])

    assert send_table(account, table, unknownColumns="IGNORE").error is None


@pytest.mark.parametrize(
    "name",
    [
        *("Block", "Deceased", "Registration Status", "Status Code", "Record Status", "Reason"),
        *("Activated At", "Disposition", "Exit Date", "Verified", "Email confirmed", "News"),
        *(
            "Current status",
            "Status text",
            "exit.date",
            "registration.status",
            "Abo.",
            "email.verified",
        ),
    ],
)
def test_column_of_a_custom_field_with_a_common_name_is_not_refused(
    account: Account, name: str
) -> None:
    table = f"email,{name}\na@b.io,x\n"
    own = {"columnMap": [f"{name}=Visit {name}"], "unknownColumns": "CREATE_FIELDS"}
    assert send_table(account, table, unknownColumns="CREATE_FIELDS").error is not None
    assert send_table(account, table, **own, dryRun=True).error is None

    create_field(account, name)

    assert send_table(account, table).error is None
    row = {"email": "b@b.io", "customFields": {name: "x"}}
    (created,) = send_rows(account, [row], unknownColumns="CREATE_FIELDS").records
    assert created["outcome"] == "CREATED"


@pytest.mark.parametrize(
    "header",
    [
        *("email,created", "created,email,ip"),
        *("address,created_at", "address,tags,created_at", "address,created_at,count"),
    ],
)
def test_list_of_opt_outs_of_sendgrid_or_mailgun_is_not_imported_as_subscribers(
    account: Account, header: str
) -> None:
    names = header.split(",")
    date = "created_at" if "created_at" in names else "created"
    cells = {"email": "a@b.io", "address": "a@b.io", date: "2024-01-01"}
    table = [names, [cells.get(name, "") for name in names]]
    addresses = ["address=email"] if "address" in names else []
    options = {"columnMap": addresses, "unknownColumns": "IGNORE", "onConflict": "SKIP"}

    error = send_table(account, written_table(table), **options).error
    assert error is not None
    assert error.violations == [(date, "CONSENT_COLUMN")]

    assert send_table(account, written_table(table), **options, ignoreColumns=[date]).error is None
    table[0][names.index(date)] = "Created at"
    assert send_table(account, written_table(table), **options).error is None


def test_column_that_is_mapped_to_the_address_is_no_consent(account: Account) -> None:
    table = "Contact Email,First Name\na@b.io,Ada\n"

    assert send_table(account, table, columnMap=["Contact Email=email"]).error is None


@pytest.mark.parametrize("name", ["Removed", "Opted out", "Unregistered"])
def test_column_of_opt_outs_is_refused_also_with_a_custom_field(
    account: Account, name: str
) -> None:
    create_field(account, name)

    error = send_table(account, f"email,{name}\na@b.io,x\n").error

    assert error is not None
    assert error.violations == [(name, "CONSENT_COLUMN")]


@pytest.mark.parametrize("action", ["IGNORE", "CREATE_FIELDS"])
def test_unknown_member_that_looks_like_consent_fails_its_row(
    account: Account, action: str
) -> None:
    rows = [
        {"email": "a@b.io", "customFields": {"plan": "pro"}},
        {"email": "b@b.io", "customFields": {"opted_out": True}},
        {"email": "c@b.io", "customFields": {"opted_out": True}, "status": "UNSUBSCRIBED"},
    ]

    results = send_rows(account, rows, unknownColumns=action).records

    assert rejections(results)[1] == ("UNKNOWN_CUSTOM_FIELD", "customFields.opted_out")
    assert outcomes(results) == ["CREATED", "FAILED", "CREATED"]
    ignored = send_rows(account, rows[1:2], unknownColumns=action, ignoreColumns=["Opted out"])
    assert outcomes(ignored.records) == ["CREATED"]
    assert ignored.summary is not None
    assert ignored.summary["ignoredColumns"] == ["opted_out"]
