"""`SlotBackend` against a real server: the protocol of the trainer, and what goes wrong in it."""

import asyncio
import base64
import inspect
import io
import os
import tarfile
from collections.abc import Awaitable, Callable
from typing import Any, Dict
from urllib.parse import urlsplit

import pytest

from talaria_client import APIError, Slot, SlotBackend, Talaria, ToolBackend

Test = Callable[[SlotBackend], Awaitable[None]]


def with_backend(test: Test) -> Callable[[], None]:
    async def run() -> None:
        backend = SlotBackend(acquire_timeout_s=30)
        await backend.start()
        try:
            await test(backend)
        finally:
            await backend.stop(purge=True)

    def wrapper() -> None:
        asyncio.run(run())

    wrapper.__name__ = test.__name__ if hasattr(test, "__name__") else "test"
    return wrapper


def test_it_has_the_names_and_defaults_of_the_protocol() -> None:
    _: ToolBackend = SlotBackend()
    methods = [name for name in vars(ToolBackend) if not name.startswith("_") and name != "default_timeout_s"]
    assert len(methods) == 8
    for name in methods:
        expected, found = (inspect.signature(getattr(kind, name)) for kind in (ToolBackend, SlotBackend))
        assert found.parameters == expected.parameters, name
    assert isinstance(vars(SlotBackend)["default_timeout_s"], property)


@with_backend
async def test_commands_run_in_slots_and_answer_in_order(backend: SlotBackend) -> None:
    assert backend.default_timeout_s == 60
    one, two = await backend.acquire("py-1"), await backend.acquire()
    assert one.trajectory_id == "py-1" and two.trajectory_id is None
    results = await backend.execute_batch(
        [
            (one, "bash", {"command": "sleep 0.3; echo one"}),
            (two, "bash", {"command": "echo two; exit 3"}),
            (one, "fly", {}),
            (two, "bash", {"command": "sleep 30"}),
        ],
        timeout_s=2,
    )
    assert [result.output for result in results[:2]] == ["one\n", "two\n"]
    assert [result.success for result in results] == [True, False, False, False]
    assert [result.slot_id for result in results] == [one.slot_id, two.slot_id, one.slot_id, two.slot_id]
    assert results[1].metadata["exit_code"] == 3
    assert results[1].error == "Exit code: 3"
    assert results[2].metadata["failure"] == "invalid_request"
    assert results[3].metadata["failure"] == "timeout"
    assert (results[3].metadata["exit_code"], results[3].metadata["timeout"]) == (-1, True)
    assert "timed out after 2" in results[3].error
    assert await backend.execute_batch([]) == []


@with_backend
async def test_a_command_answers_as_the_executor_knows_it(backend: SlotBackend) -> None:
    slot = await backend.acquire()

    async def bash(command: str, **args: Any) -> Any:
        return (await backend.execute_batch([(slot, "bash", {"command": command, **args})]))[0]

    both = await bash("echo out; echo err >&2; exit 2", allow_network=False, require_sandbox=True)
    assert (both.success, both.output, both.error) == (False, "out\n[stderr]\nerr\n", "Exit code: 2")
    found = {name: both.metadata[name] for name in ("exit_code", "sandboxed", "network_isolated")}
    assert found == {"exit_code": 2, "sandboxed": True, "network_isolated": True}
    assert (await bash("echo err >&2; echo out", stderr="merged")).output == "err\nout\n"
    assert (await bash("cd /usr; echo err >&2", stateful=True)).output == "err\n"
    # The server of the tests gives commands no network.
    without = await bash("echo ran", allow_network=True)
    assert (without.success, without.output) == (False, "") and "TALARIA_ALLOW_NETWORK" in without.error
    # The executor lets a model ask for up to ten minutes, and the server of the tests gives one.
    [long] = await backend.execute_batch([(slot, "bash", {"command": "echo ran"})], timeout_s=600)
    assert long.output == "ran\n"


@with_backend
async def test_a_slot_says_where_it_is(backend: SlotBackend) -> None:
    slot = await backend.acquire("py-place")
    assert (slot.is_acquired, slot.container_addr) == (True, os.environ["TALARIA_BASE_URL"])
    assert (slot.workspace_dir, slot.alloc_id, slot.container_id) == ("/workspace", "local", "local")
    await backend.release(slot)
    assert (slot.is_available, slot.trajectory_id) == (True, None)


def test_a_purge_at_the_end_deletes_the_files_of_every_trajectory() -> None:
    async def run() -> None:
        backend = SlotBackend()
        await backend.start()
        for number in range(6):
            slot = await backend.acquire(f"py-purged-{number}")
            await backend.execute_batch([(slot, "bash", {"command": "echo kept > file"})])
            await backend.release(slot)
        await backend.stop(purge=True)
        again = SlotBackend()
        for number in range(6):
            slot = await again.acquire(f"py-purged-{number}")
            assert (await again.list_artifacts(slot))["entries"] == []
            await again.release(slot, reset_workspace=True)
        await again.stop()

    asyncio.run(run())


