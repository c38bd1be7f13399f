"""Instructor: typed answers, in the ways that it asks a model for them."""

import instructor
import openai
from harness import serve, shows, shows_with_both, status_of
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: float


def ask(task, mode, prompt=None):
    client = openai.OpenAI(base_url=task["base_url"], api_key=task["api_key"])
    # It asks again by itself when an answer does not fit; one that fits does so at once.
    return instructor.from_openai(client, mode=mode).chat.completions.create(
        model=task["model"],
        messages=[{"role": "user", "content": prompt or task["prompts"][0]}],
        response_model=Weather,
    )


@shows("chat: JSON schema")
def schema(task):
    return {"value": ask(task, instructor.Mode.JSON_SCHEMA).model_dump()}


@shows("chat: JSON object")
def json_object(task):
    return {"value": ask(task, instructor.Mode.JSON).model_dump()}


@shows("chat: typed answer by a tool")
def typed_by_tool(task):
    return {"value": ask(task, instructor.Mode.TOOLS).model_dump()}


@shows("responses: typed answer by a tool")
def typed_by_tool_in_responses(task):
    return {"value": ask(task, instructor.Mode.RESPONSES_TOOLS).model_dump()}


MODES = {"chat": instructor.Mode.JSON_SCHEMA, "responses": instructor.Mode.RESPONSES_TOOLS}


@shows_with_both("errors")
def errors(task):
    wrong = {**task, "api_key": "wrong"}
    return {"wrong_key": status_of(lambda: ask(wrong, MODES[task["api"]], "hello"))}


@shows_with_both("a failed run is not repeated", "a stopped run is not repeated")
def failure(task):
    return {"status": status_of(lambda: ask(task, MODES[task["api"]]))}


serve()
