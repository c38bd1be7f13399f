"""Clients of a Talaria server: `Talaria` for runs, `SlotBackend` for the sandbox without the agent."""

from .agent_env import ExecutionResult, Slot, SlotState, ToolResult
from .client import Talaria
from .errors import APIError, ConnectionLost, SlotNotFound, TalariaError
from .runs import Runs
from .slots import Slots
from .tool_backend import SlotBackend, ToolBackend

__all__ = [
    "APIError",
    "ConnectionLost",
    "ExecutionResult",
    "Runs",
    "Slot",
    "SlotBackend",
    "SlotNotFound",
    "SlotState",
    "Slots",
    "Talaria",
    "TalariaError",
    "ToolBackend",
    "ToolResult",
]
