"""Serves the capabilities of one client: a task per line of standard input, its result per line of standard output.

The first line says that the client is loaded.

A client's file marks each function that shows a capability with @shows or @shows_with_both and ends with serve(). The lines are JSON; the tasks
are those of capabilities.ts. What a library prints goes to standard error, so that it cannot get between the lines.
"""

import asyncio
import inspect
import json
import sys
import traceback

_functions = {}


def shows(*names):
    def register(function):
        for name in names:
            _functions[name] = function
        return function

    return register


def shows_with_both(*features):
    """For a client that does the same with both APIs; task["api"] says with which."""
    return shows(*(f"{api}: {feature}" for feature in features for api in ("chat", "responses")))


def celsius(city):
    """The tool that the clients have."""
    return {"celsius": 12 if city == "Oslo" else 21}


CHAT_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The temperature in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

WEATHER_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "celsius": {"type": "number"}},
    "required": ["city", "celsius"],
    "additionalProperties": False,
}


def status_of(call):
    """The HTTP status of the error that the call ends with, as far down as its library has wrapped it."""
    try:
        call()
    except Exception as error:
        return _status_in(error) or repr(error)
    return "no error"


async def status_of_async(call):
    try:
        await call()
    except Exception as error:
        return _status_in(error) or repr(error)
    return "no error"


def or_refusal(call):
    """The call's result, or what its refusal says."""
    try:
        return call()
    except Exception as error:
        return {"status": _status_in(error), "message": str(error)}


async def or_refusal_async(call):
    try:
        return await call()
    except Exception as error:
        return {"status": _status_in(error), "message": str(error)}


def message_of(call):
    """What the call's error says. An error of the loop itself, which met a chunk it did not expect, is none of the server's."""
    try:
        call()
    except (AttributeError, IndexError, KeyError, TypeError):
        raise
    except Exception as error:
        return str(error)
    return ""


async def message_of_async(call):
    try:
        await call()
    except (AttributeError, IndexError, KeyError, TypeError):
        raise
    except Exception as error:
        return str(error)
    return ""


def _status_in(error):
    while error is not None:
        status = getattr(error, "status_code", None)
        if status is not None:
            return status
        error = error.__cause__ or error.__context__
    return None


def serve():
    answers, sys.stdout = sys.stdout, sys.stderr

    def say(message):
        print(json.dumps(message), file=answers, flush=True)

    say({"ready": True})
    # One loop for all tasks: clients keep their connections, which belong to the loop they were made in.
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                capability = request["capability"]
                task = {**request["task"], "api": capability.split(":")[0]}
                result = _functions[capability](task)
                if inspect.iscoroutine(result):
                    result = runner.run(result)
                say({"id": request["id"], "result": result})
            except Exception:
                say({"id": request["id"], "error": traceback.format_exc()})
