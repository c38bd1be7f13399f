"""
An environment of AgentEnv, as far as its tools go: 64 trajectories through an executor and `SlotBackend`. Started by
agent-env.test.ts with the executor to use, `stand-in` or the directory of a checkout of hermes-agent. It says where it is on its
output, and waits for a line on its input where the test has something to do.
"""

from __future__ import annotations

import asyncio
import sys
import time
import types
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from stand_in import Call, StandIn

from talaria_client import SlotBackend

TRAJECTORIES = 64
#: Nothing may take longer, whatever becomes of the server.
LIMIT_S = 60.0

Make = Callable[[SlotBackend], Tuple[Any, Callable[[str, Dict[str, Any]], Any]]]


def stand_in(backend: SlotBackend) -> Tuple[Any, Callable[[str, Dict[str, Any]], Any]]:
    return StandIn(backend, allow_network=False, require_sandbox=True), Call


def real(checkout: str) -> Make:
    """The executor of a checkout, unchanged. Its package is not initialised: that needs the whole trainer."""
    package = types.ModuleType("atropos")
    package.__path__ = [str(Path(checkout) / "atropos")]
    sys.modules["atropos"] = package
    sys.path.insert(0, checkout)
    from atropos.tools.base import ToolCall, ToolRegistry  # type: ignore
    from atropos.tools.sandbox_stubs import BashTool, ReadFileTool, TerminalTool, WriteFileTool  # type: ignore
    from atropos.tools.terminal_stateful_tool import TerminalStatefulTool  # type: ignore
    from atropos.tools.tmux_tool import TmuxTool  # type: ignore
    from atropos.tools.tool_executor import ToolExecutor, ToolExecutorConfig  # type: ignore

    def make(backend: SlotBackend) -> Tuple[Any, Callable[[str, Dict[str, Any]], Any]]:
        tools = ToolRegistry()
        for tool in (BashTool, TerminalTool, ReadFileTool, WriteFileTool, TerminalStatefulTool, TmuxTool):
            tools.register(tool())
        config = ToolExecutorConfig(allow_network=False, require_sandbox=True, require_stateful_sandbox=True)
        return ToolExecutor(backend, tools, config), lambda name, arguments: ToolCall(name, arguments)

    return make


class Environment:
    def __init__(self, make: Make) -> None:
        self.backend = SlotBackend()
        self.executor, self.call_of = make(self.backend)
        self.number = 0

    async def call(self, trajectory: str, name: str, timeout_s: Any = None, **arguments: Any) -> Any:
        call = self.call_of(name, arguments)
        answer = self.executor.execute(trajectory, call, timeout_s)
        result = await asyncio.wait_for(answer, LIMIT_S)
        assert result.uniq_id == call.uniq_id
        return result


def expect(found: Any, expected: Any) -> None:
    assert found == expected, f"found {found!r}, expected {expected!r}"


