"""The llm package, with models as its extra-openai-models.yaml describes them."""

import base64
import json

import llm
from harness import WEATHER_SCHEMA, celsius, message_of, serve, shows_with_both, status_of
from llm.default_plugins.openai_models import Chat, Responses


def model_of(task):
    kind = Responses if task["api"] == "responses" else Chat
    return kind(
        model_id="talaria",
        model_name=task["model"],
        api_base=task["base_url"],
        key=task["api_key"],
        supports_schema=True,
        supports_tools=True,
        vision=True,
    )


def answer(task, prompt=None, **options):
    return model_of(task).prompt(prompt or task["prompts"][0], stream=False, **options).text()


@shows_with_both("text")
def text(task):
    return {"text": answer(task)}


@shows_with_both("stream", "server tools in a stream")
def streamed(task):
    pieces = [piece for piece in model_of(task).prompt(task["prompts"][0]) if piece]
    return {"text": "".join(pieces), "pieces": len(pieces)}


def converse(task, stream):
    calls = []

    def get_weather(city: str) -> str:
        """The temperature in a city."""
        calls.append({"city": city})
        return json.dumps(celsius(city))

    chain = model_of(task).chain(task["prompts"][0], tools=[get_weather], stream=stream)
    return {"text": chain.text(), "calls": calls}


@shows_with_both("server tools", "client tools", "parallel client tools")
def with_tools(task):
    return converse(task, stream=False)


@shows_with_both("client tools in a stream", "client and server tools in one step")
def with_tools_streamed(task):
    return converse(task, stream=True)


@shows_with_both("JSON schema")
def schema(task):
    return {"value": json.loads(answer(task, schema=WEATHER_SCHEMA))}


@shows_with_both("several turns", "turns after server tools")
def turns(task):
    conversation = model_of(task).conversation()
    return {"texts": [conversation.prompt(prompt, stream=False).text() for prompt in task["prompts"]]}


@shows_with_both("images")
def image(task):
    content = base64.b64decode(task["image"].split(",")[1])
    return {"text": answer(task, attachments=[llm.Attachment(content=content, type="image/png")])}


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
