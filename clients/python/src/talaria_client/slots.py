"""`/v1/slots`: the sandbox without the agent, as the wire has it. `SlotBackend` is the form for trainers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote

from .errors import ConnectionLost
from .sse import lines_of, read_sse
from .transport import Json, Transport, to_error

#: The server waits for a free slot, and answers 429 after that.
ACQUIRE_TIMEOUT_S = 3700.0
#: A batch takes as long as its slowest call; the server ends those in time.
EXECUTE_TIMEOUT_S = 3600.0
#: On a cluster the files of a slot travel first.
RELEASE_TIMEOUT_S = 600.0
IDLE_S = 60.0


class Slots:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def acquire(self, trajectory_id: Optional[str] = None) -> Json:
        body = {} if trajectory_id is None else {"trajectory_id": trajectory_id}
        # Twice the same trajectory is one slot.
        repeat = trajectory_id is not None
        return await self._transport.json(
            "POST", "/v1/slots", body=body, timeout_s=ACQUIRE_TIMEOUT_S, repeat=repeat
        )

    async def execute(
        self, requests: Sequence[Mapping[str, Any]], *, timeout_s: Optional[float] = None
    ) -> List[Json]:
        """The results, in the order of the requests: `{"slot_id", "tool", "args"}` each."""
        answer = await self._transport.json(
            "POST", "/v1/slots/execute", body=_batch(requests, timeout_s), timeout_s=EXECUTE_TIMEOUT_S, repeat=False
        )
        return list(answer["results"])

    async def stream(
        self, requests: Sequence[Mapping[str, Any]], *, timeout_s: Optional[float] = None
    ) -> AsyncIterator[Tuple[int, Json]]:
        """Each result as soon as it is there, with the place of its request."""
        body, headers = _batch(requests, timeout_s), {"accept": "text/event-stream"}
        async with self._transport.stream(
            "POST", "/v1/slots/execute", body=body, headers=headers, idle_s=IDLE_S
        ) as response:
            async for message in read_sse(lines_of(response.aiter_bytes())):
                if message.event == "slot.done":
                    return
                if message.event == "error":
                    raise to_error(500, response.headers, message.data.encode())
                if message.event == "slot.result":
                    data = json.loads(message.data)
                    yield int(data["index"]), data["result"]
        raise ConnectionLost("The stream ended before the batch did")

    async def release(self, slot_id: str, *, reset_workspace: bool = False) -> Json:
        """
        Repeated where its answer is lost: an id is never given out twice, so the second time finds none, or does it.
        `files_after_loss` of the answer says which files a slot that was lost has left: `kept` or `reverted`.
        """
        body = {"reset_workspace": reset_workspace}
        return await self._transport.json(
            "POST", f"{_path(slot_id)}/release", body=body, timeout_s=RELEASE_TIMEOUT_S, repeat=True
        )

    async def list(self) -> Json:
        """`data` has the slots of this key, `stats` what it holds and could have."""
        return await self._transport.json("GET", "/v1/slots", repeat=True)

    async def list_artifacts(self, slot_id: str, query: Mapping[str, Any], timeout_s: float) -> Json:
        return await self._transport.json(
            "GET", f"{_path(slot_id)}/artifacts", query=query, timeout_s=timeout_s, repeat=True
        )

    async def read_artifact(self, slot_id: str, query: Mapping[str, Any], timeout_s: float) -> Json:
        return await self._transport.json(
            "GET", f"{_path(slot_id)}/artifacts/content", query=query, timeout_s=timeout_s, repeat=True
        )

    async def archive_artifacts(self, slot_id: str, query: Mapping[str, Any], timeout_s: float) -> bytes:
        return await self._transport.bytes(
            "GET", f"{_path(slot_id)}/artifacts/archive", query=query, timeout_s=timeout_s, repeat=True
        )


def _batch(requests: Sequence[Mapping[str, Any]], timeout_s: Optional[float]) -> Dict[str, Any]:
    body: Dict[str, Any] = {"requests": list(requests)}
    if timeout_s is not None:
        body["timeout_s"] = timeout_s
    return body


def _path(slot_id: str) -> str:
    return f"/v1/slots/{quote(slot_id, safe='')}"
