"""openai for Python: embeddings as it asks for them by itself (base64), as numbers, of tokens, and its error classes."""

import math
import sys

import openai

url, key, *models = sys.argv[1:]
client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
texts = ["a culvert", "a pipe under a road", "a culvert"]
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


def near(what, seen, wanted):
    global checks
    checks += 1
    assert len(seen) == len(wanted), f"{what}: {len(seen)}, not {len(wanted)}"
    assert all(math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) for a, b in zip(seen, wanted)), what


for model in models:
    by_itself = client.embeddings.create(model=model, input=texts)
    vectors = [row.embedding for row in by_itself.data]
    equal(f"{model} order", [row.index for row in by_itself.data], [0, 1, 2])
    equal(f"{model} same text, same vector", vectors[0], vectors[2])
    equal(f"{model} other text, other vector", vectors[0] != vectors[1], True)
    equal(f"{model} usage", by_itself.usage.total_tokens > 0, True)
    numbers = client.embeddings.create(model=model, input=texts, encoding_format="float")
    for i, row in enumerate(numbers.data):
        near(f"{model} base64 and numbers, {i}", row.embedding, vectors[i])
    one = client.embeddings.create(model=model, input="a culvert", user="ann")
    near(f"{model} one text", one.data[0].embedding, vectors[0])
    refused(f"{model} mixed", openai.BadRequestError, "input[1]", lambda: client.embeddings.create(model=model, input=["a", 5]))
refused("none", openai.NotFoundError, "nothing-like-it", lambda: client.embeddings.create(model="nothing-like-it", input="a"))
aliases = [
    "alpha-embedding-small",
    "Alpha-Embedding-0.6B",
    "alpha-embedding",
    "beta-embeddings-v5",
    "gamma-m3",
    "delta-embedqa-e5-v5",
    "culvert-lexical-1024",
]
for alias in aliases:
    equal(alias, len(client.embeddings.create(model=alias, input="a culvert").data[0].embedding), 1024)
listed = {model.id: model for model in client.models.list()}
equal("listed", {listed[alias].model_type for alias in aliases}, {"embedding"})
print(checks)
