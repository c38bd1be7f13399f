"""LiteLLM, as a library: the provider is `openai`, at another address."""

import json

import litellm
from harness import CHAT_TOOL, WEATHER_SCHEMA, celsius, message_of, or_refusal, serve, shows, status_of


def user(content):
    return [{"role": "user", "content": content}]


def options_of(task):
    return {"model": f"openai/{task['model']}", "api_base": task["base_url"], "api_key": task["api_key"]}


def complete(task, content=None, **options):
    return litellm.completion(**options_of(task), messages=user(content or task["prompts"][0]), **options)


@shows("chat: text")
def chat_text(task):
    return {"text": complete(task).choices[0].message.content}


@shows("chat: stream", "chat: server tools in a stream")
def chat_stream(task):
    text, pieces = "", 0
    for chunk in complete(task, stream=True):
        content = chunk.choices[0].delta.content
        if content:
            text += content
            pieces += 1
    return {"text": text, "pieces": pieces}


def converse(task, ask):
    messages, calls = user(task["prompts"][0]), []
    while True:
        message = ask(messages)
        if not message.tool_calls:
            return {"text": message.content, "calls": calls}
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            args = json.loads(call.function.arguments)
            calls.append(args)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(celsius(**args))})


@shows("chat: server tools", "chat: client tools", "chat: parallel client tools")
def chat_tools(task):
    def ask(messages):
        completion = litellm.completion(**options_of(task), messages=messages, tools=[CHAT_TOOL])
        return completion.choices[0].message

    return converse(task, ask)


@shows("chat: client tools in a stream", "chat: client and server tools in one step")
def chat_tools_streamed(task):
    def ask(messages):
        stream = litellm.completion(**options_of(task), messages=messages, tools=[CHAT_TOOL], stream=True)
        return litellm.stream_chunk_builder(list(stream), messages=messages).choices[0].message

    return converse(task, ask)


@shows("chat: JSON schema")
def chat_schema(task):
    schema = {"name": "weather", "schema": WEATHER_SCHEMA, "strict": True}
    completion = complete(task, response_format={"type": "json_schema", "json_schema": schema})
    return {"value": json.loads(completion.choices[0].message.content)}


@shows("chat: JSON object")
def chat_json(task):
    completion = complete(task, response_format={"type": "json_object"})
    return {"value": json.loads(completion.choices[0].message.content)}


@shows("chat: several turns", "chat: turns after server tools")
def chat_turns(task):
    messages, texts = [], []
    for prompt in task["prompts"]:
        messages += user(prompt)
        message = litellm.completion(**options_of(task), messages=messages).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        texts.append(message.content)
    return {"texts": texts}


@shows("chat: images")
def chat_image(task):
    part = {"type": "image_url", "image_url": {"url": task["image"]}}
    completion = complete(task, [{"type": "text", "text": task["prompts"][0]}, part])
    return {"text": completion.choices[0].message.content}


@shows("chat: a file is taken, or refused with a reason")
def chat_file(task):
    file = {"filename": task["file"]["name"], "file_data": task["file"]["data_url"]}
    parts = [{"type": "text", "text": task["prompts"][0]}, {"type": "file", "file": file}]
    return or_refusal(lambda: {"text": complete(task, parts).choices[0].message.content})


@shows("chat: errors")
def chat_errors(task):
    return {"wrong_key": status_of(lambda: complete({**task, "api_key": "wrong"}, "hello"))}


@shows("chat: a failed run is not repeated", "chat: a stopped run is not repeated")
def chat_failure(task):
    # Its own retries are off unless they are asked for; those of the openai package below are on.
    return {"status": status_of(lambda: complete(task, num_retries=2))}


@shows("chat: a failed run in a stream")
def chat_stream_failure(task):
    return {"error": message_of(lambda: chat_stream(task))}


def respond(task, input=None, **options):
    return litellm.responses(**options_of(task), input=input or task["prompts"][0], **options)


def output_text(response):
    messages = [item for item in response.output if item.type == "message"]
    return messages[-1].content[0].text


@shows("responses: text")
def responses_text(task):
    return {"text": output_text(respond(task))}


@shows("responses: stream", "responses: server tools in a stream")
def responses_stream(task):
    text, pieces = "", 0
    for event in respond(task, stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
            pieces += 1
    return {"text": text, "pieces": pieces}


@shows("responses: server tools", "responses: client tools", "responses: parallel client tools")
def responses_tools(task):
    tool = {"type": "function", **CHAT_TOOL["function"]}
    response, calls = respond(task, tools=[tool]), []
    while True:
        called = [item for item in response.output if item.type == "function_call"]
        if not called:
            return {"text": output_text(response), "calls": calls}
        outputs = []
        for item in called:
            args = json.loads(item.arguments)
            calls.append(args)
            output = json.dumps(celsius(**args))
            outputs.append({"type": "function_call_output", "call_id": item.call_id, "output": output})
        response = respond(task, outputs, tools=[tool], previous_response_id=response.id)


@shows("responses: JSON schema")
def responses_schema(task):
    form = {"type": "json_schema", "name": "weather", "schema": WEATHER_SCHEMA, "strict": True}
    return {"value": json.loads(output_text(respond(task, text={"format": form})))}


@shows("responses: several turns", "responses: turns after server tools")
def responses_turns(task):
    texts, last = [], None
    for prompt in task["prompts"]:
        response = respond(task, prompt, previous_response_id=last)
        last = response.id
        texts.append(output_text(response))
    return {"texts": texts}


@shows("responses: errors")
def responses_errors(task):
    return {"wrong_key": status_of(lambda: respond({**task, "api_key": "wrong"}, "hello"))}


@shows("responses: a failed run is not repeated", "responses: a stopped run is not repeated")
def responses_failure(task):
    return {"status": status_of(lambda: respond(task))}


serve()
