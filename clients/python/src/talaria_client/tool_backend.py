"""
The slots of a server as a backend for trainers: `SlotBackend` satisfies the `ToolBackend` protocol of AgentEnv's tool
executor, names and defaults included.

- `execute_batch` answers in the order of its requests. A call that failed, timed out, or whose slot is gone is a result
  with `success=False`; it spoils no other and is never repeated.
- `acquire` waits for a free slot, until it has one or `acquire_timeout_s` is over: then it raises `no_slot_free`.
- The artifact helpers answer with a dictionary that has `success` and `error`, and do not raise for what is wrong with a
  file or its slot.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Dict, List, Optional, Protocol, Tuple

from .client import Talaria
from .errors import APIError, SlotNotFound, TalariaError
from .transport import Json, to_json

#: What one request to the server may hold.
BATCH_MAX = 256
ARTIFACT_TIMEOUT_S = 600.0
PAUSE_S = 1.0


@dataclass
class Slot:
    slot_id: str
    container_id: str = ""
    workspace_dir: str = ""
    state: str = "acquired"
    trajectory_id: Optional[str] = None


@dataclass
class ExecutionResult:
    success: bool
    output: str = ""
    error: str = ""
    execution_id: str = ""
    slot_id: str = ""
    metadata: Dict[str, Any] = field(default_factory=dict)


class ToolBackend(Protocol):
    """What a tool executor asks of its backend."""

    @property
    def default_timeout_s(self) -> Optional[float]: ...

    async def start(self) -> None: ...

    async def stop(self, *, purge: bool = False) -> None: ...

    async def acquire(self, trajectory_id: Optional[str] = None) -> Slot: ...

    async def release(self, slot: Slot, *, reset_workspace: bool = False) -> None: ...

    async def execute_batch(
        self,
        requests: List[Tuple[Slot, str, Dict[str, Any]]],
        *,
        timeout_s: Optional[float] = None,
    ) -> List[ExecutionResult]: ...

    async def read_artifact(
        self,
        slot: Slot,
        path: str,
        *,
        encoding: str = "text",
        max_bytes: Optional[int] = None,
        include_sha256: bool = False,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]: ...

    async def list_artifacts(
        self,
        slot: Slot,
        path: str = ".",
        *,
        recursive: bool = False,
        max_entries: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]: ...

    async def archive_artifacts(
        self,
        slot: Slot,
        path: str = ".",
        *,
        archive_format: str = "tar.gz",
        max_bytes: Optional[int] = None,
        max_entries: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]: ...


class SlotBackend:
    """Give it a client, or let it make one of `base_url` and `api_key`; `stop` closes the one it made."""

    def __init__(
        self,
        client: Optional[Talaria] = None,
        *,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        acquire_timeout_s: float = 3600.0,
    ) -> None:
        self._owns_client = client is None
        self._client = client or Talaria(base_url, api_key)
        self._acquire_timeout_s = acquire_timeout_s
        self._default_timeout_s: Optional[float] = None
        self._held: Dict[str, Slot] = {}

    @property
    def default_timeout_s(self) -> Optional[float]:
        """Of a call that names none, once the backend is started."""
        return self._default_timeout_s

    async def start(self) -> None:
        """Raises where the server cannot be reached, refuses the key or gives out no slots."""
        stats = (await self._client.slots.list())["stats"]
        self._default_timeout_s = float(stats["default_timeout_s"])

    async def stop(self, *, purge: bool = False) -> None:
        """Releases every slot that was acquired here; `purge` deletes their files."""
        try:
            releases = [self.release(slot, reset_workspace=purge) for slot in list(self._held.values())]
            for failure in await asyncio.gather(*releases, return_exceptions=True):
                if isinstance(failure, BaseException):
                    raise failure
        finally:
            if self._owns_client:
                await self._client.close()

    async def acquire(self, trajectory_id: Optional[str] = None) -> Slot:
        try:
            # The server has its own time in which it waits for a slot; a request that is given up holds none.
            async with asyncio.timeout(self._acquire_timeout_s) as limit:
                acquired = await self._acquire(trajectory_id)
        except TimeoutError:
            if not limit.expired():
                raise
            message = f"No slot was free within {self._acquire_timeout_s:g} s"
            raise APIError(429, "no_slot_free", message) from None
        slot = Slot(
            slot_id=acquired["id"],
            container_id=acquired["container_id"],
            workspace_dir=acquired["workspace_dir"],
            state=acquired["state"],
            trajectory_id=acquired["trajectory_id"],
        )
        self._held[slot.slot_id] = slot
        return slot

    async def release(self, slot: Slot, *, reset_workspace: bool = False) -> None:
        """A slot that is gone already counts as released."""
        self._held.pop(slot.slot_id, None)
        slot.state = "available"
        try:
            await self._client.slots.release(slot.slot_id, reset_workspace=reset_workspace)
        except SlotNotFound:
            pass

    async def execute_batch(
        self,
        requests: List[Tuple[Slot, str, Dict[str, Any]]],
        *,
        timeout_s: Optional[float] = None,
    ) -> List[ExecutionResult]:
        results: Dict[int, ExecutionResult] = {}
        sendable: List[int] = []
        for index, (slot, _, args) in enumerate(requests):
            try:
                to_json(args)
                sendable.append(index)
            except (TypeError, ValueError, RecursionError) as error:
                results[index] = _not_run(slot, "invalid_request", f"The arguments cannot be JSON: {error}")
        parts = [sendable[at : at + BATCH_MAX] for at in range(0, len(sendable), BATCH_MAX)]
        answers = await asyncio.gather(*(self._execute([requests[i] for i in part], timeout_s) for part in parts))
        for part, answer in zip(parts, answers):
            results.update(zip(part, answer))
        return [results[index] for index in range(len(requests))]

    async def read_artifact(
        self,
        slot: Slot,
        path: str,
        *,
        encoding: str = "text",
        max_bytes: Optional[int] = None,
        include_sha256: bool = False,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]:
        query = {
            "path": path,
            "encoding": encoding,
            "max_bytes": max_bytes,
            "include_sha256": "true" if include_sha256 else None,
        }

        async def read() -> Dict[str, Any]:
            found = await self._client.slots.read_artifact(slot.slot_id, query, timeout_s or ARTIFACT_TIMEOUT_S)
            content = str(found["content"])
            length = len(base64.b64decode(content) if encoding == "base64" else content.encode())
            return {**found, "bytes": length, "file_size": found["size"]}

        return await _told(read, {"path": path, "encoding": encoding, "content": ""})

    async def list_artifacts(
        self,
        slot: Slot,
        path: str = ".",
        *,
        recursive: bool = False,
        max_entries: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]:
        query = {"path": path, "recursive": "true" if recursive else None, "max_entries": max_entries}

        async def look() -> Dict[str, Any]:
            found = await self._client.slots.list_artifacts(slot.slot_id, query, timeout_s or ARTIFACT_TIMEOUT_S)
            entries = [
                {**entry, "is_dir": entry["type"] == "directory", "mtime": entry["modified_at"]}
                for entry in found["data"]
            ]
            return {"entries": entries, "truncated": found["truncated"]}

        return await _told(look, {"entries": [], "truncated": False})

    async def archive_artifacts(
        self,
        slot: Slot,
        path: str = ".",
        *,
        archive_format: str = "tar.gz",
        max_bytes: Optional[int] = None,
        max_entries: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Dict[str, Any]:
        """`content` is the archive in base64."""
        query = {"path": path, "format": archive_format, "max_bytes": max_bytes, "max_entries": max_entries}

        async def pack() -> Dict[str, Any]:
            archive = await self._client.slots.archive_artifacts(
                slot.slot_id, query, timeout_s or ARTIFACT_TIMEOUT_S
            )
            content = base64.b64encode(archive).decode()
            return {"content": content, "encoding": "base64", "format": archive_format, "bytes": len(archive)}

        return await _told(pack, {"content": "", "encoding": "base64", "format": archive_format, "bytes": 0})

    async def _acquire(self, trajectory_id: Optional[str]) -> Json:
        while True:
            try:
                return await self._client.slots.acquire(trajectory_id)
            except APIError as error:
                if error.code != "no_slot_free":
                    raise
                await asyncio.sleep(error.retry_after_s or PAUSE_S)

    async def _execute(
        self, requests: List[Tuple[Slot, str, Dict[str, Any]]], timeout_s: Optional[float]
    ) -> List[ExecutionResult]:
        calls = [{"slot_id": slot.slot_id, "tool": tool, "args": args} for slot, tool, args in requests]
        try:
            results = await self._client.slots.execute(calls, timeout_s=timeout_s)
        except SlotNotFound as error:
            return [_not_run(slot, "gone", error.message) for slot, _, _ in requests]
        except APIError as error:
            if error.status < 500 and error.status != 429:
                raise
            return [_not_run(slot, "backend_down", str(error)) for slot, _, _ in requests]
        except TalariaError as error:
            # Whether the calls have run is not known: they are told as failed, and not repeated.
            return [_not_run(slot, "backend_down", str(error)) for slot, _, _ in requests]
        return [ExecutionResult(**{name: result[name] for name in RESULT_FIELDS}) for result in results]


RESULT_FIELDS = ("success", "output", "error", "execution_id", "slot_id", "metadata")


def _not_run(slot: Slot, failure: str, error: str) -> ExecutionResult:
    metadata = {"failure": failure, "duration_s": 0, "timed_out": False, "truncated": False}
    return ExecutionResult(success=False, error=error, slot_id=slot.slot_id, metadata=metadata)


async def _told(work: Callable[[], Awaitable[Dict[str, Any]]], empty: Dict[str, Any]) -> Dict[str, Any]:
    try:
        return {"success": True, "error": "", **await work()}
    except TalariaError as error:
        return {**empty, "success": False, "error": str(error)}
