"""SubscriberService."""

from __future__ import annotations

from typing import TypeVar

from roster.v1 import subscribers_pb2 as pb
from roster.v1.subscribers_pb2_grpc import SubscriberServiceServicer

from ..caller import account_id
from ..emails import parse_email
from ..errors import SubscriberNotFound
from ..ids import checked_id, is_id
from ..messages import Context, changed_fields, set_timestamp
from ..paging import page_of
from ..storage.database import Database
from ..tags.rules import distinct
from . import rules, store

Reply = TypeVar(
    "Reply",
    pb.CreateSubscriberResponse,
    pb.GetSubscriberResponse,
    pb.UpdateSubscriberResponse,
)

UPDATABLE = ("email", "first_name", "last_name", "tags")


class SubscriberService(SubscriberServiceServicer):
    """Keeps the subscribers of the caller's account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def CreateSubscriber(
        self, request: pb.CreateSubscriberRequest, context: Context
    ) -> pb.CreateSubscriberResponse:
        account = account_id()
        new = rules.NewSubscriber(
            email=rules.check_email(request.email),
            first_name=request.first_name,
            last_name=request.last_name,
            status=rules.initial_status(is_confirmed=request.is_confirmed),
            tags=distinct(list(request.tags)),
        )
        row = await self._database.write(lambda tx: store.create(account, new, tx))
        return _filled(pb.CreateSubscriberResponse(), row)

    async def BulkCreateSubscribers(
        self, request: pb.BulkCreateSubscribersRequest, context: Context
    ) -> pb.BulkCreateSubscribersResponse:
        account = account_id()
        rows = request.subscribers
        good, failed = rules.judge(rows)
        if good:
            taken = await self._database.write(lambda tx: store.create_many(account, good, tx))
            failed.update(dict.fromkeys(taken, rules.Failure.ALREADY_EXISTS))
        return pb.BulkCreateSubscribersResponse(
            failed=[
                pb.BulkFailure(
                    index=index,
                    email=rows[index].email,
                    reason=pb.BulkFailure.Reason.ValueType(failed[index]),
                )
                for index in sorted(failed)
            ]
        )

    async def GetSubscriber(
        self, request: pb.GetSubscriberRequest, context: Context
    ) -> pb.GetSubscriberResponse:
        account = account_id()
        if is_id(request.id):
            row = await self._database.read(lambda tx: store.find(account, request.id, tx))
            return _filled(pb.GetSubscriberResponse(), row)
        email = parse_email(request.id)
        if email is None:
            raise SubscriberNotFound
        row = await self._database.read(lambda tx: store.find_by_email(account, email, tx))
        return _filled(pb.GetSubscriberResponse(), row)

    async def ListSubscribers(
        self, request: pb.ListSubscribersRequest, context: Context
    ) -> pb.ListSubscribersResponse:
        account, page = account_id(), page_of(request)
        rows, total = await self._database.read(lambda tx: store.page(account, page, tx))
        reply = pb.ListSubscribersResponse(total=total, page=page.number, limit=page.limit)
        for row in rows:
            _fill(reply.subscribers.add(), row)
        return reply

    async def UpdateSubscriber(
        self, request: pb.UpdateSubscriberRequest, context: Context
    ) -> pb.UpdateSubscriberResponse:
        account, fields = account_id(), changed_fields(request, UPDATABLE)
        changes = store.Changes(
            email=rules.check_email(request.email) if "email" in fields else None,
            first_name=request.first_name if "first_name" in fields else None,
            last_name=request.last_name if "last_name" in fields else None,
            tags=distinct(list(request.tags)) if "tags" in fields else None,
        )
        subscriber_id = checked_id(request.id, SubscriberNotFound)
        row = await self._database.write(
            lambda tx: store.update(account, subscriber_id, changes, tx)
        )
        return _filled(pb.UpdateSubscriberResponse(), row)

    async def DeleteSubscriber(
        self, request: pb.DeleteSubscriberRequest, context: Context
    ) -> pb.DeleteSubscriberResponse:
        account, subscriber_id = account_id(), checked_id(request.id, SubscriberNotFound)
        await self._database.write(lambda tx: store.delete(account, subscriber_id, tx))
        return pb.DeleteSubscriberResponse()


def _filled(reply: Reply, row: store.SubscriberRow) -> Reply:
    _fill(reply.subscriber, row)
    return reply


def _fill(target: pb.Subscriber, row: store.SubscriberRow) -> None:
    """Fills a subscriber in place: pages are made of many, and copies cost as much again."""
    target.id, target.email, _, target.first_name, target.last_name, status, at, tags = row
    target.status = status  # type: ignore[assignment]
    if tags:
        target.tags.extend(tags)
    set_timestamp(target.created_at, at)
