"""Records the calls of rpcs with the option `audit` in the audit log of the account."""

from __future__ import annotations

from ...features.audit.audited_database import AuditedCall, AuditedDatabase
from ...values.ids import is_id
from .. import caller
from .base import Call, Interceptor, Method


class Audit(Interceptor):
    """Lets the database record a call. Runs after Authorize and Validate."""

    def __init__(self, database: AuditedDatabase) -> None:
        self._database = database

    def applies_to(self, method: Method) -> bool:
        # A public rpc has no caller before it runs, and records itself.
        return bool(method.audited_action) and not method.is_public

    def intercept(self, call: Call) -> None:
        condition = call.method.audited_if
        if condition and not getattr(call.request, condition):
            return
        # A dry run changes nothing.
        if getattr(call.request, "dry_run", False):
            return
        by = caller.current()
        # Of a subscriber it can be an address. The stream of an import has none.
        reference = getattr(call.request, "id", "")
        audited = AuditedCall(
            account_id=by.account_id,
            action=call.method.audited_action,
            actor=by.actor,
            ip=call.client_address,
            resource_id=reference if is_id(reference) else "",
        )
        self._database.audit(audited)
        call.done_callbacks.append(lambda _: self._database.end_audit(audited))
