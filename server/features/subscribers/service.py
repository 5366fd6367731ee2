"""SubscriberService."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from roster.v1 import subscribers_pb2 as pb
from roster.v1.subscribers_pb2_grpc import SubscriberServiceServicer

from ...rpc.caller import account_id, current
from ...rpc.errors import SubscriberNotFound, invalid
from ...rpc.etags import Conditional, check_etag
from ...rpc.messages import (
    Context,
    changed_fields,
    check_page,
    struct_to_dict,
)
from ...rpc.paging import MAX_LIMIT
from ...security.links import Links
from ...storage.database import Database
from ...storage.shared_work import SharedWork
from ...storage.transaction import Transaction
from ...values.clock import Clock
from ...values.emails import Email, parse_email
from ...values.ids import is_id
from ...values.texts import caseless_key
from ..suppressions.store import Suppressions
from ..tags.rules import distinct
from . import rules, store_changes
from .fields import PROFILE, Status, SubscriberRow
from .history import Source
from .messages import (
    SubscriberResponse,
    SubscribersResponse,
    bulk_response,
    fill,
    fill_all,
)
from .profile import profile_of, row_of
from .query.request import FilterExpressions, selected_fields
from .query.store_pages import read_page
from .row_writer import OnConflict, RowWriter
from .service_history import HistoryMethods, PersonalData
from .service_mailability import MailabilityMethods
from .store import Changes, SubscriberStore
from .store_history import Person, person_of
from .store_reading import Reference, check_reference, find, find_each, find_or_none


class HasSubscriber(Protocol):
    etag: str

    @property
    def subscriber(self) -> pb.Subscriber: ...


class Changing(Conditional, Protocol):
    """A request for a change of a subscriber."""

    @property
    def id(self) -> str: ...


Reply = TypeVar("Reply", bound=HasSubscriber)

# `is_confirmed` only has an effect on a creation.
UPDATABLE = ("email", *PROFILE, "tags", "custom_fields", "is_confirmed")


class SubscriberService(HistoryMethods, MailabilityMethods, SubscriberServiceServicer):
    """Manages the subscribers of the caller's account."""

    def __init__(
        self,
        database: Database,
        store: SubscriberStore,
        suppressions: Suppressions,
        personal_data: PersonalData,
        filters: FilterExpressions,
        links: Links,
        clock: Clock,
    ) -> None:
        super().__init__(database, personal_data)
        self._suppressions = suppressions
        self._filters = filters
        self._links = links
        self._clock = clock
        self._store = store

    async def CreateSubscriber(  # type: ignore[override]  # see JsonResponse
        self, request: pb.CreateSubscriberRequest, _context: Context
    ) -> SubscriberResponse:
        account = account_id()
        new = _new_subscriber(request, rules.check_email(request.email))
        create = SharedWork(("create", account), new, partial(self._create_each, account))
        return await self._database.write(create)

    def _create_each(
        self, account: str, new: Sequence[rules.NewSubscriber], tx: Transaction
    ) -> list[SubscriberResponse | Exception]:
        return [
            outcome
            if isinstance(outcome, Exception)
            else SubscriberResponse(pb.CreateSubscriberResponse, outcome)
            for outcome in self._store.create_each(account, new, tx)
        ]

    async def BulkCreateSubscribers(
        self, request: pb.BulkCreateSubscribersRequest, _context: Context
    ) -> pb.BulkCreateSubscribersResponse:
        rows = request.subscribers
        writer = RowWriter(
            account_id(),
            OnConflict(request.on_conflict or OnConflict.FAIL),
            self._store,
            Source.API,
            reports_duplicates=True,
        )
        validated = rules.validate_rows(map(row_of, rows))

        def create(tx: Transaction) -> pb.BulkCreateSubscribersResponse:
            results = writer.store_rows(validated, tx)
            return bulk_response(rows, results, with_results=request.return_results)

        return await self._database.write(create)

    async def GetSubscriber(  # type: ignore[override]  # see JsonResponse
        self, request: pb.GetSubscriberRequest, _context: Context
    ) -> SubscriberResponse:
        account, reference = account_id(), check_reference(request.id)
        selected = selected_fields(request)
        get = SharedWork(
            ("get", account, type(reference)),
            reference,
            partial(_find_each, account),
            has_one_statement=True,
        )
        row = await self._database.read(get)
        return SubscriberResponse(pb.GetSubscriberResponse, row, selected)

    async def BatchGetSubscribers(
        self, request: pb.BatchGetSubscribersRequest, _context: Context
    ) -> pb.BatchGetSubscribersResponse:
        if not request.ids and not request.emails:
            raise invalid("ids", "REQUIRED", "is required, or emails")
        if len(request.ids) + len(request.emails) > MAX_LIMIT:
            message = f"must have at most {MAX_LIMIT} items together with ids"
            raise invalid("emails", "TOO_MANY", message)
        references: list[tuple[str, Reference | None]] = [
            *[(text, text if is_id(text) else None) for text in request.ids],
            *[(text, parse_email(text)) for text in request.emails],
        ]
        wanted = [reference for _, reference in references if reference is not None]
        found = await self._database.read(partial(find_each, account_id(), wanted))
        reply = pb.BatchGetSubscribersResponse()
        rows = {row.id: row for each in wanted if (row := found.get(each)) is not None}
        fill_all(reply.subscribers, list(rows.values()), full=_is_full(request))
        missing = [text for text, each in references if each is None or each not in found]
        reply.not_found.extend(dict.fromkeys(missing))
        check_page(reply, "ids", "have fewer items")
        return reply

    async def ListSubscribers(  # type: ignore[override]  # see JsonResponse
        self, request: pb.ListSubscribersRequest, _context: Context
    ) -> SubscribersResponse:
        query = await self._filters.list_query(request)
        found = await read_page(
            self._database, account_id(), query.planned, query.position, query.counting
        )
        return SubscribersResponse(
            found.rows,
            query.selected,
            total=found.total,
            number=query.page,
            limit=query.position.limit,
            next_page_token=query.next_page_token(found),
        )

    async def UpdateSubscriber(
        self, request: pb.UpdateSubscriberRequest, _context: Context
    ) -> pb.UpdateSubscriberResponse:
        if not request.allow_missing and (
            request.is_confirmed or "is_confirmed" in request.update_mask.paths
        ):
            raise invalid("isConfirmed", "UNKNOWN_FIELD", "is accepted only with allowMissing")
        account, fields = account_id(), changed_fields(request, UPDATABLE)
        changes = Changes(
            email=rules.check_email(request.email) if "email" in fields else None,
            profile=rules.check_profile(
                {name: value for name, value in profile_of(request).items() if name in fields}
            ),
            tags=distinct(list(request.tags)) if "tags" in fields else None,
            values=struct_to_dict(request.custom_fields) if "custom_fields" in fields else None,
        )
        if request.allow_missing and not is_id(request.id):
            return await self._upsert(request, changes)
        reference = check_reference(request.id)
        if changes.has_profile_only and not request.etag:
            update = partial(_update_profiles, account)
            shared = SharedWork(("update", account), (reference, changes.profile), update)
            return await self._database.write(shared)

        def change(tx: Transaction) -> pb.UpdateSubscriberResponse:
            check_etag(request, lambda: find(account, reference, tx).etag)
            row = self._store.update(account, reference, changes, tx)
            return _filled(pb.UpdateSubscriberResponse(), row)

        return await self._database.write(change)

    async def _upsert(
        self, request: pb.UpdateSubscriberRequest, changes: Changes
    ) -> pb.UpdateSubscriberResponse:
        account, reference = account_id(), parse_email(request.id)
        if reference is None:
            raise invalid("id", "INVALID_FORMAT", "must be an email address")
        new = _new_subscriber(request, rules.check_email(request.email or request.id))

        def upsert(tx: Transaction) -> pb.UpdateSubscriberResponse:
            check_etag(request, lambda: _etag_or_none(account, reference, tx))
            row, created = self._store.upsert(account, new, changes, reference, tx)
            return _filled(pb.UpdateSubscriberResponse(created=created), row)

        return await self._database.write(upsert)

    async def ChangeSubscriberStatus(
        self, request: pb.ChangeSubscriberStatusRequest, _context: Context
    ) -> pb.ChangeSubscriberStatusResponse:
        change = partial(
            store_changes.change_status,
            by_admin=current().scope == "admin",
            consent_source=request.consent_source,
            suppressions=self._suppressions,
        )
        status = Status(request.status)
        return await self._change(request, change, status, pb.ChangeSubscriberStatusResponse)

    async def AddSubscriberTags(
        self, request: pb.AddSubscriberTagsRequest, _context: Context
    ) -> pb.AddSubscriberTagsResponse:
        tags = distinct(list(request.tags))
        change = store_changes.add_tags
        return await self._change(request, change, tags, pb.AddSubscriberTagsResponse)

    async def RemoveSubscriberTags(
        self, request: pb.RemoveSubscriberTagsRequest, _context: Context
    ) -> pb.RemoveSubscriberTagsResponse:
        keys = {caseless_key(name) for name in request.tags}
        change = store_changes.remove_tags
        return await self._change(request, change, keys, pb.RemoveSubscriberTagsResponse)

    async def _change(
        self,
        request: Changing,
        change: Callable[[str, Reference, Any, Transaction], SubscriberRow],
        value: Any,
        response: Callable[[], Reply],
    ) -> Reply:
        account, reference = account_id(), check_reference(request.id)

        def run(tx: Transaction) -> Reply:
            check_etag(request, lambda: find(account, reference, tx).etag)
            return _filled(response(), change(account, reference, value, tx))

        return await self._database.write(run)

    async def DeleteSubscriber(
        self, request: pb.DeleteSubscriberRequest, _context: Context
    ) -> pb.DeleteSubscriberResponse:
        account, reference = account_id(), check_reference(request.id)

        def check(tx: Transaction) -> None:
            check_etag(request, lambda: find(account, reference, tx).etag)

        def delete(tx: Transaction) -> None:
            check(tx)
            self._store.delete(account, reference, tx)

        if request.erase:
            await self._erase(account, reference, check)
        else:
            await self._database.write(delete)
        return pb.DeleteSubscriberResponse()

    async def _erase(
        self, account: str, reference: Reference, check: Callable[[Transaction], None]
    ) -> None:
        # An account can have many stored responses. Writers do not wait for the search.
        def search(tx: Transaction) -> tuple[Person, set[str]]:
            check(tx)
            person = person_of(account, reference, tx)
            return person, self._personal_data.responses(account, person, tx)

        person, responses = await self._database.read(search)
        first = await self._personal_data.remove_early(account, person)

        def erase(tx: Transaction) -> None:
            check(tx)
            person = person_of(account, reference, tx)
            tx.record_change(person.id)
            self._store.delete(account, reference, tx)
            self._personal_data.remove(account, person, responses, first, tx)

        await self._database.write(erase)
        await self._personal_data.remove_files(account)


