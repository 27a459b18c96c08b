"""google-genai for Python: whole answers, streams, function calls and errors, over a provider of each format."""

import sys

from google import genai
from google.genai import errors, types

url, key, *models = sys.argv[1:]
at = types.HttpOptions(base_url=url, retry_options=types.HttpRetryOptions(attempts=1))
client = genai.Client(api_key=key, http_options=at)
answer = "Mock answer to: Hello there"
checks = 0


def equal(what, seen, wanted):
    global checks
    checks += 1
    assert seen == wanted, f"{what}: {seen!r}, not {wanted!r}"


def refused(what, code, status, words, call):
    global checks
    checks += 1
    try:
        call()
    except errors.ClientError as error:
        assert (error.code, error.status) == (code, status), f"{what}: {error!r}"
        assert words in error.message, f"{what}: {error!r}"
    else:
        raise AssertionError(f"{what}: not refused")


def generate(model):
    config = types.GenerateContentConfig(system_instruction="Be brief.", max_output_tokens=2000)
    whole = client.models.generate_content(model=model, contents="Hello there", config=config)
    equal(f"{model} whole", (whole.text, whole.candidates[0].finish_reason.name), (answer, "STOP"))
    equal(f"{model} usage", whole.usage_metadata.candidates_token_count > 0, True)
    stream = list(client.models.generate_content_stream(model=model, contents="Hello there", config=config))
    equal(f"{model} stream", "".join(chunk.text or "" for chunk in stream), answer)
    equal(f"{model} stream's end", stream[-1].candidates[0].finish_reason.name, "STOP")


def get_weather(city: str) -> str:
    """The weather of a place."""
    calls.append(city)
    return "sunny"


def functions(model):
    declared = types.FunctionDeclaration.from_callable(client=client._api_client, callable=get_weather)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    question = types.UserContent("call get_weather")
    asked = client.models.generate_content(model=model, contents=[question], config=config)
    equal(f"{model} call", [call.name for call in asked.function_calls], ["get_weather"])
    call = asked.function_calls[0]
    result = types.Part(
        function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": "sunny"})
    )
    history = [question, asked.candidates[0].content, types.UserContent([result])]
    after = client.models.generate_content(model=model, contents=history, config=config)
    equal(f"{model} after the call", after.text.startswith("Mock answer"), True)
    # Given the function itself, it calls it and goes on by itself.
    calls.clear()
    config = types.GenerateContentConfig(tools=[get_weather])
    done = client.models.generate_content(model=model, contents="call get_weather", config=config)
    equal(f"{model} called by itself", (len(calls), done.text.startswith("Mock answer")), (1, True))


calls = []
for model in models:
    generate(model)
    functions(model)
    endless = types.GenerateContentConfig(max_output_tokens=-1)
    refused(
        f"{model} endless",
        400,
        "INVALID_ARGUMENT",
        "maxOutputTokens",
        lambda: client.models.generate_content(model=model, contents="x", config=endless),
    )
refused(
    "none",
    404,
    "NOT_FOUND",
    "nothing-like-it",
    lambda: client.models.generate_content(model="nothing-like-it", contents="x"),
)
stranger = genai.Client(api_key="AIza-not-ours", http_options=at)
refused(
    "stranger",
    401,
    "UNAUTHENTICATED",
    "key",
    lambda: stranger.models.generate_content(model=models[0], contents="x"),
)
print(checks)
