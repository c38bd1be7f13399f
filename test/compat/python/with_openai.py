"""OpenAI's own package, old and new. The calls are those of its README; where a version has moved one, both are named."""

import json

import openai
from harness import CHAT_TOOL, celsius, message_of, or_refusal, serve, shows, status_of
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: float


RESPONSES_TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "The temperature in a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


def client_of(task, **changes):
    return openai.OpenAI(base_url=task["base_url"], api_key=changes.get("api_key", task["api_key"]))


def user(content):
    return [{"role": "user", "content": content}]


def complete(task, content, **options):
    client = client_of(task)
    return client.chat.completions.create(model=task["model"], messages=user(content), **options)


@shows("chat: text")
def chat_text(task):
    return {"text": complete(task, task["prompts"][0]).choices[0].message.content}


@shows("chat: stream", "chat: server tools in a stream")
def chat_stream(task):
    text, pieces = "", 0
    for chunk in complete(task, task["prompts"][0], stream=True):
        # As everybody writes it: without a question whether there is a choice.
        content = chunk.choices[0].delta.content
        if content:
            text += content
            pieces += 1
    return {"text": text, "pieces": pieces}


def converse(task, ask):
    messages = user(task["prompts"][0])
    calls = []
    while True:
        message = ask(messages)
        if not message.get("tool_calls"):
            return {"text": message["content"], "calls": calls}
        messages.append(message)
        for call in message["tool_calls"]:
            args = json.loads(call["function"]["arguments"])
            calls.append(args)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(celsius(**args))})


@shows("chat: server tools", "chat: client tools", "chat: parallel client tools")
def chat_tools(task):
    def ask(messages):
        client = client_of(task)
        completion = client.chat.completions.create(model=task["model"], messages=messages, tools=[CHAT_TOOL])
        choice = completion.choices[0]
        assert (choice.finish_reason == "tool_calls") == bool(choice.message.tool_calls), choice.finish_reason
        return choice.message.model_dump(exclude_none=True)

    return converse(task, ask)


