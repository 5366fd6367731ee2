"""That nothing but a change of status, or of the address, changes a subscriber's status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..conftest import Account, new_account
from ..fronts import HttpFront, Response
from ..processes import Service
from .helpers import STATUSES, create_field, create_subscriber_in, send, stored

Person = dict[str, Any]


class People:
    """An account with a subscriber in each status, who all carry a tag and a value."""

    def __init__(self, service: Service) -> None:
        self.account = new_account(service, HttpFront("http", service.http))
        self.call = self.account.call
        self.writer = self.account.with_key(self.account.new_key("write"))
        create_field(self.account, "Town", fallback="here")
        self.all: dict[str, Person] = {
            status: create_subscriber_in(
                self.account,
                status,
                f"{status.lower()}@example.com",
                tags=["vip"],
                customFields={"town": "Paris"},
            )
            for status in STATUSES
        }

    def statuses(self) -> dict[str, str]:
        """Returns the status of each as it is now, by the one that it began in."""
        listed = self.account.ok("ListSubscribers", limit=100)["subscribers"]
        now = {each["id"]: each["status"] for each in listed}
        return {began: now[each["id"]] for began, each in self.all.items()}

    def tag(self) -> str:
        """Returns the id of a tag, of a new one where there is none."""
        listed = self.account.ok("ListTags")["tags"]
        result = listed or [self.account.ok("CreateTag", name="vip")["tag"]]
        return str(result[0]["id"])

    def custom_field(self) -> str:
        """Returns the id of the custom field, of a new one where there is none."""
        listed = self.account.ok("ListCustomFields")["customFields"]
        return str((listed or [create_field(self.account, "Town")])[0]["id"])


Deed = Callable[[People, Person], Response]

# Where nobody may send the one who stands there.
NOWHERE = {
    "UNCONFIRMED": "GONE",
    "CONFIRMED": "UNCONFIRMED",
    "UNSUBSCRIBED": "BOUNCED",
    "BOUNCED": "COMPLAINED",
    "COMPLAINED": "CONFIRMED",
}


def create(spelling: str, **given: Any) -> Deed:
    return lambda subscribers, who: subscribers.call(
        "CreateSubscriber", email=spelling.format(who["email"]), **given
    )


def row(**given: Any) -> Deed:
    return lambda people, who: people.call(
        "BulkCreateSubscribers", subscribers=[{"email": who["email"].upper(), **given}]
    )


def update(**given: Any) -> Deed:
    return lambda subscribers, who: subscribers.call("UpdateSubscriber", id=who["id"], **given)


def edit(rpc: str, *tags: str) -> Deed:
    return lambda subscribers, who: subscribers.call(rpc, id=who["id"], tags=tags)


def send_back(subscribers: People, who: Person) -> Response:
    body = {**who, "status": "CONFIRMED"}
    return send(subscribers.account, "PUT", f"/api/subscribers/{who['id']}", body)


def delete_another(subscribers: People, who: Person) -> Response:
    email = f"x{who['email']}"
    created = create_subscriber_in(subscribers.account, who["status"], email)
    response = subscribers.call("DeleteSubscriber", id=created["id"])
    subscribers.call("DeleteSuppression", email=email)
    return response


# What it is, what it answers when it is done with each person in turn, and the doing.
DEEDS: dict[str, tuple[set[int], Deed]] = {
    "create the address again": ({409}, create("{}", isConfirmed=True, tags=["new"])),
    "create it in another spelling": ({409}, create(" {}\t", isConfirmed=True)),
    "bulk with a row of the address": ({200}, row(isConfirmed=True, firstName="Eve")),
    "bulk with a row that is not confirmed": ({200}, row(isConfirmed=False)),
    "bulk with a row that is wrong": ({200}, row(isConfirmed=True, tags=[" "])),
    "update names": ({200}, update(firstName="A.", lastName="")),
    "update tags": ({200}, update(tags=["vip", "new"])),
    "clear tags": ({200}, update(tags=[])),
    "update nothing": ({200}, update()),
    "update to a bad address": ({400}, update(email="nobody", firstName="B")),
    "update to a taken address": ({200, 409}, update(email="Bounced@example.com", lastName="B")),
    "send back what was fetched": ({200}, send_back),
    "add tags": ({200}, edit("AddSubscriberTags", "VIP", "more")),
    "add bad tags": ({400}, edit("AddSubscriberTags", "fine", "")),
    "remove tags": ({200}, edit("RemoveSubscriberTags", "vip", "none")),
    "rename a tag": (
        {200},
        lambda people, who: people.call("UpdateTag", id=people.tag(), name=who["status"]),
    ),
    "delete a tag": ({204}, lambda people, _: people.call("DeleteTag", id=people.tag())),
    "change the field": (
        {200},
        lambda people, _: people.call("UpdateCustomField", id=people.custom_field(), label="Home"),
    ),
    "delete the field": (
        {204},
        lambda people, _: people.call("DeleteCustomField", id=people.custom_field()),
    ),
    "move to the same status": (
        {200},
        lambda people, who: people.call(
            "ChangeSubscriberStatus", id=who["id"], status=who["status"]
        ),
    ),
    "move where nobody may go": (
        {400, 409},
        lambda people, who: people.writer.call(
            "ChangeSubscriberStatus", id=who["id"], status=NOWHERE[who["status"]]
        ),
    ),
    "lift a suppression that is not there": (
        {404},
        lambda people, who: people.call("DeleteSuppression", email=who["email"]),
    ),
    "delete another of the status": ({204}, delete_another),
    "render": (
        {200},
        lambda people, who: people.call("RenderMergeTags", subject="x", subscriberId=who["id"]),
    ),
}
KEPT = {status: status for status in STATUSES}
RESET = {**KEPT, "CONFIRMED": "UNCONFIRMED", "BOUNCED": "UNCONFIRMED"}


@pytest.mark.parametrize(("responses", "deed"), DEEDS.values(), ids=DEEDS)
def test_no_other_operation_changes_the_status(
    service: Service, responses: set[int], deed: Deed
) -> None:
    subscribers = People(service)

    assert {deed(subscribers, who).status for who in subscribers.all.values()} == responses

    assert subscribers.statuses() == KEPT


def test_different_address_never_undoes_an_opt_out_or_a_complaint(account: Account) -> None:
    writer = account.with_key(account.new_key("write"))
    before = {
        status: create_subscriber_in(account, status, f"{status}@x.io") for status in STATUSES
    }

    for status, created in before.items():
        writer.ok("UpdateSubscriber", id=created["id"], email=f"{status}@y.io")

    after = {status: stored(account, created)["status"] for status, created in before.items()}
    assert after == RESET


# Values in here too: the field may have been deleted before.
ANYTHING = {name: deed for name, (_, deed) in DEEDS.items()} | {
    "update values": update(customFields={"town": "Rome"}),
    "remove values": update(customFields={"town": None}),
}


@settings(max_examples=25, deadline=None)
@given(
    deeds=st.lists(
        st.tuples(st.sampled_from(sorted(ANYTHING)), st.sampled_from(STATUSES)),
        min_size=5,
        max_size=15,
    )
)
def test_no_sequence_of_other_operations_changes_the_status(
    service: Service, deeds: list[tuple[str, str]]
) -> None:
    subscribers = People(service)

    for name, status in deeds:
        ANYTHING[name](subscribers, subscribers.all[status])
        assert subscribers.statuses() == KEPT
