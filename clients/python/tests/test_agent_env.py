"""What AgentEnv's tool executor calls on slots and results: the same names, values and errors as its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from talaria_client import ExecutionResult, Slot, SlotState, ToolResult


def test_a_result_becomes_one_of_a_tool_that_takes_the_id_of_its_call() -> None:
    metadata = {"exit_code": 3}
    result = ExecutionResult(False, "out", "Exit code: 3", "exec_1", "slot_1", metadata).to_tool_result()
    assert isinstance(result, ToolResult)
    assert result.uniq_id == "exec_1"
    result.uniq_id = "call_1"
    expected = {"success": False, "output": "out", "error": "Exit code: 3", "metadata": metadata, "uniq_id": "call_1"}
    assert result.to_dict() == expected
    assert result.to_xml().startswith('<tool_response>{"success": false, "output": "out"')
    assert "error" not in ToolResult(True).to_xml()


def test_where_agent_env_can_be_imported_it_is_its_own_class(tmp_path: Path) -> None:
    package = tmp_path / "atropos" / "tools"
    package.mkdir(parents=True)
    for directory in (package.parent, package):
        (directory / "__init__.py").write_text("")
    (package / "base.py").write_text(
        "class ToolResult:\n    def __init__(self, **fields):\n        self.__dict__.update(fields)\n"
    )
    program = (
        "from talaria_client import ExecutionResult\n"
        "result = ExecutionResult(True, 'out', '', 'exec_1').to_tool_result()\n"
        "print(type(result).__module__, result.output, result.uniq_id)\n"
    )

    def run(*, broken: bool) -> str:
        (package.parent / "__init__.py").write_text("raise RuntimeError('no atroposlib')" if broken else "")
        source = Path(__file__).parent.parent / "src"
        environment = {"PYTHONPATH": f"{source}:{tmp_path}", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert run(broken=False) == "atropos.tools.base out exec_1"
    assert run(broken=True) == "talaria_client.agent_env out exec_1"


def test_a_slot_goes_through_its_states() -> None:
    slot = Slot("slot_1", "alloc", "http://127.0.0.1:1")
    assert (slot.workspace_dir, slot.is_available, slot.is_acquired) == ("/data/slot_1", True, False)
    with pytest.raises(RuntimeError, match="slot_1"):
        slot.start_execution()
    slot.acquire("task")
    assert (slot.trajectory_id, slot.is_available, slot.is_acquired) == ("task", False, True)
    with pytest.raises(RuntimeError, match="acquire"):
        slot.acquire()
    slot.start_execution("exec_1")
    assert (slot.state.value, slot.is_acquired, slot.metadata) == ("executing", True, {"current_execution_id": "exec_1"})
    slot.end_execution()
    with pytest.raises(RuntimeError):
        slot.end_execution()
    assert (slot.state, slot.metadata) == (SlotState.ACQUIRED, {})
    slot.release()
    assert (slot.state, slot.trajectory_id) == (SlotState.AVAILABLE, None)
    slot.acquire()
    assert slot.trajectory_id
    slot.mark_error("lost")
    assert (slot.state, slot.metadata["error"]) == (SlotState.ERROR, "lost")
    assert [state.value for state in SlotState] == ["available", "acquired", "executing", "releasing", "error"]


def test_a_slot_survives_a_dictionary() -> None:
    slot = Slot("slot_1", "alloc", "http://127.0.0.1:1", "/workspace", SlotState.ACQUIRED, "task", {"a": 1})
    data = slot.to_dict()
    assert data["state"] == "acquired"
    assert set(data) == {
        *("slot_id", "alloc_id", "container_addr", "workspace_dir", "state", "trajectory_id", "metadata")
    }
    assert Slot.from_dict(data) == slot
    least = Slot.from_dict({"slot_id": "s", "alloc_id": "a", "container_addr": "c"})
    assert (least.workspace_dir, least.state, least.metadata) == ("/data/s", SlotState.AVAILABLE, {})
