"""
The slots of a server as a backend for trainers: `SlotBackend` satisfies the `ToolBackend` protocol of AgentEnv's tool
executor, names and defaults included.

- `execute_batch` answers in the order of its requests. A call that failed, timed out, was refused, or whose slot is gone is
  a result with `success=False`; it spoils no other and is never repeated. It does not raise: that would end the executor.
- `acquire` waits for a free slot, until it has one or `acquire_timeout_s` is over: then it raises `no_slot_free`.
- Commands answer in the form that the executor knows: errors after the output under a line `[stderr]`, `Exit code: n`, and
  `exit_code: -1` with `timeout: true` for one that took too long.
- A timeout or a bound that is larger than the server's own maximum means that maximum.
- The artifact helpers answer with a dictionary that has `success` and `error`, and do not raise for what is wrong with a
  file or its slot.
- `stop(purge=True)` also deletes the files of trajectories that were released before.
"""

from __future__ import annotations

import asyncio
import base64
import io
import logging
import mimetypes
import tarfile
import zipfile
from typing import Any, Awaitable, Callable, Dict, Iterable, List, Optional, Protocol, Set, Tuple

from .agent_env import ExecutionResult, Slot, SlotState
from .client import Talaria
from .errors import APIError, SlotNotFound, TalariaError
from .transport import Json, to_json

#: What one request to the server may hold.
BATCH_MAX = 256
ARTIFACT_TIMEOUT_S = 600.0
PAUSE_S = 1.0
#: What the server takes at most.
READ_MAX_BYTES = 10_000_000
LIST_MAX_ENTRIES = 10_000
ARCHIVE_MAX_BYTES = 67_108_864
ARCHIVE_MAX_ENTRIES = 1_000_000
#: How many trajectories are purged at a time.
PURGED_AT_A_TIME = 16

log = logging.getLogger("talaria_client")


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
        #: Trajectories whose files are still on the server.
        self._kept: Set[str] = set()

    @property
    def default_timeout_s(self) -> Optional[float]:
        """Of a call that names none, once the backend is started."""
        return self._default_timeout_s

    async def start(self) -> None:
        """Raises where the server cannot be reached, refuses the key or gives out no slots."""
        stats = (await self._client.slots.list())["stats"]
        self._default_timeout_s = float(stats["default_timeout_s"])

    async def stop(self, *, purge: bool = False) -> None:
        """Releases every slot that was acquired here; `purge` deletes the files of every trajectory that had one."""
        try:
            await _all(self.release(slot, reset_workspace=purge) for slot in list(self._held.values()))
            if purge:
                at_a_time = asyncio.Semaphore(PURGED_AT_A_TIME)
                await _all(self._purge(trajectory_id, at_a_time) for trajectory_id in list(self._kept))
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
            alloc_id=acquired["container_id"],
            container_addr=self._client.base_url,
            workspace_dir=acquired["workspace_dir"],
            state=SlotState(acquired["state"]),
            trajectory_id=acquired["trajectory_id"],
        )
        self._held[slot.slot_id] = slot
        if slot.trajectory_id is not None:
            self._kept.add(slot.trajectory_id)
        return slot

    async def release(self, slot: Slot, *, reset_workspace: bool = False) -> None:
        """A slot that is gone already counts as released."""
        self._held.pop(slot.slot_id, None)
        trajectory_id = slot.trajectory_id
        slot.release()
        try:
            await self._client.slots.release(slot.slot_id, reset_workspace=reset_workspace)
            if reset_workspace and trajectory_id is not None:
                self._kept.discard(trajectory_id)
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
                if not isinstance(args, dict):
                    raise TypeError(f"they are {type(args).__name__}, not dict")
                to_json(args)
                sendable.append(index)
            except (TypeError, ValueError, RecursionError) as error:
                results[index] = _not_run(slot, "invalid_request", f"The arguments cannot be sent: {error}")
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
            "max_bytes": _at_most(max_bytes, READ_MAX_BYTES),
            "include_sha256": "true" if include_sha256 else None,
        }

        async def read() -> Dict[str, Any]:
            found = await self._client.slots.read_artifact(slot.slot_id, query, timeout_s or ARTIFACT_TIMEOUT_S)
            content = str(found["content"])
            length = len(base64.b64decode(content) if encoding == "base64" else content.encode())
            mime = mimetypes.guess_type(path)[0] or "application/octet-stream"
            return {**found, "bytes": length, "file_size": found["size"], "mime": mime}

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
        query = {
            "path": path,
            "recursive": "true" if recursive else None,
            "max_entries": _at_most(max_entries, LIST_MAX_ENTRIES),
        }

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
        query = {
            "path": path,
            "format": archive_format,
            "max_bytes": _at_most(max_bytes, ARCHIVE_MAX_BYTES),
            "max_entries": _at_most(max_entries, ARCHIVE_MAX_ENTRIES),
        }

        async def pack() -> Dict[str, Any]:
            archive = await self._client.slots.archive_artifacts(
                slot.slot_id, query, timeout_s or ARTIFACT_TIMEOUT_S
            )
            return {
                **about,
                "content": base64.b64encode(archive).decode(),
                "bytes": len(archive),
                "entry_count": await asyncio.to_thread(_entries_in, archive),
            }

        about = {"encoding": "base64", "format": archive_format}
        return await _told(pack, {**about, "content": "", "bytes": 0, "entry_count": 0})

    async def _acquire(self, trajectory_id: Optional[str]) -> Json:
        while True:
            try:
                return await self._client.slots.acquire(trajectory_id)
            except APIError as error:
                if error.code != "no_slot_free":
                    raise
                log.warning(
                    "No slot is free yet; this backend holds %d. Acquiring waits until one is released: if nothing "
                    "releases any, give the server more (TALARIA_MAX_SLOTS, TALARIA_MAX_SLOTS_PER_KEY).",
                    len(self._held),
                )
                await asyncio.sleep(error.retry_after_s or PAUSE_S)

    async def _execute(
        self, requests: List[Tuple[Slot, str, Dict[str, Any]]], timeout_s: Optional[float]
    ) -> List[ExecutionResult]:
        calls = [
            {"slot_id": slot.slot_id, "tool": tool, "args": _as_sent(tool, args)} for slot, tool, args in requests
        ]
        timeout_s = _at_most(timeout_s, self._default_timeout_s)
        try:
            results = await self._client.slots.execute(calls, timeout_s=timeout_s)
        except SlotNotFound as error:
            return [_not_run(slot, "gone", error.message) for slot, _, _ in requests]
        except APIError as error:
            if error.status not in REFUSED:
                return [_not_run(slot, "backend_down", str(error)) for slot, _, _ in requests]
            if len(requests) == 1:
                return [_not_run(requests[0][0], "invalid_request", str(error))]
            # None of them has run. Which one is wrong shows when they are sent apart; together they may be too large.
            half = len(requests) // 2
            parts = await asyncio.gather(
                self._execute(requests[:half], timeout_s), self._execute(requests[half:], timeout_s)
            )
            return parts[0] + parts[1]
        except TalariaError as error:
            # Whether the calls have run is not known: they are told as failed, and not repeated.
            return [_not_run(slot, "backend_down", str(error)) for slot, _, _ in requests]
        return [
            _as_executor_knows(tool, ExecutionResult(**{name: result[name] for name in RESULT_FIELDS}))
            for (_, tool, _), result in zip(requests, results)
        ]

    async def _purge(self, trajectory_id: str, at_a_time: asyncio.Semaphore) -> None:
        async with at_a_time:
            await self.release(await self.acquire(trajectory_id), reset_workspace=True)


