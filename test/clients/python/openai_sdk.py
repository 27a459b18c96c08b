"""openai for Python: chat, responses, streams, tools and error classes, over a provider of each format."""

import json
import sys

import openai

url, key, *models = sys.argv[1:]
client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
hello = [{"role": "user", "content": "Hello there"}]
answer = "Mock answer to: Hello there"
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
checks = 0


def equal(what, seen, wanted):
    global checks
    checks += 1
    assert seen == wanted, f"{what}: {seen!r}, not {wanted!r}"


def refused(what, kind, words, call):
    global checks
    checks += 1
    try:
        call()
    except openai.APIStatusError as error:
        assert type(error) is kind, f"{what}: {error!r}"
        assert words in error.message and error.request_id, f"{what}: {error!r}"
    else:
        raise AssertionError(f"{what}: not refused")


def chat(model):
    whole = client.chat.completions.create(model=model, messages=hello)
    equal(f"{model} chat", whole.choices[0].message.content, answer)
    equal(f"{model} chat usage", whole.usage.completion_tokens > 0, True)
    stream = list(
        client.chat.completions.create(
            model=model, messages=hello, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(choice.delta.content or "" for chunk in stream for choice in chunk.choices)
    equal(f"{model} chat stream", text, answer)
    equal(f"{model} chat stream usage", stream[-1].usage.completion_tokens, whole.usage.completion_tokens)
    with client.chat.completions.stream(model=model, messages=hello) as helper:
        equal(f"{model} chat .stream()", helper.get_final_completion().choices[0].message.content, answer)


def chat_tools(model):
    question = {"role": "user", "content": "call get_weather"}
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]
    asked = client.chat.completions.create(model=model, messages=[question], tools=tools).choices[0]
    equal(f"{model} chat tool", asked.finish_reason, "tool_calls")
    call = asked.message.tool_calls[0]
    equal(f"{model} chat tool name", call.function.name, "get_weather")
    equal(f"{model} chat tool city", type(json.loads(call.function.arguments)["city"]), str)
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    after = client.chat.completions.create(model=model, messages=[question, asked.message, result], tools=tools)
    equal(f"{model} chat after the tool", after.choices[0].finish_reason, "stop")


def responses(model):
    whole = client.responses.create(model=model, input="Hello there", store=False)
    equal(f"{model} responses", (whole.status, whole.output_text), ("completed", answer))
    kinds = [event.type for event in client.responses.create(model=model, input="Hello there", store=False, stream=True)]
    equal(f"{model} responses stream", (kinds[0], kinds[-1]), ("response.created", "response.completed"))
    with client.responses.stream(model=model, input="Hello there", store=False) as helper:
        equal(f"{model} responses .stream()", helper.get_final_response().output_text, answer)


def responses_tools(model):
    tools = [{"type": "function", "name": "get_weather", "parameters": parameters, "strict": False}]
    history = [{"role": "user", "content": "call get_weather"}]
    asked = client.responses.create(model=model, input=history, tools=tools, store=False)
    call = next(item for item in asked.output if item.type == "function_call")
    equal(f"{model} responses tool", call.name, "get_weather")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    after = client.responses.create(model=model, input=[*history, *asked.output, result], tools=tools, store=False)
    equal(f"{model} responses after the tool", after.output_text.startswith("Mock answer"), True)


for model in models:
    chat(model)
    chat_tools(model)
    responses(model)
    responses_tools(model)
    none = {"model": model, "messages": hello, "max_tokens": 0.5}
    refused(f"{model} with half a token", openai.BadRequestError, "max_tokens", lambda: client.chat.completions.create(**none))
equal("models", set(models) <= {model.id for model in client.models.list()}, True)
ask_none = {"model": "nothing-like-it"}
refused("none", openai.NotFoundError, "nothing-like-it", lambda: client.chat.completions.create(**ask_none, messages=hello))
refused("none", openai.NotFoundError, "nothing-like-it", lambda: client.responses.create(**ask_none, input="Hello"))
stranger = client.with_options(api_key="sk-cv-nobody")
refused("stranger", openai.AuthenticationError, "key", lambda: stranger.models.list())
print(checks)
