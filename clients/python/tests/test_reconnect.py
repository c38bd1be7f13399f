"""A stream of events goes on over connections that break off: through a proxy that cuts every one of them."""

import asyncio
import os
from urllib.parse import urlsplit

from talaria_client import Talaria

#: Less than the stream of the run below, and enough for a few events.
CUT_AFTER_BYTES = 700


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int) -> None:
    try:
        while limit > 0 and (chunk := await reader.read(min(limit, 4096))):
            writer.write(chunk)
            await writer.drain()
            limit -= len(chunk)
    except OSError:
        pass
    finally:
        writer.close()


def test_every_event_comes_once_over_connections_that_are_cut() -> None:
    async def run() -> None:
        async with Talaria() as direct:
            run_id = (await direct.runs.create("Run `seq 1 5` and `seq 6 9` and `echo done`"))["run_id"]
            await direct.runs.wait(run_id)
            expected = [event async for event in direct.runs.events(run_id)]

        server = urlsplit(os.environ["TALARIA_BASE_URL"])
        connections = 0

        async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            far_reader, far_writer = await asyncio.open_connection(server.hostname, server.port)
            await asyncio.gather(
                copy(reader, far_writer, 1_000_000), copy(far_reader, writer, CUT_AFTER_BYTES + 300 * connections)
            )

        proxy = await asyncio.start_server(cut, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        async with Talaria(f"http://127.0.0.1:{port}") as client:
            seen = [event async for event in client.runs.events(run_id)]
        proxy.close()
        assert seen == expected
        assert connections > 1

    asyncio.run(run())


def test_a_feed_that_is_cut_before_its_first_change_continues_where_it_began() -> None:
    async def run() -> None:
        async with Talaria() as direct:
            server = urlsplit(os.environ["TALARIA_BASE_URL"])
            connections = 0
            run_id = ""

            async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                nonlocal connections, run_id
                connections += 1
                far_reader, far_writer = await asyncio.open_connection(server.hostname, server.port)
                upstream = asyncio.ensure_future(copy(reader, far_writer, 1_000_000))
                if connections == 1:
                    # The answer up to the cursor of the beginning; what happens next is missed.
                    writer.write(await far_reader.readuntil(b": cursor "))
                    writer.write(await far_reader.readuntil(b"\n\n"))
                    await writer.drain()
                    run_id = (await direct.runs.create("Run `true`"))["run_id"]
                    await direct.runs.wait(run_id)
                    writer.close()
                    far_writer.close()
                else:
                    await copy(far_reader, writer, 1_000_000)
                await upstream

            proxy = await asyncio.start_server(cut, "127.0.0.1", 0)
            port = proxy.sockets[0].getsockname()[1]
            async with Talaria(f"http://127.0.0.1:{port}") as client:
                async for change in client.runs.feed():
                    if change["run"]["run_id"] == run_id and change["run"]["status"] == "completed":
                        break
            proxy.close()
            assert connections == 2

    asyncio.run(run())
