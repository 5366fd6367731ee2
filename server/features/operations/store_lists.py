"""Lists operations by state and type, which are derived from the stored request."""

from __future__ import annotations

from peewee import SQL, Case, Expression, fn

from ...rpc.errors import OperationNotFound
from ...rpc.paging import Page
from ...storage.resource import Resource
from ...storage.statements import param
from ...storage.transaction import Transaction
from .models import Operation
from .rules import State, Type
from .store import OperationRow


def _begins(text: str) -> Expression:
    return fn.SUBSTR(Operation.request, SQL("1"), SQL(str(len(text)))) == SQL(f"'{text}'")


# The order of the members of a stored request is that of its class.
_TYPE = Case(
    None,
    [
        (_begins('{"undo_of":'), SQL(str(int(Type.SUBSCRIBERS_UNDO)))),
        (_begins('{"replay":'), SQL(str(int(Type.WEBHOOK_REPLAY)))),
        *((_begins(f'{{"type":{each:d},'), SQL(f"{each:d}")) for each in Type),
        (_begins('{"type":'), SQL("0")),
    ],
    SQL(str(int(Type.SUBSCRIBERS_BATCH))),
)
_STATE = Case(None, [(Operation.ended_at.is_null(), SQL(str(int(State.RUNNING))))], Operation.state)
_LISTED = Resource(
    OperationRow,
    Operation.id,
    OperationNotFound,
    descending=True,
    among=((param("type") == SQL("0")) | (param("type") == _TYPE))
    & ((param("state") == SQL("0")) | (param("state") == _STATE)),
)


def page(
    account_id: str, page: Page, tx: Transaction, among: tuple[int, int] = (0, 0)
) -> tuple[list[OperationRow], int, Page | None]:
    """Returns operations as `Resource.page`, those of a state and of a type; 0 is any."""
    state, type_ = among
    return _LISTED.page(account_id, page, tx, state=state, type=type_)
