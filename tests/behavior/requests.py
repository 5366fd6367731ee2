"""A request for each rpc, derived from the proto descriptors, so that new rpcs are included."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from ..conftest import Account
from ..fronts import UNARY, path_variables
from .helpers import MISSING_ID, suppress, unsubscribe_token
from .import_jobs import settled

LISTS = sorted(rpc for rpc in UNARY if rpc.startswith("List") and not path_variables(rpc))
CREATES = sorted(
    rpc
    for rpc in UNARY
    if rpc.startswith(("Create", "BulkCreate", "Add")) and not path_variables(rpc)
)
# The field that identifies the resource, for every other rpc that refers to one.
REFERENCES = {rpc: names[0] for rpc in UNARY if (names := path_variables(rpc))}
REFERENCES["RenderMergeTags"] = "subscriberId"
# The resource type of an rpc, if it differs from that of its service.
RESOURCE_TYPES = {
    "RenderMergeTags": "SubscriberService",
    "CreateSubscriberLinks": "SubscriberService",
    "ListSubscriberSegments": "SubscriberService",
    "GetEvent": "EventService",
    "GetWebhookDelivery": "WebhookDeliveryService",
    "RetryWebhookDelivery": "WebhookDeliveryService",
}
FILE = b"email\nimported@example.com\n"
# A valid request of each rpc that needs more fields than the reference.
REQUESTS: dict[str, dict[str, Any]] = {
    "CreateSubscriber": {"email": "ada@example.com", "tags": ["on ada"]},
    "BulkCreateSubscribers": {"subscribers": [{"email": "bob@example.com", "tags": ["on bob"]}]},
    "CreateTag": {"name": "vip"},
    "CreateImport": {"name": "people.csv", "size": len(FILE)},
    "CreateSegment": {"name": "all", "filter": "email:*"},
    "CreateCustomField": {"label": "Town"},
    "CreateApiKey": {"name": "ci", "scope": "read"},
    "CreateSignInLink": {"name": "ada", "scope": "read"},
    "CreateExport": {"format": "CSV"},
    # Disabled, so that no delivery changes it.
    "CreateWebhook": {"url": "http://127.0.0.1:9/", "enabled": False},
    "UpdateSubscriber": {"firstName": "Eve", "email": "eve@example.com", "tags": ["eve"]},
    "ChangeSubscriberStatus": {"status": "COMPLAINED"},
    "AddSubscriberTags": {"tags": ["eve"]},
    "RemoveSubscriberTags": {"tags": ["on ada"]},
    "UpdateAccount": {"displayName": "eve"},
    "UpdateTag": {"name": "eve"},
    "UpdateImport": {"options": {"onConflict": "SKIP"}},
    "UploadImportPart": {"part": {"data": b64encode(FILE).decode()}},
    "UpdateSegment": {"name": "eve"},
    "UpdateCustomField": {"label": "Eve"},
    "AddSuppressions": {"emails": ["never@example.com"]},
    "RenderMergeTags": {"subject": "Dear {{email}}"},
    "UpdateWebhook": {"description": "eve"},
    "ReplayWebhook": {"since": "2020-01-01T00:00:00Z"},
}
_PART = REQUESTS["UploadImportPart"]
_COUNT = {"filter": "email:*", "action": {"delete": True}, "dryRun": True}


def with_path(rpc: str) -> dict[str, Any]:
    """Returns a request with the path variables only, of a resource that does not exist."""
    return dict.fromkeys(path_variables(rpc), MISSING_ID)


def resource_type(rpc: str) -> str:
    """Returns the type of resource that an rpc refers to. By default, this is the type of its
    service.
    """
    return RESOURCE_TYPES.get(rpc, str(UNARY[rpc].containing_service.name))


def create_all(account: Account) -> dict[str, str]:
    """Creates a resource of every type and returns their references by type."""
    references = {}
    for rpc in CREATES:
        for created in account.ok(rpc, **REQUESTS[rpc]).values():
            if isinstance(created, dict):
                references[resource_type(rpc)] = created["id"]
    delivery = account.ok("TestWebhook", id=references["WebhookService"])["delivery"]
    references["WebhookDeliveryService"] = delivery["id"]
    session = account.ok("SignIn", token=account.new_key("read"))["session"]
    references["SessionService"] = session["id"]
    operation = account.ok("BatchChangeSubscribers", **_COUNT)["operation"]
    references["OperationService"] = operation["id"]
    uploaded = account.ok("UploadImportPart", id=references["ImportService"], **_PART)
    settled(account, uploaded["import"])
    references["LinkService"] = unsubscribe_token(account, references["SubscriberService"])
    references["SuppressionService"] = suppress(account, "gone@example.com")
    references["EventService"] = account.ok("ListEvents", limit=1)["events"][0]["id"]
    return references


def all_lists(account: Account) -> dict[str, Any]:
    """Returns all lists of the account, without the times of use, which are stored later."""
    lists = {rpc: account.ok(rpc, limit=100) for rpc in LISTS}
    for key in lists["ListApiKeys"]["apiKeys"]:
        key.pop("lastUsedAt", None)
    return lists
