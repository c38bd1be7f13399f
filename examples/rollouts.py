"""
200 trajectories of a small task through 32 slots, with a reward for each. The server gives out slots:

    talaria serve --slots --max-slots 32
    pip install ./clients/python
    python examples/rollouts.py [trajectories] [slots]

The task: print the sum of the numbers in a file. The policy here only picks one of four commands; a trainer has its
model in this place.
"""

import asyncio
import sys
import time

from talaria_client import SlotBackend, ToolBackend

POLICY = [
    "awk '{ sum += $1 } END { print sum }' numbers",
    "sum=0; while read n; do sum=$((sum + n)); done < numbers; echo $sum",
    "wc -l < numbers",
    "head -n 1 numbers",
]


async def roll_out(backend: ToolBackend, number: int) -> float:
    """One trajectory: a slot with the task in it, what the policy does there, and what that is worth."""
    numbers = [(number + 1) * factor for factor in range(1, 6)]
    slot = await backend.acquire(f"sum-{number}")
    try:
        content = "".join(f"{each}\n" for each in numbers)
        await backend.execute_batch([(slot, "write_file", {"path": "numbers", "content": content})])
        command = POLICY[number % len(POLICY)]
        [result] = await backend.execute_batch([(slot, "bash", {"command": command})], timeout_s=30)
        return 1.0 if result.success and result.output.strip() == str(sum(numbers)) else 0.0
    finally:
        await backend.release(slot, reset_workspace=True)


async def main(trajectories: int = 200, slots: int = 32) -> None:
    backend = SlotBackend()
    await backend.start()
    at_a_time = asyncio.Semaphore(slots)

    async def one(number: int) -> float:
        async with at_a_time:
            return await roll_out(backend, number)

    started_at = time.monotonic()
    try:
        rewards = await asyncio.gather(*(one(number) for number in range(trajectories)))
    finally:
        await backend.stop(purge=True)
    seconds = time.monotonic() - started_at
    print(f"{len(rewards)} trajectories, mean reward {sum(rewards) / len(rewards):.2f}")
    print(f"{len(rewards) / seconds:.1f} trajectories a second", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
