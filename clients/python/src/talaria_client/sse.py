"""Server-sent events, from the lines of an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class SseMessage:
    event: str
    data: str
    #: The last id so far; empty where there was none.
    id: str


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """
    The lines of an answer. httpx has `aiter_lines`, which also cuts at U+2028 and the other ends of lines that Unicode knows:
    JSON may hold these, and an event with one would be lost. What follows the last end of a line is dropped.
    """
    rest: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        for other in others:
            yield b"".join(rest).removesuffix(b"\r").decode("utf-8", "replace")
            rest = [other]


async def read_sse(
    lines: AsyncIterator[str], on_comment: Optional[Callable[[str], None]] = None
) -> AsyncIterator[SseMessage]:
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
        elif name == "" and on_comment is not None:
            on_comment(value)