@shows("chat: client tools in a stream", "chat: client and server tools in one step")
def chat_tools_streamed(task):
    def ask(messages):
        text, calls = "", {}
        client = client_of(task)
        stream = client.chat.completions.create(
            model=task["model"], messages=messages, tools=[CHAT_TOOL], stream=True
        )
        for chunk in stream:
            delta = chunk.choices[0].delta
            text += delta.content or ""
            for piece in delta.tool_calls or []:
                call = calls.setdefault(
                    piece.index, {"id": piece.id, "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
        message = {"role": "assistant", "content": text}
        return {**message, "tool_calls": list(calls.values())} if calls else message

    return converse(task, ask)


@shows("chat: JSON schema")
def chat_schema(task):
    client = client_of(task)
    # Until version 1.92 it was only under `beta`.
    completions = client.chat.completions if hasattr(client.chat.completions, "parse") else client.beta.chat.completions
    completion = completions.parse(
        model=task["model"], messages=user(task["prompts"][0]), response_format=Weather
    )
    return {"value": completion.choices[0].message.parsed.model_dump()}


@shows("chat: JSON object")
def chat_json(task):
    completion = complete(task, task["prompts"][0], response_format={"type": "json_object"})
    return {"value": json.loads(completion.choices[0].message.content)}


@shows("chat: several turns", "chat: turns after server tools")
def chat_turns(task):
    client, messages, texts = client_of(task), [], []
    for prompt in task["prompts"]:
        messages += user(prompt)
        message = client.chat.completions.create(model=task["model"], messages=messages).choices[0].message
        messages.append(message)
        texts.append(message.content)
    return {"texts": texts}


@shows("chat: images")
def chat_image(task):
    parts = [
        {"type": "text", "text": task["prompts"][0]},
        {"type": "image_url", "image_url": {"url": task["image"]}},
    ]
    return {"text": complete(task, parts).choices[0].message.content}


@shows("chat: a file is taken, or refused with a reason")
def chat_file(task):
    file = {"filename": task["file"]["name"], "file_data": task["file"]["data_url"]}
    parts = [{"type": "text", "text": task["prompts"][0]}, {"type": "file", "file": file}]
    return or_refusal(lambda: {"text": complete(task, parts).choices[0].message.content})


@shows("chat: errors")
def chat_errors(task):
    return {
        "wrong_key": status_of(lambda: complete({**task, "api_key": "wrong"}, "hello")),
        "not_found": status_of(lambda: client_of(task).models.retrieve("none")),
        "bad_request": status_of(
            lambda: client_of(task).chat.completions.create(model=task["model"], messages=[])
        ),
    }


@shows("chat: a failed run is not repeated", "chat: a stopped run is not repeated")
def chat_failure(task):
    return {"status": status_of(lambda: complete(task, task["prompts"][0]))}


@shows("chat: a failed run in a stream")
def chat_stream_failure(task):
    return {"error": message_of(lambda: chat_stream(task))}


def respond(task, input, **options):
    return client_of(task).responses.create(model=task["model"], input=input, **options)


@shows("responses: text")
def responses_text(task):
    return {"text": respond(task, task["prompts"][0]).output_text}


@shows("responses: stream", "responses: server tools in a stream")
def responses_stream(task):
    text, pieces = "", 0
    for event in respond(task, task["prompts"][0], stream=True):
        if event.type == "response.failed":
            raise RuntimeError(event.response.error.message)
        if event.type == "response.output_text.delta":
            text += event.delta
            pieces += 1
    return {"text": text, "pieces": pieces}


def converse_in_responses(task, ask):
    response = ask(input=task["prompts"][0])
    calls = []
    while True:
        called = [item for item in response.output if item.type == "function_call"]
        if not called:
            return {"text": response.output_text, "calls": calls}
        outputs = []
        for item in called:
            args = json.loads(item.arguments)
            calls.append(args)
            output = json.dumps(celsius(**args))
            outputs.append({"type": "function_call_output", "call_id": item.call_id, "output": output})
        response = ask(input=outputs, previous_response_id=response.id)


@shows("responses: server tools", "responses: client tools", "responses: parallel client tools")
def responses_tools(task):
    def ask(**options):
        return client_of(task).responses.create(model=task["model"], tools=[RESPONSES_TOOL], **options)

    return converse_in_responses(task, ask)


@shows("responses: client tools in a stream", "responses: client and server tools in one step")
def responses_tools_streamed(task):
    def ask(**options):
        manager = client_of(task).responses.stream(model=task["model"], tools=[RESPONSES_TOOL], **options)
        with manager as stream:
            return stream.get_final_response()

    return converse_in_responses(task, ask)


@shows("responses: JSON schema")
def responses_schema(task):
    response = client_of(task).responses.parse(
        model=task["model"], input=task["prompts"][0], text_format=Weather
    )
    return {"value": response.output_parsed.model_dump()}


@shows("responses: JSON object")
def responses_json(task):
    response = respond(task, task["prompts"][0], text={"format": {"type": "json_object"}})
    return {"value": json.loads(response.output_text)}


@shows("responses: several turns", "responses: turns after server tools")
def responses_turns(task):
    texts, last = [], None
    for prompt in task["prompts"]:
        response = respond(task, prompt, previous_response_id=last)
        last = response.id
        texts.append(response.output_text)
    return {"texts": texts}


def respond_to_part(task, part):
    parts = [{"type": "input_text", "text": task["prompts"][0]}, part]
    return {"text": respond(task, user(parts)).output_text}


@shows("responses: images")
def responses_image(task):
    return respond_to_part(task, {"type": "input_image", "image_url": task["image"], "detail": "auto"})


@shows("responses: a file is taken, or refused with a reason")
def responses_file(task):
    file = task["file"]
    part = {"type": "input_file", "filename": file["name"], "file_data": file["data_url"]}
    return or_refusal(lambda: respond_to_part(task, part))


@shows("responses: errors")
def responses_errors(task):
    return {
        "wrong_key": status_of(lambda: respond({**task, "api_key": "wrong"}, "hello")),
        "not_found": status_of(lambda: respond(task, "hello", previous_response_id="resp_none")),
        "bad_request": status_of(lambda: respond(task, [])),
    }


@shows("responses: a failed run is not repeated", "responses: a stopped run is not repeated")
def responses_failure(task):
    return {"status": status_of(lambda: respond(task, task["prompts"][0]))}


@shows("responses: a failed run in a stream")
def responses_stream_failure(task):
    return {"error": message_of(lambda: responses_stream(task))}


serve()
