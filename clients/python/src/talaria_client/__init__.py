"""Clients of a Talaria server: `Talaria` for runs, `SlotBackend` for the sandbox without the agent."""

from .client import Talaria
from .errors import APIError, ConnectionLost, SlotNotFound, TalariaError
from .runs import Runs
from .slots import Slots
from .tool_backend import ExecutionResult, Slot, SlotBackend, ToolBackend

__all__ = [
    "APIError",
    "ConnectionLost",
    "ExecutionResult",
    "Runs",
    "Slot",
    "SlotBackend",
    "SlotNotFound",
    "Slots",
    "Talaria",
    "TalariaError",
    "ToolBackend",
]
