"""StatisticService."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from roster.v1 import statistics_pb2 as pb
from roster.v1.statistics_pb2_grpc import StatisticServiceServicer

from ...rpc.caller import account_id
from ...rpc.errors import invalid
from ...rpc.messages import Context
from ...storage.database import Database
from ...storage.transaction import Transaction
from ..statistics import store
from ..statistics.rules import EPOCH, STATUS, Flow, date_of, day_of, today_in, zone_of
from ..tags.store import names_of
from .fields import Status
from .query.request import FilterExpressions
from .query.store_groups import count_groups
from .query.store_pages import count_matches
from .query.tree import EVERYONE

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_FIRST_DAY = (date.min - EPOCH).days
# Without the other forms of ISO 8601, which Python also parses.
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# The days of the net growth, and of a list of days by default.
PERIOD = 30
MAX_DAYS = 366
MAX_TAGS = 1_000


class StatisticService(StatisticServiceServicer):
    """Returns statistics of the caller's account."""

    def __init__(self, database: Database, filters: FilterExpressions) -> None:
        self._database = database
        self._filters = filters

    async def GetStatistics(
        self, request: pb.GetStatisticsRequest, _context: Context
    ) -> pb.GetStatisticsResponse:
        account, segments = account_id(), []
        for segment_id in request.segment_ids:
            tree = await self._filters.read("", segment_id)
            total = await self._database.read(partial(count_matches, account, tree))
            segments.append(pb.SegmentTotal(id=segment_id, total=total))
        tree = await self._filters.read(request.filter, request.segment_id, request.q)
        with_tags = request.by == pb.GetStatisticsRequest.TAG or (
            pb.GetStatisticsRequest.TAGS in request.include
        )
        response = await self._database.read(partial(_read, account, tree, with_tags=with_tags))
        response.segments.extend(segments)
        return response

    async def GetDailyStatistics(
        self, request: pb.GetDailyStatisticsRequest, _context: Context
    ) -> pb.GetDailyStatisticsResponse:
        account = account_id()
        first = _day("from", request.from_date) if request.from_date else None
        last = _day("to", request.to_date) if request.to_date else None
        zone = _zone(request.time_zone) if request.time_zone else None

        def read(tx: Transaction) -> pb.GetDailyStatisticsResponse:
            today = day_of(tx.now) if zone is None else today_in(zone, tx.now)
            end = today if last is None else last
            start = max(end - PERIOD + 1, _FIRST_DAY) if first is None else first
            if not start <= end < start + MAX_DAYS:
                message = f"must be at most {MAX_DAYS} days before to, and not after it"
                raise invalid("from", "OUT_OF_RANGE", message)
            if zone is None:
                flows = store.flows(account, start, end, tx)
                return pb.GetDailyStatisticsResponse(days=_days(start, end, flows))
            flows, exact_from = store.local_flows(account, start, end, zone, tx)
            return pb.GetDailyStatisticsResponse(
                days=_days(start, end, flows),
                exact_from=None if exact_from is None else date_of(exact_from),
            )

        return await self._database.read(read)


def _days(
    first: int, last: int, flows: Mapping[tuple[int, str], int]
) -> Iterator[pb.DailyStatistics]:
    counted = [flow for flow in Flow if flow is not Flow.GROWTH]
    for day in range(first, last + 1):
        yield pb.DailyStatistics(
            date=date_of(day),
            net_growth=flows.get((day, Flow.GROWTH), 0),
            **{flow.value: flows.get((day, flow), 0) for flow in counted},
        )


def _read(account: str, tree: Any, tx: Transaction, *, with_tags: bool) -> pb.GetStatisticsResponse:
    by_status: Mapping[Any, int]
    by_tag: Mapping[str, int] = {}
    growth = None
    if tree is EVERYONE:
        today = day_of(tx.now)
        flows = store.flows(account, today - PERIOD + 1, today, tx)
        growth = sum(total for (_, name), total in flows.items() if name == Flow.GROWTH)
        by_status = store.totals(account, STATUS, tx)
        if with_tags:
            by_tag = store.tag_totals(account, tx)
    else:
        by_status, by_tag = count_groups(account, tree, tx, with_tags=with_tags)
    named = {Status(int(status)).name.lower(): total for status, total in by_status.items()}
    return pb.GetStatisticsResponse(
        total=sum(named.values()),
        by_status=pb.StatusTotals(**named),
        net_growth=growth,
        tags=_largest(account, by_tag, tx),
    )


def _largest(account: str, totals: Mapping[str, int], tx: Transaction) -> list[pb.TagTotal]:
    largest = heapq.nlargest(MAX_TAGS, totals, key=totals.__getitem__)
    names = names_of(account, largest, tx) if largest else {}
    # A tag that is being deleted has no name.
    named = [id_ for id_ in largest if id_ in names]
    return [pb.TagTotal(id=id_, name=names[id_], total=totals[id_]) for id_ in named]


def _zone(name: str) -> ZoneInfo:
    """Returns a time zone. Raises ValidationError."""
    zone = zone_of(name)
    if zone is None:
        message = "must be a name of the IANA time zone database, such as Europe/Berlin"
        raise invalid("timeZone", "INVALID_VALUE", message)
    return zone


def _day(field: str, text: str) -> int:
    """Returns the number of a day. Raises ValidationError."""
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        return (date.fromisoformat(text) - EPOCH).days
    except ValueError:
        message = "must be a date such as 2026-01-31"
        raise invalid(field, "INVALID_FORMAT", message) from None
