"""The graph that LangGraph's server runs: a model with one tool."""

import asyncio
import os

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent


@tool
async def terminal(command: str) -> str:
    """Runs a command."""
    process = await asyncio.create_subprocess_exec(command)
    return str(await process.wait())


model = ChatOpenAI(model="bench", base_url=os.environ["MODEL_URL"], api_key="none", streaming=True)
graph = create_react_agent(model, [terminal])