def _find_each(
    account: str, references: Sequence[Reference], tx: Transaction
) -> list[SubscriberRow | Exception]:
    if len(references) == 1:
        return [find(account, references[0], tx)]
    found = find_each(account, references, tx)
    return [found.get(reference) or SubscriberNotFound() for reference in references]


def _etag_or_none(account: str, reference: Reference, tx: Transaction) -> str | None:
    row = find_or_none(account, reference, tx)
    return None if row is None else row.etag


def _update_profiles(
    account: str,
    updates: Sequence[tuple[Reference, Mapping[str, Any]]],
    tx: Transaction,
) -> list[pb.UpdateSubscriberResponse | Exception]:
    return [
        outcome
        if isinstance(outcome, Exception)
        else _filled(pb.UpdateSubscriberResponse(), outcome)
        for outcome in store_changes.update_profiles(account, updates, tx)
    ]


def _new_subscriber(
    request: pb.CreateSubscriberRequest | pb.UpdateSubscriberRequest, email: Email
) -> rules.NewSubscriber:
    return rules.NewSubscriber(
        email=email,
        profile=rules.check_profile(profile_of(request)),
        status=rules.initial_status(is_confirmed=request.is_confirmed),
        tags=distinct(list(request.tags)),
        values=struct_to_dict(request.custom_fields),
    )


def _is_full(request: pb.BatchGetSubscribersRequest | pb.ExportSubscribersRequest) -> bool:
    return request.view == pb.Subscriber.FULL


def _filled(reply: Reply, row: SubscriberRow, *, full: bool = False) -> Reply:
    fill(reply.subscriber, row, full=full)
    reply.etag = row.etag
    return reply
