"""Opens gRPC channels to a Roster server, and decodes its errors."""

from .channels import Tls, aio_channel, channel
from .errors import CallFailure, error_of

__all__ = ["CallFailure", "Tls", "aio_channel", "channel", "error_of"]
