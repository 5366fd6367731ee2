"""Authorizes a call: checks the scope of its API key and the account's verified email."""

from __future__ import annotations

from ...features.accounts.rules import allows
from ..caller import current
from ..errors import EmailNotVerified, Forbidden, KeyInForm, ValidationError
from .authenticate import FORM_KEY
from .base import Call, Interceptor
from .request_fault import request_fault


class Authorize(Interceptor):
    """Raises Forbidden or EmailNotVerified. Also raises the request fault of a gateway.

    A body that is too large, too slow or of the wrong media type is reported before the checks,
    and an invalid request after them.
    """

    def intercept(self, call: Call) -> None:
        fault = request_fault(call.metadata)
        if fault is not None and fault.reason != ValidationError.reason:
            raise fault
        if call.method.is_public:
            if fault is not None:
                raise fault
            return
        caller = current()
        if not allows(caller.scope, call.method.scope):
            raise Forbidden
        exceeds_scope = call.method.takes_forms and caller.scope != call.method.scope
        if exceeds_scope and any(name == FORM_KEY for name, _ in call.metadata):
            raise KeyInForm
        if call.method.needs_verified_email and not caller.email_verified:
            raise EmailNotVerified
        if fault is not None:
            raise fault
