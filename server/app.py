"""The one place where objects meet: from a database to a gRPC server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from roster.v1 import (
    api_keys_pb2,
    api_keys_pb2_grpc,
    custom_fields_pb2,
    custom_fields_pb2_grpc,
    merge_tags_pb2,
    merge_tags_pb2_grpc,
    subscribers_pb2,
    subscribers_pb2_grpc,
    suppressions_pb2,
    suppressions_pb2_grpc,
    tags_pb2,
    tags_pb2_grpc,
    webhooks_pb2,
    webhooks_pb2_grpc,
)

from .accounts import store as accounts
from .accounts.service import ApiKeyService
from .clock import Clock
from .config import Network, Rate
from .custom_fields import store as custom_fields
from .custom_fields.service import CustomFieldService
from .encryption import Encryption
from .health.service import HealthService
from .idempotency.idempotent_database import IdempotentDatabase
from .interceptors.auth_throttling import AuthThrottle
from .interceptors.authenticate import Authenticate
from .interceptors.authorize import Authorize
from .interceptors.chain import InterceptorChain
from .interceptors.concurrency_limit import ConcurrencyLimit
from .interceptors.deadlines import Deadlines
from .interceptors.idempotency import Idempotency
from .interceptors.observe import Observe
from .interceptors.other_packages import OtherPackages
from .interceptors.rate_limit import RateLimit
from .interceptors.trace import Trace
from .interceptors.validate import Validate
from .merge_tags.service import MergeTagService
from .messages import MAX_MESSAGE_BYTES
from .observability.observability import Observability, disabled_observability
from .reflection import service as reflection
from .storage.database import Database
from .storage.transaction import Transaction
from .subscribers import store_reading as subscribers
from .subscribers.service import SubscriberService
from .suppressions.service import SuppressionService
from .suppressions.store import Suppressions
from .tags.service import TagService
from .webhooks.delivery import store_newest as deliveries
from .webhooks.egress.client import Client
from .webhooks.egress.policy import EgressPolicy
from .webhooks.endpoints import store_reading as webhooks
from .webhooks.endpoints.signing import Secrets
from .webhooks.service import WebhookService

# In the order of the API reference.
SERVICES: Sequence[ServiceDescriptor] = [
    service
    for file in (
        subscribers_pb2,
        tags_pb2,
        custom_fields_pb2,
        merge_tags_pb2,
        suppressions_pb2,
        webhooks_pb2,
        api_keys_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
]
MAX_METADATA_BYTES = 16 * 1024
# How often a client may ask over a silent connection whether somebody is there. gRPC's own
# five minutes would end an import that pauses, since clients ask more often than that; a
# gateway does, every ten seconds.
PING_MILLISECONDS = 5_000

# How many calls a connection may have open. Its client keeps further ones back, at no cost here.
MAX_CALLS_OF_A_CONNECTION = 1_000


def newest_id(tx: Transaction) -> str | None:
    """Returns the greatest id that the order of a list depends on, from which new ids go on."""
    newest = (
        accounts.newest_key_of_any_account(tx),
        custom_fields.newest_id_of_any_account(tx),
        subscribers.newest_id_of_any_account(tx),
        webhooks.newest_id_of_any_account(tx),
        deliveries.newest_id_of_any_account(tx),
    )
    return max((found for found in newest if found is not None), default=None)


class App:
    """The services and their interceptors, ready to be put behind a port or a channel.

    They may be put there before the database is open and the vault is unlocked: until it is
    told to `begin`, every call of a service is refused as Unavailable.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        encryption: Encryption,
        *,
        egress_policy: EgressPolicy,
        client: Client,
        rate_limit: Rate | None = None,
        proxies: Sequence[Network] = (),
        watch: Observability | None = None,
    ) -> None:
        watch = watch or disabled_observability()
        watch.exposition.add(watch.stats.rpc_samples)
        authenticate = Authenticate(database, clock, AuthThrottle(proxies))
        once = IdempotentDatabase(database, encryption)
        self._concurrency_limit = ConcurrencyLimit()
        self.interceptors: Sequence[grpc.aio.ServerInterceptor] = (
            OtherPackages(),
            InterceptorChain(
                Observe(watch.stats),
                *([Trace(watch.tracing)] if watch.tracing else []),
                Deadlines(),
                self._concurrency_limit,
                authenticate,
                *([RateLimit(rate_limit)] if rate_limit else []),
                Authorize(),
                Validate(),
                Idempotency(once),
            ),
        )
        suppressions = Suppressions(encryption)
        self._api_keys = ApiKeyService(once, authenticate.invalidate)
        self._custom_fields = CustomFieldService(once)
        self._merge_tags = MergeTagService(once)
        self._subscribers = SubscriberService(once, suppressions)
        self._suppressions = SuppressionService(once, suppressions)
        self._tags = TagService(once)
        self._webhooks = WebhookService(once, Secrets(encryption), client, egress_policy, clock)
        self._health = HealthService()

    def register(self, server: Any) -> None:
        """Adds the services to a server, or to whatever collects handlers like one."""
        api_keys_pb2_grpc.add_ApiKeyServiceServicer_to_server(self._api_keys, server)
        custom_fields_pb2_grpc.add_CustomFieldServiceServicer_to_server(self._custom_fields, server)
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(self._subscribers, server)
        merge_tags_pb2_grpc.add_MergeTagServiceServicer_to_server(self._merge_tags, server)
        suppressions_pb2_grpc.add_SuppressionServiceServicer_to_server(self._suppressions, server)
        tags_pb2_grpc.add_TagServiceServicer_to_server(self._tags, server)
        webhooks_pb2_grpc.add_WebhookServiceServicer_to_server(self._webhooks, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)

    def grpc_server(self, *, shares_port: bool = False) -> grpc.aio.Server:
        """Returns a server with every service, health and reflection, bound to no port yet.

        Where it `shares_port`, others may listen on the same one, and the system deals out
        the connections.
        """
        server = grpc.aio.server(
            interceptors=self.interceptors,
            options=(
                ("grpc.so_reuseport", int(shares_port)),
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                ("grpc.max_metadata_size", MAX_METADATA_BYTES),
                ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
                ("grpc.http2.min_ping_interval_without_data_ms", PING_MILLISECONDS),
                ("grpc.max_concurrent_streams", MAX_CALLS_OF_A_CONNECTION),
            ),
        )
        self.register(server)
        reflection.register(
            [*(service.full_name for service in SERVICES), health.SERVICE_NAME], server
        )
        return server

    def begin(self) -> None:
        """Has the services take calls from now on."""
        self._concurrency_limit.open()

    def end_watches(self) -> None:
        """Lets those go who follow its health; they have heard all that there is to hear."""
        self._health.end_watches()

    def end_streams(self) -> None:
        """Has all streams end, which may take long by themselves."""
        self._concurrency_limit.end_streams()

    async def set_serving(self, *, serving: bool) -> None:
        """Tells health checks whether to send calls here. If not, what is followed ends."""
        self._webhooks.serve(serving=serving)
        status = health_pb2.HealthCheckResponse
        for name in ("", *(service.full_name for service in SERVICES)):
            await self._health.set(name, status.SERVING if serving else status.NOT_SERVING)