RESULT_FIELDS = ("success", "output", "error", "execution_id", "slot_id", "metadata")
#: A request that is wrong, or too large.
REFUSED = (400, 413)
#: They run a command, and have its exit code.
COMMANDS = ("bash", "bash_stateful")


def _as_sent(tool: str, args: Dict[str, Any]) -> Dict[str, Any]:
    if tool != "bash" or args.get("stateful") or args.get("background"):
        return args
    return {"stderr": "after", **args}


def _as_executor_knows(tool: str, result: ExecutionResult) -> ExecutionResult:
    """`duration_s` and the other metadata stay."""
    if tool not in COMMANDS:
        return result
    if result.metadata.get("timed_out"):
        result.metadata.update(exit_code=-1, timeout=True)
    elif result.metadata.get("exit_code") and "failure" not in result.metadata:
        result.error = f"Exit code: {result.metadata['exit_code']}"
    return result


def _at_most(wanted: Any, most: Any) -> Any:
    return wanted if wanted is None or most is None else min(wanted, most)


def _entries_in(archive: bytes) -> int:
    """How many files and directories; read as a stream, because unpacked it may be larger than memory."""
    if zipfile.is_zipfile(io.BytesIO(archive)):
        return len(zipfile.ZipFile(io.BytesIO(archive)).namelist())
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r|*") as entries:
        return sum(1 for _ in entries)


async def _all(works: Iterable[Awaitable[None]]) -> None:
    """Each is done, whatever becomes of the others; then the first failure is raised."""
    for failure in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(failure, BaseException):
            raise failure


def _not_run(slot: Slot, failure: str, error: str) -> ExecutionResult:
    metadata = {"failure": failure, "duration_s": 0, "timed_out": False, "truncated": False}
    return ExecutionResult(success=False, error=error, slot_id=slot.slot_id, metadata=metadata)


async def _told(work: Callable[[], Awaitable[Dict[str, Any]]], empty: Dict[str, Any]) -> Dict[str, Any]:
    try:
        return {"success": True, "error": "", **await work()}
    except TalariaError as error:
        return {**empty, "success": False, "error": str(error)}
