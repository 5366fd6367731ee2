"""Channels to a Roster service for Python programs, and what its errors say."""

from .channels import Tls, aio_channel, channel
from .errors import error_of

__all__ = ["Tls", "aio_channel", "channel", "error_of"]
