"""A local mail server that stores what it receives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from queue import Queue

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from ...components import free_port
from ...processes import PATIENCE


@dataclass
class Mailbox:
    """A running mail server. It rejects as many mails as `rejections`, and stores the others.

    It never accepts `unknown` recipients, nor the content of mail to `unwanted` ones. The stored
    mails have encoded headers, as mailbox providers read them.
    """

    address: str
    rejections: int = 0
    unknown: set[str] = field(default_factory=set)
    unwanted: set[str] = field(default_factory=set)
    mails: Queue[Message] = field(default_factory=Queue)

    async def handle_RCPT(
        self, _server: SMTP, _session: Session, envelope: Envelope, to: str, _options: list[str]
    ) -> str:
        """Accepts a recipient; called by aiosmtpd."""
        if to in self.unknown:
            return "550 No such person"
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        """Receives a mail; called by aiosmtpd."""
        if self.rejections:
            self.rejections -= 1
            return "451 Try again later"
        if self.unwanted.intersection(envelope.rcpt_tos):
            return "554 Rejected"
        assert isinstance(envelope.content, bytes)
        self.mails.put(message_from_bytes(envelope.content))
        return "250 OK"

    def receive(self) -> Message:
        """Waits for the next mail."""
        return self.mails.get(timeout=PATIENCE)


@contextmanager
def receiving() -> Iterator[Mailbox]:
    port = free_port()
    mailbox = Mailbox(f"127.0.0.1:{port}")
    server = Controller(mailbox, hostname="127.0.0.1", port=port)
    server.start()
    try:
        yield mailbox
    finally:
        server.stop()
