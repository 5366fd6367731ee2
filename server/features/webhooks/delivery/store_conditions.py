"""Query conditions that the stores of deliveries share."""

from __future__ import annotations

from ....storage.statements import param
from ..models import SENDING, Delivery, Webhook

IN_ACCOUNT = Delivery.account_id == param("account_id")
ONE = IN_ACCOUNT & (Delivery.id == param("id"))
TO_WEBHOOK = IN_ACCOUNT & (Delivery.webhook_id == param("webhook_id"))
# Joins deliveries to their webhooks.
OF_WEBHOOK = (Webhook.account_id == param("account_id")) & (Webhook.id == Delivery.webhook_id)
# The index `delivery_by_due` holds only rows with a due time; SQLite uses it only if the
# query says so.
HAS_DUE_TIME = Delivery.due_at.is_null(False)
DUE = HAS_DUE_TIME & (Delivery.due_at <= param("now"))
# A delivery that is still leased with a fence.
LEASED = ONE & (Delivery.fence == param("fence")) & (Delivery.status == SENDING)
