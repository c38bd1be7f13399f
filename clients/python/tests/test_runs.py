"""`Runs` against a real server with the demo model, which runs the commands in backticks of a prompt."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from talaria_client import APIError, Talaria
from talaria_client.sse import SseMessage, lines_of, read_sse
from talaria_client.transport import Json


def with_client(test: Callable[[Talaria], Awaitable[None]]) -> Callable[[], None]:
    async def run() -> None:
        async with Talaria() as client:
            await test(client)

    def wrapper() -> None:
        asyncio.run(run())

    return wrapper


@with_client
async def test_a_run_is_created_followed_and_read(client: Talaria) -> None:
    created = await client.runs.create("Run `echo hello > file; cat file`")
    run_id = created["run_id"]
    events = [event async for event in client.runs.events(run_id)]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert events[-1]["event"] == "run.completed"
    assert "hello" in (await client.runs.get(run_id))["output"]
    assert run_id in [run["run_id"] for run in (await client.runs.list(limit=5))["data"]]
    head = await client.runs.head(run_id)
    assert head["run_id"] == run_id and "output" not in head
    assert [file["path"] for file in await client.runs.artifacts(run_id)] == ["file"]
    assert await client.runs.read_artifact(run_id, "file") == b"hello\n"
    assert len(await client.runs.archive_artifacts(run_id)) > 0


@with_client
async def test_a_run_is_kept_until_that_is_taken_back(client: Talaria) -> None:
    run_id = (await client.runs.create("Run `echo hello`"))["run_id"]
    run = await client.runs.wait(run_id)
    assert run["expires_at"] > run["updated_at"] and "keep" not in run
    kept = await client.runs.keep(run_id)
    assert kept["keep"] is True and "expires_at" not in kept
    assert await client.runs.keep(run_id, False) == run


@with_client
async def test_events_are_resumed_after_the_one_that_was_seen(client: Talaria) -> None:
    run_id = (await client.runs.create("Run `echo hello`"))["run_id"]
    await client.runs.wait(run_id)
    every = [event async for event in client.runs.events(run_id)]
    rest = [event async for event in client.runs.events(run_id, after=every[1]["seq"])]
    assert rest == every[2:]
    # After the last one there is nothing to come.
    assert [event async for event in client.runs.events(run_id, after=every[-1]["seq"])] == []


@with_client
async def test_the_feed_shows_runs_as_they_change_and_continues_at_a_cursor(client: Talaria) -> None:
    first = asyncio.ensure_future(_first(client.runs.feed()))
    # Nothing tells when the feed begins: something changes until it has.
    while not first.done():
        await client.runs.create("Run `true`")
        await asyncio.sleep(0.1)
    run_id = (await client.runs.create("Run `true`"))["run_id"]
    await client.runs.wait(run_id)
    async for change in client.runs.feed(after=first.result()["cursor"]):
        if change["run"]["run_id"] == run_id:
            assert change["run"]["status"] == "completed" and "output" not in change["run"]
            break
    with pytest.raises(APIError) as refused:
        await _first(client.runs.feed(after="nonsense"))
    assert refused.value.code == "invalid_cursor"


async def _first(feed: AsyncIterator[Json]) -> Json:
    async for change in feed:
        return change
    raise AssertionError("the feed has ended")


@with_client
async def test_a_repeated_create_is_the_same_run(client: Talaria) -> None:
    first = await client.runs.create("Run `true`", idempotency_key="py-once")
    again = await client.runs.create("Run `true`", idempotency_key="py-once")
    assert again["run_id"] == first["run_id"] and again["replayed"] is True


@with_client
async def test_a_fork_continues_from_an_event_of_its_run(client: Talaria) -> None:
    run_id = (await client.runs.create("Run `echo one`"))["run_id"]
    await client.runs.wait(run_id)
    with pytest.raises(APIError) as refused:
        await client.runs.fork(run_id)
    assert refused.value.code == "missing_input"
    first = await client.runs.fork(run_id, input="Run `echo two`", idempotency_key="py-fork")
    again = await client.runs.fork(run_id, input="Run `echo two`", idempotency_key="py-fork")
    assert again["run_id"] == first["run_id"] and again["replayed"] is True
    fork = await client.runs.wait(first["run_id"])
    assert "two" in fork["output"] and fork["forked_from"]["run_id"] == run_id
    retried = await client.runs.wait((await client.runs.fork(run_id, at=0))["run_id"])
    assert "one" in retried["output"] and retried["forked_from"] == {"run_id": run_id, "seq": 0}


@with_client
async def test_a_question_is_answered_and_a_run_is_stopped(client: Talaria) -> None:
    run_id = (await client.runs.create("Run `rm -rf build`"))["run_id"]
    async for event in client.runs.events(run_id):
        if event["event"] == "approval.request":
            answer = await client.runs.approve(run_id, "deny", request_id=event["request_id"])
            assert answer["choice"] == "deny"
    waiting = (await client.runs.create("Run `rm -rf build`"))["run_id"]
    async for event in client.runs.events(waiting):
        if event["event"] == "approval.request":
            await client.runs.stop(waiting)
    assert (await client.runs.get(waiting))["status"] == "cancelled"
    with pytest.raises(APIError) as refused:
        await client.runs.steer(waiting, "too late")
    assert refused.value.code == "run_not_accepting_steer"


@with_client
async def test_a_denial_carries_its_message(client: Talaria) -> None:
    run_id = (await client.runs.create("Run `rm -rf build`"))["run_id"]
    why = "Ask the owner of build first."
    messages = []
    async for event in client.runs.events(run_id):
        if event["event"] == "approval.request":
            await client.runs.approve(run_id, "deny", request_id=event["request_id"], message=why)
        if event["event"] == "approval.responded":
            messages.append(event["message"])
    assert messages == [why]


@with_client
async def test_what_is_not_there_is_an_error_with_its_code(client: Talaria) -> None:
    with pytest.raises(APIError) as missing:
        await client.runs.get("run_" + "0" * 32)
    assert (missing.value.status, missing.value.code) == (404, "run_not_found")


@with_client
async def test_events_may_hold_every_end_of_a_line_that_unicode_has(client: Talaria) -> None:
    run_id = (await client.runs.create("Run `printf 'a\u2028b\u2029c\x85d'`"))["run_id"]
    events = [event async for event in client.runs.events(run_id)]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert any("a\u2028b\u2029c\x85d" in json.dumps(event, ensure_ascii=False) for event in events)


def test_lines_are_cut_where_an_answer_cuts_them_however_it_comes() -> None:
    sent = "data: ü\u2028\x85x\r\n\ndata: y\n\nunfinished".encode()

    async def read(size: int) -> list[str]:
        async def chunks() -> AsyncIterator[bytes]:
            for at in range(0, len(sent), size):
                yield sent[at : at + size]

        return [line async for line in lines_of(chunks())]

    for size in (1, 2, 3, len(sent)):
        assert asyncio.run(read(size)) == ["data: ü\u2028\x85x", "", "data: y", ""]


def test_frames_are_read_by_the_rules() -> None:
    async def lines() -> AsyncIterator[str]:
        for line in [": open", "", "id: 7", "event: x", "data: a", "data: b", "", ": keepalive", "data: c", ""]:
            yield line
        yield "data: unfinished"

    async def read() -> list[SseMessage]:
        return [message async for message in read_sse(lines())]

    assert asyncio.run(read()) == [SseMessage("x", "a\nb", "7"), SseMessage("", "c", "7")]
