"""An account with plausible data, for pictures of the console and for checks of its layout."""

from __future__ import annotations

import random
import time
from typing import Any

from rosterd.server.features.statistics import store as statistics
from rosterd.server.features.statistics.rules import day_of, quarter_of

from ..behavior import import_jobs
from ..conftest import Account
from ..features.webhooks.receiver import Receiver, Reply

COUNT = 1_240
DAY = 86_400_000
FIRST = (
    *("Ada", "Amara", "Ben", "Chloé", "Diego", "Elif", "Finn", "Grace", "Hana", "Ines", "Jonas"),
    *("Kofi", "Lena", "Mateo", "Noor", "Ola", "Priya"),
)
LAST = (
    *("Adeyemi", "Brandt", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Hansen", "Ito"),
    *("Jansen", "Kaya", "Lopez", "Moreau"),
)
TAGS = ("newsletter", "customer", "beta", "workshop 2026", "partner")
PLANS = ("free", "team", "team", "business")


def people() -> list[dict[str, Any]]:
    """Returns invented people, the same each time."""
    chance = random.Random(7)
    rows: list[dict[str, Any]] = []
    for number in range(COUNT):
        first, last = chance.choice(FIRST), chance.choice(LAST)
        address = f"{first}.{last}{number or ''}@example.com".lower().replace("é", "e")
        rows.append(
            {
                "email": address,
                "firstName": first,
                "lastName": last,
                "isConfirmed": chance.random() < 0.8,
                "tags": chance.sample(TAGS, k=chance.choice((1, 1, 2, 2, 3))),
                "customFields": {
                    "plan": chance.choice(PLANS),
                    "seats": chance.randrange(1, 60),
                    "renewal": f"2027-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
                },
            }
        )
    return rows


def fill(account: Account, good: Receiver, bad: Receiver) -> None:
    """Adds people, segments, operations, webhooks of which one fails, keys and sessions."""
    account.ok("UpdateAccount", displayName="Northwind Letters", color="#0b6b5d")
    for label, data_type in (("Plan", "TEXT"), ("Seats", "NUMBER"), ("Renewal", "DATE")):
        account.ok("CreateCustomField", label=label, dataType=data_type)
    made = account.ok("CreateApiKey", name="Shop backend", scope="write")
    shop_backend = account.with_key(made["secret"])
    rows = people()
    for start in range(0, COUNT, 100):
        made = shop_backend.ok("BulkCreateSubscribers", subscribers=rows[start : start + 100])
        assert made["failed"] == []
    for number, row in enumerate(rows[::40]):
        status = ("UNSUBSCRIBED", "BOUNCED", "UNSUBSCRIBED", "COMPLAINED")[number % 4]
        shop_backend.ok("ChangeSubscriberStatus", id=row["email"], status=status)
    _add_growth(account)
    for name, text in (
        ("Customers", 'tags:"customer" AND status = CONFIRMED'),
        ("Business plan", 'customFields.plan = "business"'),
        ("Workshop, not yet customers", 'tags:"workshop 2026" AND NOT tags:"customer"'),
    ):
        account.ok("CreateSegment", name=name, filter=text)
    crm = account.ok("CreateWebhook", url=f"{good.url}/crm", description="Updates the CRM")
    shop = account.ok(
        "CreateWebhook",
        url=f"{bad.url}/shop",
        description="Discounts in the shop",
        eventTypes=["subscriber.*", "tag.created"],
    )
    bad.replies += [Reply(503, b"Service Unavailable")] * 1_000
    account.ok("TestWebhook", id=shop["webhook"]["id"])
    account.ok("TestWebhook", id=crm["webhook"]["id"])
    for action in (
        {"addTags": ["newsletter"]},
        {"setCustomFields": {"plan": "business"}},
    ):
        started = account.ok("BatchChangeSubscribers", filter='tags:"partner"', action=action)
        identifier = started["operation"]["id"]
        while not account.ok("GetOperation", id=identifier)["operation"]["done"]:
            time.sleep(0.05)
    for name, scope in (
        ("Dashboard", "read"),
        ("Sign-up form", "signup"),
    ):
        account.ok("CreateApiKey", name=name, scope=scope)
    account.ok("CreateSignInLink", name="Grace", scope="read")
    account.ok("AddSuppressions", emails=["old.address@example.com"], reason="BOUNCED")
    import_jobs.run_file(account, "email,plan\nada.lovelace@example.com,team\nbob@,free\n")
    import_jobs.upload(account, b"email,Town,Opted out\ngrace@example.com,Bath,no\n")


def views(account: Account) -> dict[str, str]:
    """Returns the path of each view by a name."""
    shop = next(
        webhook["id"]
        for webhook in account.ok("ListWebhooks")["webhooks"]
        if webhook["url"].endswith("/shop")
    )
    failed = account.ok("ListWebhookDeliveries", id=shop, state="FAILED")["deliveries"][0]["id"]
    operation = account.ok("ListOperations")["operations"][0]["id"]
    segment = account.ok("ListSegments")["segments"][0]["id"]
    person = account.ok("ListSubscribers", status="CONFIRMED")["subscribers"][3]["id"]
    new, imported = (job["id"] for job in account.ok("ListImports")["imports"])
    return {
        "home": "/",
        "subscribers": "/subscribers",
        "person": f"/subscribers/{person}",
        "consent": f"/subscribers/{person}/consent",
        "data": f"/subscribers/{person}/data",
        "segments": "/segments",
        "segment": f"/segments/{segment}",
        "tags": "/tags",
        "fields": "/fields",
        "suppressions": "/suppressions",
        "import": "/import",
        "wizard": f"/import/{new}",
        "imported": f"/import/{imported}",
        "activity": "/activity",
        "operation": f"/activity/{operation}",
        "webhooks": "/webhooks",
        "endpoint": f"/webhooks/{shop}",
        "delivery": f"/webhooks/{shop}/deliveries/{failed}",
        "tail": "/webhooks/tail",
        "account": "/settings/account",
        "sessions": "/settings/sessions",
        "keys": "/settings/keys",
        "audit": "/settings/audit",
    }


def _add_growth(account: Account) -> None:
    """Stores what changed on earlier days, as the changes of those days would have."""
    chance = random.Random(11)
    now = int(time.time() * 1000)
    with account.service.unit_of_work() as tx:
        # These people were not all added today.
        for period in (day_of(now), -quarter_of(now)):
            statistics.add(account.id, {(period, "created"): 11 - COUNT}, tx)
        for days_ago in range(1, 90):
            at = now - days_ago * DAY
            flows = {
                "created": chance.randrange(4, 22) + (60 if days_ago == 34 else 0),
                "unsubscribed": chance.randrange(0, 5),
                "deleted": chance.randrange(0, 2),
            }
            for period in (day_of(at), -quarter_of(at)):
                totals = {(period, name): total for name, total in flows.items()}
                statistics.add(account.id, totals, tx)
