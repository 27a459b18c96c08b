"""anthropic for Python: messages, the stream helper, tools, counting and error classes, over a provider of each format."""

import sys

import anthropic

url, key, *models = sys.argv[1:]
client = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)
hello = {"max_tokens": 2000, "messages": [{"role": "user", "content": "Hello there"}]}
answer = "Mock answer to: Hello there"
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
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
    except anthropic.APIStatusError as error:
        assert type(error) is kind, f"{what}: {error!r}"
        assert words in error.message and error.request_id, f"{what}: {error!r}"
        assert error.body["type"] == "error", f"{what}: {error.body!r}"
    else:
        raise AssertionError(f"{what}: not refused")


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def messages(model):
    whole = client.messages.create(model=model, **hello)
    equal(f"{model} messages", (text_of(whole), whole.stop_reason), (answer, "end_turn"))
    equal(f"{model} usage", whole.usage.input_tokens > 0 and whole.usage.output_tokens > 0, True)
    kinds = [event.type for event in client.messages.create(model=model, stream=True, **hello)]
    equal(f"{model} stream", (kinds[0], kinds[-1]), ("message_start", "message_stop"))
    with client.messages.stream(model=model, **hello) as helper:
        equal(f"{model} .stream() text", "".join(helper.text_stream), answer)
        final = helper.get_final_message()
    equal(f"{model} .stream() message", (text_of(final), final.usage.output_tokens), (answer, whole.usage.output_tokens))


def tools(model):
    order = {"model": model, "max_tokens": 2000, "tools": [{"name": "get_weather", "input_schema": schema}]}
    question = {"role": "user", "content": "call get_weather"}
    whole = client.messages.create(**order, messages=[question])
    with client.messages.stream(**order, messages=[question]) as helper:
        streamed = helper.get_final_message()
    for form, asked in (("whole", whole), ("stream", streamed)):
        equal(f"{model} tool, {form}", asked.stop_reason, "tool_use")
        call = next(block for block in asked.content if block.type == "tool_use")
        equal(f"{model} tool, {form}", (call.name, type(call.input["city"])), ("get_weather", str))
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
        history = [question, {"role": "assistant", "content": asked.content}, {"role": "user", "content": [result]}]
        after = client.messages.create(**order, messages=history)
        equal(f"{model} after the tool, {form}", after.stop_reason, "end_turn")


for model in models:
    messages(model)
    tools(model)
    counted = client.messages.count_tokens(model=model, messages=hello["messages"])
    equal(f"{model} count_tokens", counted.input_tokens > 2, True)
    less = {"model": model, "extra_body": {"max_tokens": -1}, **hello}
    refused(f"{model} less than none", anthropic.BadRequestError, "max_tokens", lambda: client.messages.create(**less))
equal("models", set(models) <= {model.id for model in client.models.list()}, True)
refused(
    "none",
    anthropic.NotFoundError,
    "nothing-like-it",
    lambda: client.messages.create(model="nothing-like-it", **hello),
)
stranger = client.with_options(api_key="sk-cv-nobody")
refused("stranger", anthropic.AuthenticationError, "key", lambda: stranger.messages.create(model=models[0], **hello))
print(checks)