async def one_of_each(env: Environment) -> None:
    """Every tool once, in one trajectory."""
    task = "task-tools"
    said = await env.call(task, "terminal", command="echo out; echo err >&2; exit 3")
    expect((said.success, said.output, said.error), (False, "out\n[stderr]\nerr\n", "Exit code: 3"))
    facts = {name: said.metadata[name] for name in ("exit_code", "sandboxed", "network_isolated")}
    expect(facts, {"exit_code": 3, "sandboxed": True, "network_isolated": True})
    expect((await env.call(task, "write_file", path="a/b.txt", content="hello\n")).success, True)
    expect((await env.call(task, "read_file", path="a/b.txt")).output, "hello\n")
    expect((await env.call(task, "read_file", path="../../etc/passwd")).success, False)
    late = await env.call(task, "bash", 1.0, command="echo before; sleep 60")
    expect((late.success, late.output), (False, "before\n"))
    expect((late.metadata["exit_code"], late.metadata["timeout"]), (-1, True))
    assert "timed out after 1" in late.error, late.error

    await env.call(task, "terminal_stateful", command="cd a; kept=yes; sleep 60 &")
    stateful = await env.call(task, "terminal_stateful", command="pwd; echo $kept; jobs | wc -l")
    expect((stateful.success, stateful.output), (True, "/workspace/a\nyes\n1\n"))
    facts = {name: stateful.metadata[name] for name in ("exit_code", "sandboxed", "network_isolated", "stateful")}
    expect(facts, {"exit_code": 0, "sandboxed": True, "network_isolated": True, "stateful": True})
    late = await env.call(task, "terminal_stateful", 1.0, command="sleep 60")
    expect((late.metadata["exit_code"], late.metadata["timeout"]), (-1, True))
    expect((await env.call(task, "terminal_stateful", command="echo [$kept]")).output, "[]\n")
    started = await env.call(task, "tmux", action="start", pane_width=50, pane_height=12)
    expect(started.success, True)
    expect((await env.call(task, "tmux", action="send_keys", keys=["echo typed", "Enter"], block=True)).success, True)
    assert "$ echo typed\ntyped\n" in (await env.call(task, "tmux", action="capture")).output
    lines = (await env.call(task, "tmux", action="stream")).output.splitlines()
    assert len(lines) > 1 and all(line[0] in "[{" for line in lines), lines
    expect((await env.call(task, "tmux", action="stop")).output, "stopped")
    await env.executor.release_trajectory(task, reset_workspace=True)


async def trajectory(env: Environment, number: int) -> None:
    task = f"task-{number}"
    results = [
        await env.call(task, "terminal", command=f"echo {number} > number"),
        await env.call(task, "terminal_stateful", command=f"export n={number}"),
        await env.call(task, "read_file", path="number"),
        # Two groups of a batch, by their timeouts.
        await env.call(task, "terminal", 5.0 + number % 2, command="cat number"),
        await env.call(task, "terminal_stateful", command="echo $n"),
    ]
    expect([result.success for result in results], [True] * 5)
    expect([result.output for result in results], ["", "", *[f"{number}\n"] * 3])


async def run(make: Make) -> None:
    env = Environment(make)
    await env.backend.start()
    await env.executor.start()
    await one_of_each(env)
    print("tools", flush=True)

    begun = time.perf_counter()
    await asyncio.gather(*(trajectory(env, number) for number in range(TRAJECTORIES)))
    print(f"trajectories {TRAJECTORIES * 5 / (time.perf_counter() - begun):.0f} calls a second", flush=True)

    # The server is killed while every trajectory is in a call, and started again.
    cut: List[Any] = [
        asyncio.create_task(env.call(f"task-{number}", "terminal", command="sleep 60"))
        for number in range(TRAJECTORIES)
    ]
    await asyncio.sleep(1)
    print("kill", flush=True)
    for result in await asyncio.gather(*cut):
        expect((result.success, result.metadata["failure"]), (False, "backend_down"))
    print("cut off", flush=True)
    down = await env.call("task-0", "terminal", command="echo down")
    expect(down.success, False)
    await asyncio.to_thread(sys.stdin.readline)
    for number in range(TRAJECTORIES):
        gone = await env.call(f"task-{number}", "terminal", command="echo gone")
        expect((gone.success, gone.metadata["failure"]), (False, "gone"))
        if number % 8:
            continue
        await env.executor.release_trajectory(f"task-{number}")
        kept = await env.call(f"task-{number}", "terminal", command="cat number")
        expect((kept.success, kept.output), (True, f"{number}\n"))
    print("again", flush=True)

    await asyncio.wait_for(env.executor.close(), LIMIT_S)
    await asyncio.wait_for(env.backend.stop(purge=True), LIMIT_S)
    print("purged", flush=True)


if __name__ == "__main__":
    which = sys.argv[1]
    asyncio.run(run(stand_in if which == "stand-in" else real(which)))
