"""Pydantic AI: a loop of its own around either API. It has typed answers given by a tool, unless it is told otherwise."""

import base64
import json

from harness import celsius, message_of_async, serve, shows_with_both, status_of_async
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


class Weather(BaseModel):
    city: str
    celsius: float


def agent_of(task, **options):
    provider = OpenAIProvider(base_url=task["base_url"], api_key=task["api_key"])
    model = OpenAIResponsesModel if task["api"] == "responses" else OpenAIChatModel
    return Agent(model(task["model"], provider=provider), **options)


async def answer(task, prompt=None):
    return {"text": (await agent_of(task).run(prompt or task["prompts"][0])).output}


@shows_with_both("text")
async def text(task):
    return await answer(task)


@shows_with_both("stream", "server tools in a stream")
async def streamed(task):
    text, pieces = "", 0
    async with agent_of(task).run_stream(task["prompts"][0]) as result:
        async for piece in result.stream_text(delta=True, debounce_by=None):
            text += piece
            pieces += 1
    return {"text": text, "pieces": pieces}


def agent_with_tool(task, calls):
    agent = agent_of(task)

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The temperature in a city."""
        calls.append({"city": city})
        return json.dumps(celsius(city))

    return agent


@shows_with_both("server tools", "client tools", "parallel client tools")
async def with_tools(task):
    calls = []
    result = await agent_with_tool(task, calls).run(task["prompts"][0])
    return {"text": result.output, "calls": calls}


@shows_with_both("client tools in a stream", "client and server tools in one step")
async def with_tools_streamed(task):
    calls = []

    async def read(_, events):
        async for _ in events:
            pass

    result = await agent_with_tool(task, calls).run(task["prompts"][0], event_stream_handler=read)
    return {"text": result.output, "calls": calls}


@shows_with_both("JSON schema")
async def schema(task):
    result = await agent_of(task, output_type=NativeOutput(Weather)).run(task["prompts"][0])
    return {"value": result.output.model_dump()}


@shows_with_both("typed answer by a tool")
async def typed_by_tool(task):
    result = await agent_of(task, output_type=Weather).run(task["prompts"][0])
    return {"value": result.output.model_dump()}


@shows_with_both("several turns", "turns after server tools")
async def turns(task):
    texts, history = [], []
    for prompt in task["prompts"]:
        result = await agent_of(task).run(prompt, message_history=history)
        history = result.all_messages()
        texts.append(result.output)
    return {"texts": texts}


@shows_with_both("images")
async def image(task):
    data = base64.b64decode(task["image"].split(",")[1])
    return await answer(task, [task["prompts"][0], BinaryContent(data, media_type="image/png")])


@shows_with_both("errors")
async def errors(task):
    return {"wrong_key": await status_of_async(lambda: answer({**task, "api_key": "wrong"}, "hello"))}


@shows_with_both("a failed run is not repeated", "a stopped run is not repeated")
async def failure(task):
    return {"status": await status_of_async(lambda: answer(task))}


@shows_with_both("a failed run in a stream")
async def stream_failure(task):
    return {"error": await message_of_async(lambda: streamed(task))}


serve()
