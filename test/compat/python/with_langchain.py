"""LangChain's ChatOpenAI with either API."""

import json

from harness import celsius, message_of, or_refusal, serve, shows_with_both, status_of
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Weather(BaseModel):
    """The weather in a city."""

    city: str
    celsius: float


def model_of(task):
    return ChatOpenAI(
        model=task["model"],
        base_url=task["base_url"],
        api_key=task["api_key"],
        use_responses_api=task["api"] == "responses",
    )


def answer(task, content=None):
    message = model_of(task).invoke([HumanMessage(content or task["prompts"][0])])
    return {"text": str(message.text)}


@shows_with_both("text")
def text(task):
    return answer(task)


@shows_with_both("stream", "server tools in a stream")
def streamed(task):
    text, pieces = "", 0
    for chunk in model_of(task).stream(task["prompts"][0]):
        if chunk.text:
            text += str(chunk.text)
            pieces += 1
    return {"text": text, "pieces": pieces}


def converse(task, ask):
    calls = []

    @tool
    def get_weather(city: str) -> str:
        """The temperature in a city."""
        calls.append({"city": city})
        return json.dumps(celsius(city))

    model = model_of(task).bind_tools([get_weather])
    messages = [HumanMessage(task["prompts"][0])]
    while True:
        message = ask(model, messages)
        messages.append(message)
        if not message.tool_calls:
            return {"text": str(message.text), "calls": calls}
        messages += [get_weather.invoke(call) for call in message.tool_calls]


@shows_with_both("server tools", "client tools", "parallel client tools")
def with_tools(task):
    return converse(task, lambda model, messages: model.invoke(messages))


@shows_with_both("client tools in a stream", "client and server tools in one step")
def with_tools_streamed(task):
    def ask(model, messages):
        whole = None
        for chunk in model.stream(messages):
            whole = chunk if whole is None else whole + chunk
        return whole

    return converse(task, ask)


def typed(task, method):
    model = model_of(task).with_structured_output(Weather, method=method)
    return {"value": model.invoke(task["prompts"][0]).model_dump()}


@shows_with_both("JSON schema")
def schema(task):
    return typed(task, "json_schema")


@shows_with_both("typed answer by a tool")
def typed_by_tool(task):
    return typed(task, "function_calling")


@shows_with_both("JSON object")
def json_object(task):
    return typed(task, "json_mode")


@shows_with_both("several turns", "turns after server tools")
def turns(task):
    messages, texts = [], []
    for prompt in task["prompts"]:
        messages.append(HumanMessage(prompt))
        message = model_of(task).invoke(messages)
        messages.append(message)
        texts.append(str(message.text))
    return {"texts": texts}


@shows_with_both("images")
def image(task):
    part = {"type": "image_url", "image_url": {"url": task["image"]}}
    return answer(task, [{"type": "text", "text": task["prompts"][0]}, part])


@shows_with_both("a file is taken, or refused with a reason")
def file(task):
    part = {
        "type": "file",
        "base64": task["file"]["data_url"].split(",")[1],
        "mime_type": "application/pdf",
        "filename": task["file"]["name"],
    }
    return or_refusal(lambda: answer(task, [{"type": "text", "text": task["prompts"][0]}, part]))


@shows_with_both("errors")
def errors(task):
    return {"wrong_key": status_of(lambda: answer({**task, "api_key": "wrong"}, "hello"))}


@shows_with_both("a failed run is not repeated", "a stopped run is not repeated")
def failure(task):
    return {"status": status_of(lambda: answer(task))}


@shows_with_both("a failed run in a stream")
def stream_failure(task):
    return {"error": message_of(lambda: streamed(task))}


serve()