@with_backend
async def test_a_trajectory_keeps_its_files_unless_they_are_reset(backend: SlotBackend) -> None:
    async def output(slot: Slot, command: str) -> str:
        return (await backend.execute_batch([(slot, "bash", {"command": command})]))[0].output

    slot = await backend.acquire("py-kept")
    await output(slot, "echo kept > file")
    await backend.release(slot)
    slot = await backend.acquire("py-kept")
    assert await output(slot, "cat file") == "kept\n"
    await backend.release(slot, reset_workspace=True)
    slot = await backend.acquire("py-kept")
    assert await output(slot, "ls") == ""


@with_backend
async def test_a_slot_that_is_gone_is_a_result(backend: SlotBackend) -> None:
    slot, other = await backend.acquire(), await backend.acquire()
    await backend.release(slot)
    await backend.release(slot)
    for requests in ([slot], [slot, other]):
        results = await backend.execute_batch([(each, "bash", {"command": "echo x"}) for each in requests])
        assert results[0].metadata["failure"] == "gone"
    assert results[1].success
    assert (await backend.list_artifacts(slot))["success"] is False


@with_backend
async def test_files_are_listed_read_and_archived(backend: SlotBackend) -> None:
    slot = await backend.acquire()
    command = "mkdir dir; echo ü > dir/text; printf '\\377' > bytes"
    await backend.execute_batch([(slot, "bash", {"command": command})])

    listed = await backend.list_artifacts(slot, recursive=True)
    assert [(entry["path"], entry["is_dir"]) for entry in listed["entries"]] == [
        ("bytes", False),
        ("dir", True),
        ("dir/text", False),
    ]
    assert (await backend.list_artifacts(slot, max_entries=1))["truncated"] is True
    assert (await backend.list_artifacts(slot, max_entries=1_000_000))["success"] is True

    text = await backend.read_artifact(slot, "dir/text", include_sha256=True)
    assert (text["success"], text["content"], text["file_size"]) == (True, "ü\n", 3)
    assert len(text["sha256"]) == 64
    assert (text["bytes"], text["mime"]) == (3, "application/octet-stream")
    assert (await backend.read_artifact(slot, "dir/text", max_bytes=1_000_000_000))["content"] == "ü\n"
    assert (await backend.read_artifact(slot, "bytes", encoding="base64"))["content"] == "/w=="
    assert (await backend.read_artifact(slot, "dir/text", max_bytes=2))["truncated"] is True
    missing = await backend.read_artifact(slot, "none")
    assert missing["success"] is False and "artifact_not_found" in missing["error"]

    packed = await backend.archive_artifacts(slot, "dir", archive_format="tgz")
    assert (packed["format"], packed["encoding"], packed["entry_count"]) == ("tgz", "base64", 1)
    assert (await backend.archive_artifacts(slot, archive_format="zip"))["entry_count"] == 3
    content = base64.b64decode(packed["content"])
    assert packed["bytes"] == len(content)
    assert tarfile.open(fileobj=io.BytesIO(content)).extractfile("text").read() == "ü\n".encode()  # type: ignore[union-attr]
    refused = await backend.archive_artifacts(slot, max_bytes=10)
    assert (refused["success"], refused["entry_count"]) == (False, 0)


@with_backend
async def test_more_trajectories_than_slots_wait_for_each_other(backend: SlotBackend) -> None:
    async def trajectory(number: int) -> str:
        slot = await backend.acquire(f"py-many-{number}")
        try:
            results = await backend.execute_batch([(slot, "bash", {"command": f"echo {number}"})])
            return results[0].output.strip()
        finally:
            await backend.release(slot, reset_workspace=True)

    # The server of the tests has four slots.
    assert await asyncio.gather(*(trajectory(number) for number in range(12))) == [str(n) for n in range(12)]


@with_backend
async def test_stopping_releases_what_was_acquired(backend: SlotBackend) -> None:
    await backend.acquire("py-left")
    await backend.stop(purge=True)
    async with Talaria() as client:
        assert (await client.slots.list())["data"] == []


@with_backend
async def test_a_call_that_cannot_be_sent_spoils_no_other(backend: SlotBackend) -> None:
    slot = await backend.acquire()
    endless: Dict[str, Any] = {}
    endless["args"] = endless
    half = {"path": "half", "content": "a\ud800b"}
    results = await backend.execute_batch(
        [
            (slot, "bash", {"command": b"bytes"}),
            (slot, "bash", {"command": "echo well"}),
            (slot, "bash", {"command": "echo x", "timeout": float("nan")}),
            (slot, "write_file", half),
            (slot, "bash", endless),
        ]
    )
    assert [result.metadata.get("failure") for result in results] == [
        "invalid_request",
        None,
        "invalid_request",
        None,
        "invalid_request",
    ]
    assert results[1].output == "well\n"
    assert "JSON" in results[0].error
    assert await backend.execute_batch([(slot, "bash", endless)]) == [results[4]]


