"""What can go wrong between a client and its server."""

from __future__ import annotations

from typing import Optional


class TalariaError(Exception):
    """Every error of this package."""


class ConnectionLost(TalariaError):
    """No answer, or one that broke off or cannot be read."""


class APIError(TalariaError):
    """The server answered with an error; `code` is one of docs/errors.md."""

    def __init__(
        self, status: int, code: Optional[str], message: str, retry_after_s: Optional[float] = None
    ) -> None:
        super().__init__(f"{status} {code or ''}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s


class SlotNotFound(APIError):
    """The slot was released, was not used for too long, or the server was restarted: acquire one again."""
