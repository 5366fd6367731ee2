"""Only status changes and address changes can change the status of a subscriber."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ..conftest import Account, new_account
from ..fronts import HttpFront, Response
from ..processes import Service
from .helpers import STATUSES, create_field, create_subscriber_in, send, stored

Subscriber = dict[str, Any]


class SubscribersByStatus:
    """An account with a subscriber in each status, each with a tag and a custom field value."""

    def __init__(self, service: Service) -> None:
        self.account = new_account(service, HttpFront("http", service.http))
        self.call = self.account.call
        self.writer = self.account.with_key(self.account.new_key("write"))
        create_field(self.account, "Town", fallback="here")
        self.all: dict[str, Subscriber] = {
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
        """Returns the current status of each subscriber by its initial status."""
        listed = self.account.ok("ListSubscribers", limit=100)["subscribers"]
        now = {row["id"]: row["status"] for row in listed}
        return {initial: now[row["id"]] for initial, row in self.all.items()}

    def tag(self) -> str:
        """Returns the ID of a tag, which is created if necessary."""
        listed = self.account.ok("ListTags")["tags"]
        result = listed or [self.account.ok("CreateTag", name="vip")["tag"]]
        return str(result[0]["id"])

    def custom_field(self) -> str:
        """Returns the ID of the custom field, which is created if necessary."""
        listed = self.account.ok("ListCustomFields")["customFields"]
        return str((listed or [create_field(self.account, "Town")])[0]["id"])


Operation = Callable[[SubscribersByStatus, Subscriber], Response]

# For each status, a status that it cannot change to.
FORBIDDEN_STATUS = {
    "UNCONFIRMED": "GONE",
    "CONFIRMED": "UNCONFIRMED",
    "UNSUBSCRIBED": "BOUNCED",
    "BOUNCED": "GONE",
    "COMPLAINED": "CONFIRMED",
}


def create(spelling: str, **fields: Any) -> Operation:
    return lambda subscribers, target: subscribers.call(
        "CreateSubscriber", email=spelling.format(target["email"]), **fields
    )


def row(**fields: Any) -> Operation:
    return lambda subscribers, target: subscribers.call(
        "BulkCreateSubscribers", subscribers=[{"email": target["email"].upper(), **fields}]
    )


def update(**fields: Any) -> Operation:
    return lambda subscribers, target: subscribers.call(
        "UpdateSubscriber", id=target["id"], **fields
    )


def edit(rpc: str, *tags: str) -> Operation:
    return lambda subscribers, target: subscribers.call(rpc, id=target["id"], tags=tags)


def send_back(subscribers: SubscribersByStatus, target: Subscriber) -> Response:
    body = {**target, "status": "CONFIRMED"}
    return send(subscribers.account, "PUT", f"/api/subscribers/{target['id']}", body)


def delete_another(subscribers: SubscribersByStatus, target: Subscriber) -> Response:
    email = f"x{target['email']}"
    created = create_subscriber_in(subscribers.account, target["status"], email)
    response = subscribers.call("DeleteSubscriber", id=created["id"])
    subscribers.call("DeleteSuppression", email=email)
    return response


OPERATIONS: dict[str, Operation] = {
    "create the address again": create("{}", isConfirmed=True, tags=["new"]),
    "create it in another spelling": create(" {}\t", isConfirmed=True),
    "bulk with a row of the address": row(isConfirmed=True, firstName="Eve"),
    "bulk with a row that is not confirmed": row(isConfirmed=False),
    "bulk with an invalid row": row(isConfirmed=True, tags=[" "]),
    "update names": update(firstName="A.", lastName=""),
    "update tags": update(tags=["vip", "new"]),
    "clear tags": update(tags=[]),
    "update values": update(customFields={"town": "Rome"}),
    "remove values": update(customFields={"town": None}),
    "update nothing": update(),
    "update to an invalid address": update(email="unknown", firstName="B"),
    "update to an existing address": update(email="Bounced@example.com", lastName="B"),
    "send back the fetched subscriber": send_back,
    "add tags": edit("AddSubscriberTags", "VIP", "more"),
    "add invalid tags": edit("AddSubscriberTags", "fine", ""),
    "remove tags": edit("RemoveSubscriberTags", "vip", "none"),
    "rename a tag": lambda subscribers, target: subscribers.call(
        "UpdateTag", id=subscribers.tag(), name=target["status"]
    ),
    "delete a tag": lambda subscribers, _: subscribers.call("DeleteTag", id=subscribers.tag()),
    "change the field": lambda subscribers, _: subscribers.call(
        "UpdateCustomField", id=subscribers.custom_field(), label="Home"
    ),
    "delete the field": lambda subscribers, _: subscribers.call(
        "DeleteCustomField", id=subscribers.custom_field()
    ),
    "move to the same status": lambda subscribers, target: subscribers.call(
        "ChangeSubscriberStatus", id=target["id"], status=target["status"]
    ),
    "move to a forbidden status": lambda subscribers, target: subscribers.writer.call(
        "ChangeSubscriberStatus", id=target["id"], status=FORBIDDEN_STATUS[target["status"]]
    ),
    "lift an absent suppression": lambda subscribers, target: subscribers.call(
        "DeleteSuppression", email=target["email"]
    ),
    "delete another subscriber of the status": delete_another,
    "render": lambda subscribers, target: subscribers.call(
        "RenderMergeTags", subject="x", subscriberId=target["id"]
    ),
}
UNCHANGED = {status: status for status in STATUSES}
RESET = {**UNCHANGED, "CONFIRMED": "UNCONFIRMED", "BOUNCED": "UNCONFIRMED"}


def test_address_change_never_resets_an_opt_out_or_complaint(account: Account) -> None:
    writer = account.with_key(account.new_key("write"))
    before = {
        status: create_subscriber_in(account, status, f"{status}@x.io") for status in STATUSES
    }

    for status, created in before.items():
        writer.ok("UpdateSubscriber", id=created["id"], email=f"{status}@y.io")

    after = {status: stored(account, created)["status"] for status, created in before.items()}
    assert after == RESET


def test_no_other_operation_changes_the_status(service: Service) -> None:
    subscribers = SubscribersByStatus(service)
    for name, operation in OPERATIONS.items():
        for target in subscribers.all.values():
            operation(subscribers, target)
        assert subscribers.statuses() == UNCHANGED, name


@given(
    operations=st.lists(
        st.tuples(st.sampled_from(sorted(OPERATIONS)), st.sampled_from(STATUSES)),
        min_size=5,
        max_size=15,
    )
)
def test_no_sequence_of_other_operations_changes_the_status(
    service: Service, operations: list[tuple[str, str]]
) -> None:
    subscribers = SubscribersByStatus(service)

    for name, status in operations:
        OPERATIONS[name](subscribers, subscribers.all[status])
        assert subscribers.statuses() == UNCHANGED
