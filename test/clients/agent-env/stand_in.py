"""
A stand-in for AgentEnv's tool executor, written from what it is known to ask of a backend. It queues calls, collects them for
a moment, acquires the slots of all trajectories of a batch at once, groups calls by their timeout, and hands out results that
it completes with the id of the call. What a backend raises becomes the result of the calls concerned.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from talaria_client import Slot, ToolBackend, ToolResult

WINDOW_S = 0.02
#: The names under which a model knows the tools, and those of the sandbox.
TOOLS = {"terminal": "bash", "bash": "bash", "terminal_stateful": "bash_stateful", "tmux": "tmux"}
FILE_TOOLS = ("read_file", "write_file")


@dataclass
class Call:
    name: str
    arguments: Dict[str, Any]
    uniq_id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass
class _Queued:
    trajectory_id: str
    call: Call
    timeout_s: Optional[float]
    answer: "asyncio.Future[Any]"


class StandIn:
    def __init__(self, backend: ToolBackend, *, allow_network: bool, require_sandbox: bool) -> None:
        self._backend = backend
        self._allow_network = allow_network
        self._require_sandbox = require_sandbox
        self._queue: "asyncio.Queue[Optional[_Queued]]" = asyncio.Queue()
        self._slots: Dict[str, Slot] = {}
        self._loop: Optional["asyncio.Task[None]"] = None

    async def start(self) -> None:
        self._loop = asyncio.create_task(self._run())

    async def execute(self, trajectory_id: str, call: Call, timeout_s: Optional[float] = None) -> Any:
        answer: "asyncio.Future[Any]" = asyncio.get_running_loop().create_future()
        await self._queue.put(_Queued(trajectory_id, call, timeout_s, answer))
        return await answer

    async def release_trajectory(self, trajectory_id: str, reset_workspace: bool = False) -> None:
        slot = self._slots.pop(trajectory_id, None)
        if slot is not None:
            await self._backend.release(slot, reset_workspace=reset_workspace)

    async def close(self) -> None:
        await self._queue.put(None)
        if self._loop is not None:
            await self._loop
        for slot in list(self._slots.values()):
            try:
                await self._backend.release(slot, reset_workspace=False)
            except Exception:
                pass
        self._slots.clear()

    def slot_of(self, trajectory_id: str) -> Slot:
        return self._slots[trajectory_id]

    async def _run(self) -> None:
        while True:
            first = await self._queue.get()
            if first is None:
                return
            batch = [first]
            ends_at = asyncio.get_running_loop().time() + WINDOW_S
            while (left := ends_at - asyncio.get_running_loop().time()) > 0:
                try:
                    queued = await asyncio.wait_for(self._queue.get(), left)
                except asyncio.TimeoutError:
                    break
                if queued is None:
                    await self._execute(batch)
                    return
                batch.append(queued)
            await self._execute(batch)

    async def _execute(self, batch: List[_Queued]) -> None:
        missing = list({queued.trajectory_id for queued in batch} - set(self._slots))
        try:
            slots = await asyncio.gather(*(self._backend.acquire(trajectory) for trajectory in missing))
        except Exception as error:
            for queued in batch:
                _answer(queued, ToolResult(False, error=f"No slot: {error}"))
            return
        self._slots.update(zip(missing, slots))
        groups: Dict[float, List[_Queued]] = {}
        for queued in batch:
            groups.setdefault(queued.timeout_s or self._backend.default_timeout_s or 30.0, []).append(queued)
        for timeout_s, group in groups.items():
            requests = [self._request(queued) for queued in group]
            try:
                results = await self._backend.execute_batch(requests, timeout_s=timeout_s)
            except Exception as error:
                for queued in group:
                    _answer(queued, ToolResult(False, error=f"The batch failed: {error}"))
                continue
            for queued, result in zip(group, results):
                _answer(queued, result.to_tool_result())

    def _request(self, queued: _Queued) -> Tuple[Slot, str, Dict[str, Any]]:
        name, args = queued.call.name, dict(queued.call.arguments)
        tool = name if name in FILE_TOOLS else TOOLS[name]
        if tool == "bash":
            args.update(allow_network=self._allow_network, require_sandbox=self._require_sandbox)
        elif tool not in FILE_TOOLS:
            args.update(allow_network=self._allow_network, require_stateful_sandbox=self._require_sandbox)
        return self._slots[queued.trajectory_id], tool, args


def _answer(queued: _Queued, result: Any) -> None:
    result.uniq_id = queued.call.uniq_id
    if not queued.answer.done():
        queued.answer.set_result(result)
