"""google-genai for Python: answers, streams, calls, errors, files, caches and batches over a provider of each format."""

import io
import sys
import time

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


def files(model):
    content = io.BytesIO(b"name,legs\npanda,4")
    config = types.UploadFileConfig(mime_type="text/csv", display_name="p.csv")
    file = client.files.upload(file=content, config=config)
    equal(f"{model} file", (file.display_name, file.size_bytes, file.state.name), ("p.csv", 17, "ACTIVE"))
    equal(f"{model} found", client.files.get(name=file.name).uri, file.uri)
    equal(f"{model} listed", file.name in [one.name for one in client.files.list()], True)
    about = client.models.generate_content(model=model, contents=["Hello there", file])
    equal(f"{model} of a file", "panda,4" in about.text, True)
    client.files.delete(name=file.name)
    refused(f"{model} deleted", 404, "NOT_FOUND", "no file", lambda: client.files.get(name=file.name))


def caches(model):
    config = types.CreateCachedContentConfig(contents="Know this.", system_instruction="Be brief.", ttl="600s")
    cache = client.caches.create(model=model, config=config)
    equal(f"{model} cache", cache.usage_metadata.total_token_count > 3, True)
    with_cache = types.GenerateContentConfig(cached_content=cache.name)
    whole = client.models.generate_content(model=model, contents="Hello there", config=with_cache)
    equal(f"{model} cached", whole.text.startswith("Mock answer"), True)
    client.caches.update(name=cache.name, config=types.UpdateCachedContentConfig(ttl="900s"))
    client.caches.delete(name=cache.name)
    refused(f"{model} gone", 404, "NOT_FOUND", "no cache", lambda: client.caches.get(name=cache.name))


def batches(model):
    requests = [{"contents": [{"role": "user", "parts": [{"text": text}]}]} for text in ("Hello there", "Bye")]
    job = client.batches.create(model=model, src=requests, config={"display_name": "two"})
    end = time.monotonic() + 60
    while job.state.name in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING") and time.monotonic() < end:
        time.sleep(0.05)
        job = client.batches.get(name=job.name)
    equal(f"{model} batch", (job.state.name, job.display_name), ("JOB_STATE_SUCCEEDED", "two"))
    texts = [one.response.text for one in job.dest.inlined_responses]
    equal(f"{model} results", (texts[0], len(texts)), (answer, 2))
    client.batches.delete(name=job.name)


calls = []
for model in models:
    generate(model)
    functions(model)
    files(model)
    caches(model)
    batches(model)
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
