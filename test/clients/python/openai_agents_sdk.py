"""OpenAI's Agents SDK for Python: state, own and hosted tools, MCP, approvals and handoffs, over every format."""

import asyncio
import sys

import agents
import openai
from agents import Agent, FileSearchTool, HostedMCPTool, ModelSettings, OpenAIConversationsSession, Runner, WebSearchTool

url, key, mcp_url, *models = sys.argv[1:]
client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
agents.set_tracing_disabled(True)
agents.set_default_openai_client(client, use_for_tracing=False)
checks = 0


def equal(what, seen, wanted):
    global checks
    checks += 1
    assert seen == wanted, f"{what}: {seen!r}, not {wanted!r}"


@agents.function_tool
def get_weather() -> str:
    """Weather of a place."""
    return "Heavy rain."


def sums(approval):
    config = {"type": "mcp", "server_label": "sums", "server_url": mcp_url, "require_approval": approval}
    return HostedMCPTool(tool_config=config)


def types(result):
    return [item.raw_item.type for item in result.new_items if hasattr(item.raw_item, "type")]


async def tools(model):
    web = WebSearchTool(search_context_size="low")
    agent = Agent(
        name="Assistant",
        model=model,
        tools=[web, FileSearchTool(vector_store_ids=["docs"]), sums("never"), get_weather],
    )
    for name, kind in [
        ("web_search", "web_search_call"),
        ("file_search", "file_search_call"),
        ("sums__add", "mcp_call"),
        ("get_weather", "function_call"),
    ]:
        result = await Runner.run(agent, f"Please call {name}")
        equal(f"{model} {name}", kind in types(result), True)
        equal(f"{model} {name} answers", bool(result.final_output), True)
        streamed = Runner.run_streamed(agent, f"Please call {name}")
        seen = [event.data.type async for event in streamed.stream_events() if event.type == "raw_response_event"]
        equal(f"{model} {name} streamed", kind in types(streamed), True)
        if kind != "function_call":
            equal(f"{model} {name} events", f"response.{kind}.completed" in seen, True)


async def state(model):
    agent = Agent(name="Assistant", model=model, tools=[WebSearchTool(), get_weather])
    first = await Runner.run(agent, "My name is Ada. Please call web_search")
    second = await Runner.run(agent, "Who am I?", previous_response_id=first.last_response_id)
    equal(f"{model} previous_response_id", bool(second.final_output), True)
    kept = await client.responses.input_items.list(second.last_response_id, order="asc")
    equal(f"{model} what came before", "web_search_call" in [item.type for item in kept.data], True)
    session = OpenAIConversationsSession(openai_client=client)
    await Runner.run(agent, "Please call web_search", session=session)
    await Runner.run(agent, "And?", session=session)
    items = [item["type"] for item in await session.get_items()]
    equal(f"{model} session", items, ["message", "web_search_call", "message", "message", "message"])
    await session.clear_session()


async def approval(model):
    agent = Agent(name="Assistant", model=model, tools=[sums("always")])
    asked = await Runner.run(agent, "Please call sums__add")
    equal(f"{model} approval asked", len(asked.interruptions), 1)
    waiting = asked.to_state()
    waiting.approve(asked.interruptions[0])
    result = await Runner.run(agent, waiting)
    equal(f"{model} approved", "mcp_call" in types(result), True)


async def handoff(model):
    poet = Agent(name="Poet", model=model, tools=[WebSearchTool()], handoff_description="Writes poems.")
    desk = Agent(name="Desk", model=model, handoffs=[poet])
    handed = await Runner.run(desk, "Please call transfer_to_poet")
    equal(f"{model} handoff", handed.last_agent.name, "Poet")
    settings = ModelSettings(tool_choice="web_search")
    forced = Agent(name="Poet", model=model, tools=[WebSearchTool()], model_settings=settings)
    result = await Runner.run(forced, handed.to_input_list() + [{"role": "user", "content": "Pandas?"}])
    equal(f"{model} demanded", "web_search_call" in types(result), True)


async def main():
    for model in models:
        for run in (tools, state, approval, handoff):
            await run(model)


asyncio.run(main())
print(checks)
