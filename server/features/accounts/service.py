"""Implements AccountService and ApiKeyService."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from roster.v1 import accounts_pb2
from roster.v1 import api_keys_pb2 as pb
from roster.v1.accounts_pb2_grpc import AccountServiceServicer
from roster.v1.api_keys_pb2_grpc import ApiKeyServiceServicer

from ...rpc.caller import account_id
from ...rpc.errors import ApiKeyNotFound, LastAdminKey, invalid
from ...rpc.etags import Conditional, check_change, etag_of, with_etag
from ...rpc.messages import Context, changed_fields, milliseconds
from ...rpc.paging import page_in
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from . import rules, store, store_keys
from .images import MAX_SIDE, read_image
from .messages import account_message, api_key_message


class AccountService(AccountServiceServicer):
    """Manages the caller's account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def GetAccount(
        self, _request: accounts_pb2.GetAccountRequest, _context: Context
    ) -> accounts_pb2.GetAccountResponse:
        account = account_id()

        def get(tx: Transaction) -> accounts_pb2.GetAccountResponse:
            row = store.find_account(account, tx)
            return with_etag(accounts_pb2.GetAccountResponse(account=account_message(row, tx)))

        return await self._database.read(get)

    async def UpdateAccount(
        self, request: accounts_pb2.UpdateAccountRequest, _context: Context
    ) -> accounts_pb2.UpdateAccountResponse:
        account, fields = account_id(), changed_fields(request, ("display_name", "color", "logo"))
        logo_type = _logo_type(request.logo) if "logo" in fields and request.logo else ""
        new = {"display_name": request.display_name, "color": request.color.lower()}
        changes = {field: value for field, value in new.items() if field in fields}

        def update(tx: Transaction) -> accounts_pb2.UpdateAccountResponse:
            check_change(request, account_message(store.find_account(account, tx), tx), tx)
            row = store.update_account(account, changes, tx)
            if "logo" in fields:
                store.set_logo(account, logo_type, request.logo, tx)
            return with_etag(accounts_pb2.UpdateAccountResponse(account=account_message(row, tx)))

        return await self._database.write(update)


class ApiKeyService(ApiKeyServiceServicer):
    """Manages the API keys of an account.

    `invalidate(key_id)` removes a key that was rotated or revoked from the cache of this process.
    """

    def __init__(self, database: Database, invalidate: Callable[[str], None]) -> None:
        self._database = database
        self._invalidate = invalidate

    async def CreateApiKey(
        self, request: pb.CreateApiKeyRequest, _context: Context
    ) -> pb.CreateApiKeyResponse:
        account, secret = account_id(), rules.make_secret()
        expires_at = milliseconds(request.expires_at) if request.HasField("expires_at") else None
        secret_hash = rules.hash_secret(secret)

        def create(tx: Transaction) -> pb.CreateApiKeyResponse:
            row = store_keys.create_key(
                account, request.name, request.scope, secret_hash, tx, expires_at=expires_at
            )
            etag = _etag(row, secret_hash)
            return pb.CreateApiKeyResponse(api_key=api_key_message(row), secret=secret, etag=etag)

        return await self._database.write(create)

    async def ListApiKeys(
        self, request: pb.ListApiKeysRequest, _context: Context
    ) -> pb.ListApiKeysResponse:
        account, page = account_id(), page_in("API keys", request)
        read = partial(store_keys.page_of_keys, account, page)
        rows, total, following = await self._database.read(read)
        return pb.ListApiKeysResponse(
            api_keys=map(api_key_message, rows), **page.fields(total, following)
        )

    async def RotateApiKey(
        self, request: pb.RotateApiKeyRequest, _context: Context
    ) -> pb.RotateApiKeyResponse:
        account, key_id, secret = (
            account_id(),
            checked_id(request.id, ApiKeyNotFound),
            rules.make_secret(),
        )
        secret_hash = rules.hash_secret(secret)

        def rotate(tx: Transaction) -> pb.RotateApiKeyResponse:
            _check(request, account, key_id, tx)
            row = store_keys.rotate_key(
                account, key_id, secret_hash, tx, grace_seconds=request.grace_seconds
            )
            etag = _etag(row, secret_hash)
            return pb.RotateApiKeyResponse(api_key=api_key_message(row), secret=secret, etag=etag)

        response = await self._database.write(rotate)
        self._invalidate(key_id)
        return response

    async def RevokeApiKey(
        self, request: pb.RevokeApiKeyRequest, _context: Context
    ) -> pb.RevokeApiKeyResponse:
        account, key_id = account_id(), checked_id(request.id, ApiKeyNotFound)

        def revoke(tx: Transaction) -> None:
            _check(request, account, key_id, tx)
            if store_keys.is_last_admin_key(account, key_id, tx):
                raise LastAdminKey
            store_keys.revoke_key(account, key_id, tx)

        await self._database.write(revoke)
        self._invalidate(key_id)
        return pb.RevokeApiKeyResponse()


def _logo_type(data: bytes) -> str:
    """Returns the media type of a logo. Raises ValidationError."""
    image = read_image(data)
    if image is None:
        raise invalid("logo", "INVALID_FORMAT", "must be a whole PNG, JPEG, GIF or WebP image")
    if image.is_too_large:
        message = f"must be at most {MAX_SIDE:,} pixels wide and high"
        raise invalid("logo", "OUT_OF_RANGE", message)
    return image.media_type


def _check(request: Conditional, account_id: str, key_id: str, tx: Transaction) -> None:
    """Checks the condition of a change of a key. Raises ApiKeyNotFound."""
    row = store_keys.find_key(account_id, key_id, tx)
    secret_hash = store_keys.secret_hash_of(account_id, key_id, tx)
    check_change(request, _without_use(row), tx, secret_hash.encode())


def _etag(row: store_keys.ApiKeyRow, secret_hash: str) -> str:
    """Returns the entity tag of a key, which changes with its secret, but not with its use."""
    return etag_of(_without_use(row), secret_hash.encode())


def _without_use(row: store_keys.ApiKeyRow) -> pb.ApiKey:
    return api_key_message(row._replace(last_used_at=None))
