"""The client. Each part of the API is an attribute: `client.runs.create(…)`."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type

from .runs import Runs
from .slots import Slots
from .transport import Transport


class Talaria:
    """`base_url` and `api_key` default to `TALARIA_BASE_URL` and `TALARIA_API_KEY`."""

    def __init__(
        self, base_url: Optional[str] = None, api_key: Optional[str] = None, *, max_retries: int = 3
    ) -> None:
        self._transport = Transport(base_url, api_key, max_retries)
        self.runs = Runs(self._transport)
        self.slots = Slots(self._transport)

    @property
    def base_url(self) -> str:
        return self._transport.base_url

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Talaria:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
