import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerTypes } from './catalog.ts';
import { tooLongIn } from './too-long.ts';

const wordings = {
  anthropic: 'prompt is too long: 130001 tokens > 128000 maximum',
  openai:
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens. Please reduce the length of the messages.",
  'openai with an output limit':
    "This model's maximum context length is 128000 tokens. However, you requested 130001 tokens (129001 in the messages, 1000 in the completion).",
  vllm: "This model's maximum context length is 128000 tokens. However, your request has 130001 input tokens.",
  xai: "This model's maximum prompt length is 128000 but the request contains 130001 tokens.",
  google: 'The input token count (130001) exceeds the maximum number of tokens allowed (128000).',
  mistral: 'Prompt contains 130001 tokens and 0 draft tokens, too large for model with 128000 maximum context length',
  cohere: 'too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 130001.',
  'llama.cpp': 'the request (130001 tokens) exceeds the available context size (128000 tokens), try increasing it',
};

const openai = providerTypes.get('openai')!;

for (const [service, message] of Object.entries(wordings)) {
  test(`too long, as ${service} says it, is understood with its numbers, whoever hands it on`, () => {
    for (const provider of [providerTypes.get(service) ?? openai, openai, providerTypes.get('openrouter')!]) {
      assert.deepEqual(tooLongIn(provider, { code: '', message }), { sent: 130_001, most: 128_000 }, provider.id);
    }
  });
}

test('without numbers, or by its code alone, it is known too', () => {
  for (const [message, code] of [
    ['Your input exceeds the context window of this model. Please adjust your input and try again.', ''],
    ['Please reduce the length of the messages or completion.', ''],
    ['Input is too long for requested model.', ''],
    ['the request exceeds the available context size', ''],
    ['The input token count exceeds the maximum number of tokens allowed', ''],
    ['prompt too long; exceeded max context length by 12 tokens', ''],
    ['too big', 'context_length_exceeded'],
    ['too big', 'exceed_context_size_error'],
  ] as const) {
    assert.deepEqual(tooLongIn(openai, { code, message }), { sent: null, most: null }, message);
  }
});

test('other refusals are none', () => {
  for (const message of [
    'messages.0.content: Field required',
    'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens',
    'The image is too large.',
  ]) {
    assert.equal(tooLongIn(openai, { code: 'invalid_request_error', message }), null, message);
  }
});