@with_backend
async def test_calls_that_the_server_refuses_are_results_and_spoil_no_other(backend: SlotBackend) -> None:
    slot = await backend.acquire()
    nested: Any = 1
    for _ in range(200):
        nested = [nested]
    wrong: Any = [
        (slot, "write_file", {"path": "large", "content": "x" * 20_000_000}),
        (slot, "bash", {"command": "true", "nested": nested}),
        (slot, "", {}),
        (slot, "bash", None),
        (Slot(""), "bash", {"command": "true"}),
    ]
    results = await backend.execute_batch([*wrong, (slot, "bash", {"command": "echo well"})])
    assert [result.metadata.get("failure") for result in results] == ["invalid_request"] * len(wrong) + [None]
    assert "larger than" in results[0].error
    assert results[-1].output == "well\n"
    # Each may be sent, and only together they are too large.
    parts = [(slot, "write_file", {"path": f"part-{i}", "content": "x" * 3_000_000}) for i in range(8)]
    assert all(result.success for result in await backend.execute_batch(parts))


@with_backend
async def test_acquiring_ends_when_its_time_is_over_however_long_the_server_would_wait(backend: SlotBackend) -> None:
    # The server of the tests has four slots, and waits ten minutes for one.
    held = [await backend.acquire() for _ in range(4)]
    hasty = SlotBackend(acquire_timeout_s=0.5)
    with pytest.raises(APIError) as refused:
        await hasty.acquire()
    assert refused.value.code == "no_slot_free"
    await hasty.stop()
    # Whoever gave up is not served any more.
    await backend.release(held[0])
    async with Talaria() as client:
        stats = (await client.slots.list())["stats"]
        assert (stats["held"], stats["waiting"]) == (3, 0)


def test_a_release_whose_answer_is_lost_is_repeated() -> None:
    async def run() -> None:
        server = urlsplit(os.environ["TALARIA_BASE_URL"])
        lost = 0

        async def lose_releases(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal lost
            far_reader, far_writer = await asyncio.open_connection(server.hostname, server.port)
            request = await reader.read(65_536)
            far_writer.write(request)
            answer = await far_reader.read(65_536)
            if b"/release " in request and lost == 0:
                lost += 1
            else:
                writer.write(answer)
            writer.close()
            far_writer.close()

        proxy = await asyncio.start_server(lose_releases, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        backend = SlotBackend(base_url=f"http://127.0.0.1:{port}")
        await backend.release(await backend.acquire())
        await backend.stop()
        proxy.close()
        assert lost == 1

    asyncio.run(run())


def test_results_stream_as_they_come() -> None:
    async def run() -> None:
        async with Talaria() as client:
            slot = await client.slots.acquire()
            try:

                def bash(command: str) -> Dict[str, Any]:
                    return {"slot_id": slot["id"], "tool": "bash", "args": {"command": command}}

                calls = [bash("until [ -e go ]; do sleep 0.05; done; echo last"), bash("echo first")]
                seen = []
                async for index, result in client.slots.stream(calls):
                    seen.append((index, result["output"]))
                    if index == 1:
                        await client.slots.execute([bash("touch go")])
                assert seen == [(1, "first\n"), (0, "last\n")]
            finally:
                await client.slots.release(slot["id"])

    asyncio.run(run())


def test_a_streamed_result_may_hold_every_end_of_a_line_that_unicode_has() -> None:
    ends = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\r\nh\ri"

    async def run() -> None:
        async with Talaria() as client:
            slot = await client.slots.acquire()
            try:
                await client.slots.execute(
                    [{"slot_id": slot["id"], "tool": "write_file", "args": {"path": "ends", "content": ends}}]
                )
                call = {"slot_id": slot["id"], "tool": "bash", "args": {"command": "cat ends"}}
                assert [result["output"] async for _, result in client.slots.stream([call])] == [ends]
            finally:
                await client.slots.release(slot["id"])

    asyncio.run(run())


def test_a_wrong_key_is_refused_at_the_start() -> None:
    async def run() -> None:
        backend = SlotBackend(api_key="wrong")
        with pytest.raises(APIError) as refused:
            await backend.start()
        assert refused.value.code == "invalid_api_key"
        await backend.stop()

    asyncio.run(run())


def test_a_release_that_could_not_clean_its_slot_is_told_and_not_repeated() -> None:
    async def run() -> None:
        requests = 0

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal requests
            requests += 1
            await reader.readuntil(b"\r\n\r\n")
            body = b'{"error": {"message": "not cleaned", "type": "server_error", "param": null, "code": "slot_not_closed"}}'
            writer.write(b"HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with Talaria(f"http://127.0.0.1:{port}") as client:
            with pytest.raises(APIError) as caught:
                await SlotBackend(client).release(Slot("slot_1"))
        server.close()
        assert caught.value.code == "slot_not_closed"
        assert requests == 1

    asyncio.run(run())
