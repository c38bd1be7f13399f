"""`/v1/runs`: agents that go on whether or not anybody is connected."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any, Dict, List, Optional
from urllib.parse import quote

from .errors import APIError, ConnectionLost
from .sse import lines_of, read_sse
from .transport import Json, Transport, backoff_s

TERMINAL_EVENTS = {"run.completed", "run.failed", "run.cancelled"}
#: The server breaks every silence within ten seconds.
IDLE_S = 30.0
#: Losses one after the other without an event between them.
MAX_LOSSES = 10


class Runs:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, input: Any, *, idempotency_key: Optional[str] = None, **fields: Any) -> Json:
        """Starts a run; its id is `run_id` of the answer. The key makes a repeated request the same run."""
        return await self._start("/v1/runs", {"input": input, **fields}, idempotency_key)

    async def fork(
        self,
        run_id: str,
        *,
        at: Optional[int] = None,
        input: Any = None,
        instructions: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        **fields: Any,
    ) -> Json:
        """
        Starts a run that continues from the event `at` of this one, by default from its last. `input` is the next message
        of the user; without it the model is asked again. `instructions` replaces those of the run.
        """
        given = {"at": at, "input": input, "instructions": instructions, **fields}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._start(f"{_path(run_id)}/fork", body, idempotency_key)

    async def get(self, run_id: str) -> Json:
        return await self._transport.json("GET", _path(run_id), repeat=True)

    async def head(self, run_id: str) -> Json:
        """The run without its answer. Also finds one that is `evicted`, as long as lists show it."""
        return await self._transport.json("GET", _path(run_id), query={"view": "head"}, repeat=True)

    async def list(
        self,
        *,
        status: Optional[str] = None,
        session_id: Optional[str] = None,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> Json:
        """One page; `next_cursor` of the answer is the `after` of the next one."""
        query = {"status": status, "session_id": session_id, "limit": limit, "after": after}
        return await self._transport.json("GET", "/v1/runs", query=query, repeat=True)

    async def events(self, run_id: str, *, after: Optional[int] = None) -> AsyncIterator[Json]:
        """
        Every event after `after` once and in order, until the run has ended. A lost connection is resumed at the
        event it was lost at.
        """
        cursor = after
        losses = 0
        while True:
            headers = {"accept": "text/event-stream"}
            if cursor is not None:
                headers["last-event-id"] = str(cursor)
            try:
                path = f"{_path(run_id)}/events"
                async with self._transport.stream("GET", path, headers=headers, idle_s=IDLE_S) as response:
                    if response.status_code == 204:
                        return
                    async for message in read_sse(lines_of(response.aiter_bytes())):
                        event: Json = json.loads(message.data)
                        cursor = int(event["seq"])
                        losses = 0
                        yield event
                        if event["event"] in TERMINAL_EVENTS:
                            return
            except (ConnectionLost, APIError) as error:
                _raise_unless_passing(error, losses)
            await asyncio.sleep(backoff_s(losses))
            losses += 1

    async def feed(self, *, after: Optional[str] = None) -> AsyncIterator[Json]:
        """
        The runs of the key as they change: `{"event": "run.changed", "run", "cursor"}`, the run in its latest state and
        without its answer. It has no end, and begins now, or with everything that has changed since the cursor `after`. A
        lost connection is resumed, so no change is missed; a run may come again.
        """
        cursor = after
        losses = 0

        def begin(comment: str) -> None:
            nonlocal cursor
            if cursor is None and comment.startswith("cursor "):
                cursor = comment.removeprefix("cursor ")

        while True:
            headers = {"accept": "text/event-stream"}
            if cursor is not None:
                headers["last-event-id"] = cursor
            try:
                async with self._transport.stream("GET", "/v1/feed", headers=headers, idle_s=IDLE_S) as response:
                    async for message in read_sse(lines_of(response.aiter_bytes()), begin):
                        change: Json = json.loads(message.data)
                        cursor = message.id
                        losses = 0
                        if change["event"] == "run.changed":
                            yield {**change, "cursor": cursor}
            except (ConnectionLost, APIError) as error:
                _raise_unless_passing(error, losses)
            await asyncio.sleep(backoff_s(losses))
            losses += 1

    async def wait(self, run_id: str) -> Json:
        """The run, once it has ended."""
        async for _ in self.events(run_id):
            pass
        return await self.get(run_id)

    async def keep(self, run_id: str, keep: bool = True) -> Json:
        """Keeps the run and its files until `keep(run_id, False)` takes that back."""
        return await self._transport.json("PATCH", _path(run_id), body={"keep": keep}, repeat=True)

    async def stop(self, run_id: str) -> Json:
        return await self._transport.json("POST", f"{_path(run_id)}/stop", body={}, repeat=True)

    async def approve(
        self, run_id: str, choice: str, *, request_id: Optional[str] = None, message: Optional[str] = None
    ) -> Json:
        """`choice` is `once`, `session`, `always` or `deny`; with a `request_id` it answers that question alone.
        `message` goes with `deny`: the model is told why."""
        given = {"choice": choice, "request_id": request_id, "message": message}
        body: Dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        path = f"{_path(run_id)}/approval"
        return await self._transport.json("POST", path, body=body, repeat=request_id is not None)

    async def _start(self, path: str, body: Json, idempotency_key: Optional[str]) -> Json:
        headers = {"idempotency-key": idempotency_key or f"idem_{uuid.uuid4().hex}"}
        return await self._transport.json("POST", path, body=body, headers=headers, repeat=True)

    async def steer(self, run_id: str, input: str) -> Json:
        return await self._transport.json("POST", f"{_path(run_id)}/steer", body={"input": input}, repeat=False)

    async def artifacts(self, run_id: str, path: str = "", *, recursive: bool = False) -> List[Json]:
        """What lies in the workspace of the run: `path`, `type`, `size` and `modified_at` of each."""
        query = {"path": path or None, "recursive": "true" if recursive else None}
        answer = await self._transport.json("GET", f"{_path(run_id)}/artifacts", query=query, repeat=True)
        return list(answer["data"])

    async def read_artifact(self, run_id: str, path: str) -> bytes:
        return await self._transport.bytes(
            "GET", f"{_path(run_id)}/artifacts/content", query={"path": path}, timeout_s=600, repeat=True
        )

    async def archive_artifacts(self, run_id: str, path: str = "", *, format: str = "tar.gz") -> bytes:
        query = {"path": path or None, "format": format}
        return await self._transport.bytes(
            "GET", f"{_path(run_id)}/artifacts/archive", query=query, timeout_s=600, repeat=True
        )


def _raise_unless_passing(error: Exception, losses: int) -> None:
    refused = isinstance(error, APIError) and error.status < 500 and error.status != 429
    if refused or losses >= MAX_LOSSES:
        raise error


def _path(run_id: str) -> str:
    return f"/v1/runs/{quote(run_id, safe='')}"
