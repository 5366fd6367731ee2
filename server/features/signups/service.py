"""SignupService."""

from __future__ import annotations

from functools import partial

from roster.v1 import signups_pb2 as pb
from roster.v1.signups_pb2_grpc import SignupServiceServicer

from ...rpc import response_times
from ...rpc.caller import account_id, client_address, current, enter_account
from ...rpc.errors import invalid
from ...rpc.messages import Context, check_ip, struct_to_dict
from ...rpc.response_times import wait_for_step
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.actors import Actor, person
from ...values.texts import caseless_key
from ..accounts.rules import SIGNUP
from ..accounts.store import branding
from ..links import pages
from ..links.page_responses import accepts_page, is_form, language_of, response
from ..links.pages import Content, View
from ..subscribers.fields import Status
from ..subscribers.profile import profile_of
from ..subscribers.rules import NewSubscriber, check_email
from ..tags.rules import distinct
from .budget import WriterBudget
from .rules import check_signup_names
from .store import SignupStore


class SignupService(SignupServiceServicer):
    """Accepts sign-ups for the caller's account."""

    def __init__(self, database: Database, store: SignupStore) -> None:
        self._database = database
        self._store = store
        self._budget = WriterBudget()

    async def SignUp(self, request: pb.SignUpRequest, context: Context) -> pb.SignUpResponse:
        started, by_form = response_times.now(), is_form(context)
        account = account_id()
        enter_account(account, _person(request))
        new = NewSubscriber(
            email=check_email(request.email),
            profile=check_signup_names(profile_of(request)),
            status=Status.UNCONFIRMED,
            tags=distinct(list(request.tags)),
            values=struct_to_dict(request.custom_fields),
        )
        tag_paths = {caseless_key(name): f"tags[{i}]" for i, name in enumerate(request.tags)}

        def sign_up(tx: Transaction) -> pb.SignUpResponse:
            checked = self._store.checked(account, new, tag_paths, tx, is_form=by_form)
            if not request.website:
                self._store.sign_up(account, checked, tx)
            return pb.SignUpResponse()

        if current().scope == SIGNUP:
            with self._budget.spend(current().actor.id):
                await self._database.write(sign_up)
        else:
            await self._database.write(sign_up)
        reply = pb.SignUpResponse()
        if accepts_page(context):
            design = await self._database.read(partial(branding, account))
            content = Content(View.SIGNED_UP, new.email.address, design)
            page = pages.page(language_of(context), content)
            reply.page.CopyFrom(response(page, context))
        # Storing a new subscriber takes longer than finding an existing one.
        await wait_for_step(started)
        return reply


def _person(request: pb.SignUpRequest) -> Actor:
    """Returns the person who signs up. Raises ValidationError for `ip`."""
    if request.ip and current().scope == SIGNUP:
        raise invalid("ip", "INVALID_VALUE", "requires an API key of another scope than signup")
    return person(check_ip(request.ip) or client_address())
