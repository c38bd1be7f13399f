"""
What AgentEnv's tool executor calls things: a slot, the result of an execution, and the result of a tool.

A result of a call becomes a `ToolResult` that the executor completes with the id of the call. Where AgentEnv itself can be
imported, that is its own class; otherwise it is the equal one here.
"""

from __future__ import annotations

import importlib
import json
import sys
import uuid
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, Dict, Optional

#: The module of AgentEnv that has the class of results.
AGENT_ENV_TOOLS = "atropos.tools.base"


class SlotState(str, Enum):
    AVAILABLE = "available"
    ACQUIRED = "acquired"
    EXECUTING = "executing"
    RELEASING = "releasing"
    ERROR = "error"


@dataclass
class Slot:
    """An isolated workspace of one trajectory. The backend keeps its state; a program may keep its own with the methods."""

    slot_id: str
    #: The container of the slot, or `local`.
    alloc_id: str = ""
    #: The address of the server.
    container_addr: str = ""
    #: As commands in the slot see it.
    workspace_dir: str = ""
    state: SlotState = SlotState.AVAILABLE
    trajectory_id: Optional[str] = None
    metadata: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = SlotState(self.state)
        self.workspace_dir = self.workspace_dir or f"/data/{self.slot_id}"

    @property
    def container_id(self) -> str:
        return self.alloc_id

    @property
    def is_available(self) -> bool:
        return self.state is SlotState.AVAILABLE

    @property
    def is_acquired(self) -> bool:
        return self.state in (SlotState.ACQUIRED, SlotState.EXECUTING)

    def acquire(self, trajectory_id: Optional[str] = None) -> None:
        self._expect(SlotState.AVAILABLE, "acquire")
        self.state = SlotState.ACQUIRED
        self.trajectory_id = trajectory_id or str(uuid.uuid4())

    def start_execution(self, execution_id: Optional[str] = None) -> None:
        self._expect(SlotState.ACQUIRED, "start an execution in")
        self.state = SlotState.EXECUTING
        if execution_id:
            self.metadata["current_execution_id"] = execution_id

    def end_execution(self) -> None:
        self._expect(SlotState.EXECUTING, "end an execution in")
        self.state = SlotState.ACQUIRED
        self.metadata.pop("current_execution_id", None)

    def release(self) -> None:
        self.state = SlotState.AVAILABLE
        self.trajectory_id = None
        self.metadata.pop("current_execution_id", None)

    def mark_error(self, error: str) -> None:
        self.state = SlotState.ERROR
        self.metadata["error"] = error

    def to_dict(self) -> Dict[str, Any]:
        return {**asdict(self), "state": self.state.value}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "Slot":
        return cls(
            slot_id=data["slot_id"],
            alloc_id=data["alloc_id"],
            container_addr=data["container_addr"],
            workspace_dir=data.get("workspace_dir", ""),
            state=SlotState(data.get("state", "available")),
            trajectory_id=data.get("trajectory_id"),
            metadata=data.get("metadata", {}),
        )

    def _expect(self, state: SlotState, what: str) -> None:
        if self.state is not state:
            raise RuntimeError(f"Cannot {what} slot {self.slot_id}: it is {self.state.value}, not {state.value}")


@dataclass
class ToolResult:
    success: bool
    output: str = ""
    error: str = ""
    metadata: Dict[str, Any] = field(default_factory=dict)
    #: The id of the call, which the executor sets.
    uniq_id: Optional[str] = None

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)

    def to_xml(self) -> str:
        said = {name: value for name, value in self.to_dict().items() if value or name in ("success", "output")}
        return f"<tool_response>{json.dumps(said)}</tool_response>"


@dataclass
class ExecutionResult:
    success: bool
    output: str = ""
    error: str = ""
    execution_id: str = ""
    slot_id: str = ""
    metadata: Dict[str, Any] = field(default_factory=dict)

    def to_tool_result(self) -> Any:
        """A `ToolResult`: AgentEnv's own where it can be imported."""
        return _tool_result_class()(
            success=self.success,
            output=self.output,
            error=self.error,
            metadata=self.metadata,
            uniq_id=self.execution_id,
        )


def _tool_result_class() -> Any:
    # An executor that asks has imported its own.
    loaded = sys.modules.get(AGENT_ENV_TOOLS)
    return _imported() if loaded is None else getattr(loaded, "ToolResult", ToolResult)


@lru_cache
def _imported() -> Any:
    try:
        return getattr(importlib.import_module(AGENT_ENV_TOOLS), "ToolResult", ToolResult)
    # A package of that name may fail in any way, and a result is needed all the same.
    except Exception:
        return ToolResult
