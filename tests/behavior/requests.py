"""A request that succeeds for each rpc. What all rpcs have in common is tested with these.

The rpcs are those of the proto descriptors, so that new ones are included. A new rpc needs an
entry in REQUESTS if it has required fields, and a new type of resources one in `_CREATED_BY` if
no rpc of the name Create... creates it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from rosterd.server.features.exports import store as exports
from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import BatchRequest, JobRequest, Type

from ..components import wait_until
from ..conftest import Account
from ..fronts import UNARY, path_variables
from .helpers import MISSING_ID, create_subscriber, suppress, unsubscribe_token
from .import_jobs import create, run_file, upload

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
# The second row is invalid.
FILE = b"email,lastName\nimported@example.com,King\nada.l@,Lovelace\n"
BOB = {"email": "bob@example.com", "tags": ["on bob"]}
# A valid request of each rpc that needs more fields than the reference.
REQUESTS: dict[str, dict[str, Any]] = {
    "CreateSubscriber": {"email": "ada@example.com", "tags": ["on ada"]},
    # The second row is invalid, and the third a duplicate.
    "BulkCreateSubscribers": {
        "subscribers": [BOB, {"email": "no@", "lastName": "Lovelace"}, BOB],
    },
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
    "BatchChangeSubscribers": {"filter": "email:*", "action": {"addTags": ["by operation"]}},
    "BatchGetSubscribers": {"emails": ["ada@example.com"]},
    "SignUp": {"email": "eve@example.com"},
    "RenderMergeTags": {"subject": "Dear {{email}}"},
    "UpdateWebhook": {"description": "eve"},
    "ReplayWebhook": {"since": "2020-01-01T00:00:00Z"},
}


def with_path(rpc: str) -> dict[str, Any]:
    """Returns a request with the path variables only, of a resource that does not exist."""
    return dict.fromkeys(path_variables(rpc), MISSING_ID)


def resource_type(rpc: str) -> str:
    """Returns the type of resource that an rpc refers to. By default, this is the type of its
    service.
    """
    return RESOURCE_TYPES.get(rpc, str(UNARY[rpc].containing_service.name))


# The rpc that creates a resource of each type.
CREATIONS = {resource_type(rpc): rpc for rpc in CREATES if rpc.startswith("Create")}
CREATIONS["OperationService"] = "BatchChangeSubscribers"


def create_resource(account: Account, kind: str) -> str:
    """Creates a resource of a type, and returns its reference once it does not change anymore."""
    if kind in _CREATED_BY:
        return _CREATED_BY[kind](account)
    rpc = CREATIONS[kind]
    response = account.ok(rpc, **REQUESTS[rpc])
    (created,) = (each for each in response.values() if isinstance(each, dict))
    if kind in ("ExportService", "OperationService"):
        wait_until_ended(account, kind, created["id"])
    return str(created["id"])


def wait_until_ended(account: Account, kind: str, id_: str) -> None:
    """Waits for the end of an export or an operation."""
    name = kind.removesuffix("Service")
    wait_until(
        lambda: account.ok(f"Get{name}", id=id_)[name.lower()]["state"] != "RUNNING",
        f"the {name.lower()} does not end",
    )


def _create_event(account: Account) -> str:
    create_resource(account, "WebhookService")
    create_subscriber(account, "of-event@example.com")
    return str(account.ok("ListEvents", limit=1)["events"][0]["id"])


def _create_delivery(account: Account) -> str:
    webhook = create_resource(account, "WebhookService")
    return str(account.ok("TestWebhook", id=webhook)["delivery"]["id"])


_CREATED_BY: dict[str, Callable[[Account], str]] = {
    "EventService": _create_event,
    "ImportService": lambda account: str(upload(account, FILE)["id"]),
    "LinkService": lambda account: unsubscribe_token(
        account, create_subscriber(account, "of-link@example.com")["id"]
    ),
    "SessionService": lambda account: str(
        account.ok("SignIn", token=account.new_key("read"))["session"]["id"]
    ),
    "SuppressionService": lambda account: suppress(account, "gone@example.com"),
    "WebhookDeliveryService": _create_delivery,
}


def _operation_of_another_process(account: Account) -> str:
    """Stores an operation that the service does not run in the next seconds."""
    batch = BatchRequest({"action": {"delete": True}}, ["email:*"], key_id="", by_admin=False)
    with account.service.unit_of_work() as tx:
        row = operations.create(account.id, batch, None, 1, tx)
        operations.put(account.id, row._replace(runner="other"), tx)
    return row.id


def _export_of_another_process(account: Account) -> str:
    """Stores an export that the service does not run in the next seconds."""
    job = {"format": "CSV", "view": "BASIC", "columns": [], "names": ["id"], "bom": False}
    request = JobRequest(
        Type.SUBSCRIBERS_EXPORT, {**job, "escapeFormulas": True}, {}, {"action": {}}, [], False
    )
    with account.service.unit_of_work() as tx:
        row = exports.create(account.id, request, 1, tx).operation
        operations.put(account.id, row._replace(runner="other"), tx)
    return row.id


def _ended_operation(account: Account) -> str:
    create_subscriber(account)
    return create_resource(account, "OperationService")


def _webhook_with_event(account: Account) -> str:
    webhook = create_resource(account, "WebhookService")
    create_subscriber(account)
    return webhook


# The rpcs that require another state of the resource.
_READY: dict[str, Callable[[Account], str]] = {
    "CancelExport": _export_of_another_process,
    "CancelOperation": _operation_of_another_process,
    "ReplayWebhook": _webhook_with_event,
    "UndoOperation": _ended_operation,
    "UndoImport": lambda account: str(run_file(account, FILE)["id"]),
    "UploadImportPart": lambda account: str(create(account, FILE)["id"]),
}


def working_request(account: Account, rpc: str) -> dict[str, Any]:
    """Creates the resource that an rpc refers to, and returns a request that succeeds."""
    request = REQUESTS.get(rpc, {})
    if rpc == "SignIn":
        return {"token": account.key}
    if rpc not in REFERENCES:
        return request
    ready = _READY.get(rpc)
    reference = ready(account) if ready else create_resource(account, resource_type(rpc))
    return {REFERENCES[rpc]: reference, **request}


def create_all(account: Account) -> dict[str, str]:
    """Creates a resource of every type and returns their references by type."""
    kinds = sorted({resource_type(rpc) for rpc in REFERENCES})
    return {kind: create_resource(account, kind) for kind in kinds}


def all_lists(account: Account) -> dict[str, Any]:
    """Returns all lists of the account, without the times of use, which are stored later."""
    lists = {rpc: account.ok(rpc, limit=100) for rpc in LISTS}
    for key in lists["ListApiKeys"]["apiKeys"]:
        key.pop("lastUsedAt", None)
    return lists
