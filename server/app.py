"""Builds the services and interceptors on a database, and the gRPC server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from roster.v1 import (
    accounts_pb2,
    accounts_pb2_grpc,
    api_keys_pb2,
    api_keys_pb2_grpc,
    audit_pb2,
    audit_pb2_grpc,
    custom_fields_pb2,
    custom_fields_pb2_grpc,
    exports_pb2,
    exports_pb2_grpc,
    imports_pb2,
    imports_pb2_grpc,
    links_pb2,
    links_pb2_grpc,
    merge_tags_pb2,
    merge_tags_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    segments_pb2,
    segments_pb2_grpc,
    sessions_pb2,
    sessions_pb2_grpc,
    signups_pb2,
    signups_pb2_grpc,
    statistics_pb2,
    statistics_pb2_grpc,
    subscribers_pb2,
    subscribers_pb2_grpc,
    suppressions_pb2,
    suppressions_pb2_grpc,
    tags_pb2,
    tags_pb2_grpc,
    webhooks_pb2,
    webhooks_pb2_grpc,
)

from .config import Rate, Settings
from .features.accounts import store_keys as api_keys
from .features.accounts.service import AccountService, ApiKeyService
from .features.accounts.uses import Uses
from .features.audit.audited_database import AuditedDatabase
from .features.audit.service import AuditService
from .features.custom_fields import store as custom_fields
from .features.custom_fields.rules import MAX_FIELDS
from .features.custom_fields.service import CustomFieldService
from .features.exports.service import ExportMethods
from .features.exports.service_files import ExportService
from .features.exports.store_job import ExportJob
from .features.files.store_content import Files
from .features.imports.jobs import store as imports
from .features.imports.jobs.job_import import ImportRunner
from .features.imports.jobs.job_inspection import InspectionJob
from .features.imports.jobs.service import ImportService
from .features.imports.service import ImportMethods
from .features.links.page_responses import add_page
from .features.links.service import LinkService
from .features.links.service_pages import LinkPageService
from .features.links.store import LinkStore
from .features.merge_tags.service import MergeTagService
from .features.operations import store as operations
from .features.operations.operation_database import OperationDatabase
from .features.operations.rules import MAX_RUNNING, Type
from .features.operations.runner import OperationRunner
from .features.operations.service import OperationService
from .features.operations.store_filters import OperationFilters
from .features.operations.store_jobs import Job
from .features.operations.store_steps import Steps
from .features.segments.service import SegmentService
from .features.segments.store import MAX_SEGMENTS, SegmentFilters
from .features.sessions import store as sessions
from .features.sessions.rules import MAX_LINKS
from .features.sessions.service import SessionService, SignInLinkService
from .features.signups.service import SignupService
from .features.signups.store import SignupStore
from .features.subscribers import store_reading as subscribers
from .features.subscribers import store_revisions
from .features.subscribers.query.request import FilterExpressions
from .features.subscribers.service import SubscriberService
from .features.subscribers.service_statistics import StatisticService
from .features.subscribers.store import SubscriberStore
from .features.subscribers.store_suppressed import SuppressedSubscriberStore
from .features.suppressions.service import SuppressionService
from .features.suppressions.store import Suppressions
from .features.tags.service import TagService
from .features.webhooks.delivery import store_deliveries as deliveries
from .features.webhooks.delivery.store_replays import ReplayStore
from .features.webhooks.egress.client import Client
from .features.webhooks.endpoints import store_reading as webhooks
from .features.webhooks.endpoints.signing import Secrets
from .features.webhooks.personal_data import PersonalData
from .features.webhooks.rules import MAX_WEBHOOKS
from .features.webhooks.service import WebhookService
from .observability.metrics import READY, Sample
from .observability.observability import Observability, disabled_observability
from .rpc.health.service import HealthService
from .rpc.interceptors.audit import Audit
from .rpc.interceptors.auth_throttling import AuthThrottle
from .rpc.interceptors.authenticate import Authenticate
from .rpc.interceptors.authorize import Authorize
from .rpc.interceptors.chain import InterceptorChain
from .rpc.interceptors.client_address import AddressBuckets
from .rpc.interceptors.concurrency_limit import ConcurrencyLimit, StreamShare
from .rpc.interceptors.deadlines import Deadlines
from .rpc.interceptors.fair_share import FairShare
from .rpc.interceptors.idempotency import Idempotency
from .rpc.interceptors.observe import Observe
from .rpc.interceptors.other_packages import OtherPackages
from .rpc.interceptors.rate_limit import RateLimit, SignupLimit
from .rpc.interceptors.trace import Trace
from .rpc.interceptors.unsent_requests import UnsentRequests
from .rpc.interceptors.validate import Validate
from .rpc.reflection import service as reflection
from .security.encryption import Encryption
from .security.links import Links
from .storage.database import Database
from .storage.transaction import Transaction
from .values.clock import Clock, system_clock

# In the order of the API reference.
SERVICES: Sequence[ServiceDescriptor] = [
    service
    for file in (
        subscribers_pb2,
        imports_pb2,
        segments_pb2,
        operations_pb2,
        exports_pb2,
        tags_pb2,
        custom_fields_pb2,
        merge_tags_pb2,
        links_pb2,
        signups_pb2,
        suppressions_pb2,
        statistics_pb2,
        webhooks_pb2,
        accounts_pb2,
        api_keys_pb2,
        sessions_pb2,
        audit_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
]
LIMITS = sessions_pb2.Limits(
    custom_fields=MAX_FIELDS,
    segments=MAX_SEGMENTS,
    webhooks=MAX_WEBHOOKS,
    running_operations=MAX_RUNNING,
    sign_in_links=MAX_LINKS,
)
# Links of one client address that do not work.
INVALID_LINKS = Rate(300, 60)


def newest_id(tx: Transaction) -> str | None:
    """Returns the greatest stored ID. New IDs start after it, because lists are ordered by ID."""
    ids = (
        api_keys.newest_key_of_any_account(tx),
        custom_fields.newest_id_of_any_account(tx),
        subscribers.newest_id_of_any_account(tx),
        webhooks.newest_id_of_any_account(tx),
        deliveries.newest_id_of_any_account(tx),
        operations.newest_id_of_any_account(tx),
        imports.newest_id_of_any_account(tx),
    )
    return max((id_ for id_ in ids if id_ is not None), default=None)


def operation_steps(
    database: Database, encryption: Encryption, links: Links, files: Files
) -> Steps:
    """Returns what runs operations of all types. The jobs of features are registered here."""
    suppressions = Suppressions(encryption)
    subscribers = SubscriberStore(suppressions, links)
    jobs: Mapping[Type, Job] = {
        Type.SUBSCRIBERS_IMPORT: ImportRunner(database, subscribers, suppressions, files),
        Type.IMPORT_INSPECTION: InspectionJob(database, files, SegmentFilters(), system_clock),
        Type.SUBSCRIBERS_EXPORT: ExportJob(database, files),
    }
    return Steps(suppressions, ReplayStore(), jobs)


class Subscribers(ImportMethods, ExportMethods, SubscriberService):
    """All methods of SubscriberService."""


class App:
    """The services and their interceptors, to be used with a port or an in-process channel.

    Until `accept_calls`, every call of a service fails with Unavailable, so the ports can listen
    before the database is open.
    """

    _is_serving = False

    def __init__(
        self,
        settings: Settings,
        database: Database,
        encryption: Encryption,
        client: Client,
        *,
        clock: Clock = system_clock,
        observability: Observability | None = None,
        details: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        observability = observability or disabled_observability()
        observability.exposition.add(observability.stats.rpc_samples)
        observability.exposition.add(lambda: [Sample(READY, self._is_serving)])
        rate_limit, signup_rate_limit = settings.rate_limit, settings.signup_rate_limit
        self._uses = Uses(database, api_keys.record_use), Uses(database, sessions.record_use)
        auth_throttle = AuthThrottle()
        authenticate = Authenticate(database, clock, auth_throttle, *self._uses)
        idempotent = AuditedDatabase(database, encryption)
        self._concurrency_limit = ConcurrencyLimit()
        self.interceptors: Sequence[grpc.aio.ServerInterceptor] = (
            OtherPackages(),
            InterceptorChain(
                Observe(observability.stats, settings.trusted_proxies),
                *([Trace(observability.tracing)] if observability.tracing else []),
                Deadlines(),
                self._concurrency_limit,
                authenticate,
                *([SignupLimit(signup_rate_limit)] if signup_rate_limit else []),
                *([RateLimit(rate_limit)] if rate_limit else []),
                FairShare(),
                StreamShare(),
                Authorize(),
                Validate(),
                Audit(idempotent),
                Idempotency(idempotent),
                add_page=add_page,
            ),
        )
        suppressions = Suppressions(encryption)
        self._accounts = AccountService(idempotent)
        self._audit = AuditService(idempotent, sessions.check_credential)
        self._api_keys = ApiKeyService(idempotent, authenticate.invalidate)
        segments = SegmentFilters()
        filters = FilterExpressions(idempotent, segments, clock)
        operation_filters = OperationFilters()
        stored_filters = (segments, operation_filters)
        self._custom_fields = CustomFieldService(idempotent, stored_filters, store_revisions)
        self.links = links = Links(encryption, settings.public_url)
        self._sessions = SessionService(
            idempotent, auth_throttle, authenticate.invalidate, links, LIMITS
        )
        self._sign_in_links = SignInLinkService(idempotent, links)
        link_store = LinkStore(links, suppressions)
        self._links = LinkService(idempotent, links, link_store, clock)
        self._link_pages = LinkPageService(
            idempotent, links, link_store, AddressBuckets(INVALID_LINKS)
        )
        subscriber_store = SubscriberStore(suppressions, links)
        self._signups = SignupService(
            idempotent, SignupStore(subscriber_store, suppressions, links)
        )
        self._merge_tags = MergeTagService(idempotent, links)
        self._segments = SegmentService(idempotent, operation_filters)
        # One for the process, so that its parts that are not stored yet are not removed.
        self.files = Files(database, encryption)
        own = OperationDatabase(database)
        steps = operation_steps(own, encryption, links, self.files.using(own))
        self.operations = OperationRunner(own, steps)
        self._operations = OperationService(idempotent, filters, self.operations.notify)
        self._exports = ExportService(idempotent, filters, self.files, self.operations.notify)
        self._imports = ImportService(idempotent, self.files, filters, self.operations.notify)
        self._statistics = StatisticService(idempotent, filters)
        self._subscribers = Subscribers(
            idempotent,
            subscriber_store,
            suppressions,
            PersonalData(idempotent, suppressions, self.files),
            filters,
            links,
            clock,
        )
        self._suppressions = SuppressionService(
            idempotent, suppressions, SuppressedSubscriberStore()
        )
        self._tags = TagService(idempotent, stored_filters)
        self._webhooks = WebhookService(
            idempotent,
            Secrets(encryption),
            client,
            client.egress_policy,
            clock,
            self.operations.notify,
        )
        self._health = HealthService(details)

    def register(self, server: Any) -> None:
        """Adds the services to a server or another registry of handlers."""
        audit_pb2_grpc.add_AuditServiceServicer_to_server(self._audit, server)
        accounts_pb2_grpc.add_AccountServiceServicer_to_server(self._accounts, server)
        api_keys_pb2_grpc.add_ApiKeyServiceServicer_to_server(self._api_keys, server)
        custom_fields_pb2_grpc.add_CustomFieldServiceServicer_to_server(self._custom_fields, server)
        exports_pb2_grpc.add_ExportServiceServicer_to_server(self._exports, server)
        operations_pb2_grpc.add_OperationServiceServicer_to_server(self._operations, server)
        imports_pb2_grpc.add_ImportServiceServicer_to_server(self._imports, server)
        segments_pb2_grpc.add_SegmentServiceServicer_to_server(self._segments, server)
        sessions_pb2_grpc.add_SessionServiceServicer_to_server(self._sessions, server)
        sessions_pb2_grpc.add_SignInLinkServiceServicer_to_server(self._sign_in_links, server)
        statistics_pb2_grpc.add_StatisticServiceServicer_to_server(self._statistics, server)
        subscribers_pb2_grpc.add_SubscriberServiceServicer_to_server(self._subscribers, server)
        links_pb2_grpc.add_LinkServiceServicer_to_server(self._links, server)
        links_pb2_grpc.add_LinkPageServiceServicer_to_server(self._link_pages, server)
        merge_tags_pb2_grpc.add_MergeTagServiceServicer_to_server(self._merge_tags, server)
        signups_pb2_grpc.add_SignupServiceServicer_to_server(self._signups, server)
        suppressions_pb2_grpc.add_SuppressionServiceServicer_to_server(self._suppressions, server)
        tags_pb2_grpc.add_TagServiceServicer_to_server(self._tags, server)
        webhooks_pb2_grpc.add_WebhookServiceServicer_to_server(self._webhooks, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)

    def grpc_server(self, options: Sequence[tuple[str, int]] = ()) -> grpc.aio.Server:
        """Returns a server with every service, health and reflection, without a port."""
        server = grpc.aio.server(
            interceptors=(UnsentRequests(), *self.interceptors), options=options
        )
        self.register(server)
        reflection.register(
            [*(service.full_name for service in SERVICES), health.SERVICE_NAME], server
        )
        return server

    async def store_uses(self) -> int:
        """Stores when API keys and sessions were last used. Returns the number of changed ones."""
        return sum([await uses.store() for uses in self._uses])

    def accept_calls(self) -> None:
        self._concurrency_limit.open()

    def end_watches(self) -> None:
        """Ends the Watch streams of grpc.health.v1, which have received the final status."""
        self._health.end_watches()

    def end_streams(self) -> None:
        """Ends all streams with an error that states how to resume."""
        self._concurrency_limit.end_streams()

    async def set_serving(self, *, serving: bool) -> None:
        """Sets the health status of all services. If not serving, ends the streams."""
        self._is_serving = serving
        self._webhooks.serve(serving=serving)
        self._operations.serve(serving=serving)
        self._exports.serve(serving=serving)
        self._imports.serve(serving=serving)
        status = health_pb2.HealthCheckResponse
        for name in ("", *(service.full_name for service in SERVICES)):
            await self._health.set(name, status.SERVING if serving else status.NOT_SERVING)
