"""OpenAI's Agents SDK: a loop of its own around either API, which runs every function call that it is given."""

import json

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool
from harness import celsius, message_of_async, or_refusal_async, serve, shows_with_both, status_of_async
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: float


def config(task):
    provider = OpenAIProvider(
        base_url=task["base_url"], api_key=task["api_key"], use_responses=task["api"] == "responses"
    )
    return RunConfig(model_provider=provider, tracing_disabled=True)


def agent_of(task, **options):
    return Agent(name="assistant", model=task["model"], **options)


async def answer(task, input=None):
    result = await Runner.run(agent_of(task), input or task["prompts"][0], run_config=config(task))
    return {"text": result.final_output}


@shows_with_both("text")
async def text(task):
    return await answer(task)


@shows_with_both("stream", "server tools in a stream")
async def streamed(task):
    result = Runner.run_streamed(agent_of(task), task["prompts"][0], run_config=config(task))
    text, pieces = "", 0
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
            pieces += 1
    return {"text": text, "pieces": pieces}


def weather_tool(calls):
    @function_tool
    def get_weather(city: str) -> str:
        """The temperature in a city."""
        calls.append({"city": city})
        return json.dumps(celsius(city))

    return get_weather


@shows_with_both("server tools", "client tools", "parallel client tools")
async def with_tools(task):
    calls = []
    agent = agent_of(task, tools=[weather_tool(calls)])
    result = await Runner.run(agent, task["prompts"][0], run_config=config(task))
    return {"text": result.final_output, "calls": calls}


@shows_with_both("client tools in a stream", "client and server tools in one step")
async def with_tools_streamed(task):
    calls = []
    agent = agent_of(task, tools=[weather_tool(calls)])
    result = Runner.run_streamed(agent, task["prompts"][0], run_config=config(task))
    async for _ in result.stream_events():
        pass
    return {"text": result.final_output, "calls": calls}


@shows_with_both("another agent takes over")
async def handed_over(task):
    model = task["model"]
    expert = Agent(name="expert", model=model, instructions="You are the expert.", tools=[weather_tool([])])
    receptionist = Agent(
        name="receptionist", model=model, instructions="You are the receptionist.", handoffs=[expert]
    )
    result = await Runner.run(receptionist, task["prompts"][0], run_config=config(task))
    return {"text": result.final_output, "agent": result.last_agent.name}


@shows_with_both("JSON schema")
async def schema(task):
    agent = agent_of(task, output_type=Weather)
    result = await Runner.run(agent, task["prompts"][0], run_config=config(task))
    return {"value": result.final_output.model_dump()}


@shows_with_both("several turns", "turns after server tools")
async def turns(task):
    # The items of the first turn are sent again with the second: those of the server's tools, too.
    texts, history = [], []
    for prompt in task["prompts"]:
        history.append({"role": "user", "content": prompt})
        result = await Runner.run(agent_of(task), history, run_config=config(task))
        history = result.to_input_list()
        texts.append(result.final_output)
    return {"texts": texts}


async def answer_to_part(task, part):
    parts = [{"type": "input_text", "text": task["prompts"][0]}, part]
    return await answer(task, [{"role": "user", "content": parts}])


@shows_with_both("images")
async def image(task):
    return await answer_to_part(task, {"type": "input_image", "image_url": task["image"], "detail": "auto"})


@shows_with_both("a file is taken, or refused with a reason")
async def file(task):
    file = task["file"]
    part = {"type": "input_file", "filename": file["name"], "file_data": file["data_url"]}
    return await or_refusal_async(lambda: answer_to_part(task, part))


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
