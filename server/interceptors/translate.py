"""From exceptions to status codes and google.rpc details; nothing else knows codes.

An error of `errors.py` is told as it is. Anything else is a fault of the
service: the log gets the whole story, the caller one calm sentence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AbortError
from grpc_status import rpc_status
from roster.v1 import errors_pb2

from .. import caller
from ..errors import DeadlineExceeded, Internal, RosterError
from ..messages import Context
from .around import PACKAGE, Around, Method, Proceed
from .deadlines import Deadlines
from .observe import REQUEST_ID

log = logging.getLogger(__name__)

DOMAIN = "roster"
# How long a call may take when it names no deadline of its own, and the most
# that it may ask for: nobody waits longer for an answer from a list of addresses.
DEADLINE_SECONDS = 30.0
# The faults that are told of one request: they travel in metadata, which is bounded.
MAX_DETAILS = 20
MAX_DETAIL_BYTES = 120


class Translate(Around):
    """Applies the deadline, and turns what a call raises into a status."""

    def __init__(self) -> None:
        super().__init__()
        self._deadlines = Deadlines()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await super().intercept_service(continuation, details)
        if handler is None or not handler.unary_unary or details.method.startswith(f"/{PACKAGE}"):
            return handler
        return handler._replace(unary_unary=partial(_calmly, handler.unary_unary))

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        task = asyncio.current_task()
        assert task is not None
        remaining = context.time_remaining()
        limit = DEADLINE_SECONDS if remaining is None else min(remaining, DEADLINE_SECONDS)
        self._deadlines.start(task, limit)
        try:
            return await proceed(request, context)
        except RosterError as error:
            told = error
        except AbortError:
            raise
        except asyncio.CancelledError:
            if not self._deadlines.expired(task):
                raise
            told = DeadlineExceeded()
        except Exception:
            log.exception("%s failed", method.name, extra={"requestId": caller.request_id()})
            told = Internal()
        finally:
            self._deadlines.end(task)
        await abort(context, told)
        raise AssertionError("abort always raises")


async def _calmly(proceed: Proceed, request: Any, context: Context) -> Any:
    """Answers a call of another package, such as health; what it raises stays in the log."""
    try:
        return await proceed(request, context)
    except NotImplementedError:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "This method is not served here.")
    except (AbortError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("a call of another package failed")
        await context.abort(grpc.StatusCode.INTERNAL, Internal.message)


async def abort(context: Context, error: RosterError) -> None:
    """Ends the call with the status and details of an error."""
    request_id = caller.request_id()
    status = rpc_status.to_status(status_of(error, request_id))
    metadata = (*(status.trailing_metadata or ()), (REQUEST_ID, request_id))
    await context.abort(status.code, status.details, metadata)


def status_of(error: RosterError, request_id: str) -> status_pb2.Status:
    """Returns the error as google.rpc.Status with ErrorInfo, BadRequest and RequestInfo."""
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)]
    if error.details:
        details.append(
            error_details_pb2.BadRequest(
                field_violations=[
                    error_details_pb2.BadRequest.FieldViolation(
                        field=_cut(detail.field),
                        description=_cut(detail.message),
                        reason=detail.code,
                    )
                    for detail in error.details[:MAX_DETAILS]
                ]
            )
        )
    details.append(error_details_pb2.RequestInfo(request_id=request_id))
    packed = []
    for detail in details:
        packed.append(AnyMessage())
        packed[-1].Pack(detail)
    return status_pb2.Status(code=_code(error.reason), message=error.message, details=packed)


def _cut(text: str) -> str:
    """Returns a text that fits into metadata beside nineteen others."""
    if len(text) <= MAX_DETAIL_BYTES // 4:
        return text
    return text.encode()[:MAX_DETAIL_BYTES].decode(errors="ignore")


@cache
def _code(reason: str) -> int:
    """Returns the status code that errors.proto gives to a reason."""
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_name[reason]
    code = value.GetOptions().Extensions[errors_pb2.error_mapping].grpc
    assert StatusCode[code_pb2.Code.Name(code)]
    return int(code)
