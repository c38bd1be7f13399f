"""Server-sent events, from the lines of an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass


@dataclass(frozen=True)
class SseMessage:
    event: str
    data: str
    #: The last id so far; empty where there was none.
    id: str


async def read_sse(lines: AsyncIterator[str]) -> AsyncIterator[SseMessage]:
    """An unfinished last frame is dropped, as the rules have it."""
    event, event_id = "", ""
    data: list[str] = []
    async for line in lines:
        if line == "":
            if data:
                yield SseMessage(event, "\n".join(data), event_id)
            event, data = "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            event = value
        elif name == "id":
            event_id = value
