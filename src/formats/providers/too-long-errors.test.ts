import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerTypes } from './catalog.ts';
import { tooLongIn } from './too-long-errors.ts';

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
  fireworks: 'The prompt is too long: 130001, model maximum context length: 128000',
  cerebras: 'Please reduce the length of the messages. Current length is 130001 while limit is 128000',
  moonshot: 'Invalid request: Your request exceeded model token limit: 128000 (requested: 130001)',
  groq: 'Request too large for model `m` in organization `o` on tokens per minute (TPM): Limit 128000, Requested 130001, please reduce',
  lmstudio:
    'Trying to keep the first 130001 tokens when context the overflows. However, the model is loaded with context length of only 128000 tokens, which is not enough.',
  sglang: "The input (130001 tokens) is longer than the model's context length (128000 tokens).",
  tgi: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 128000. Given: 130001 `inputs` tokens and 9 `max_new_tokens`',
  watsonx: 'the number of input tokens 130001 cannot exceed the total tokens limit 128000 for this model',
  copilot: 'prompt token count of 130001 exceeds the limit of 128000',
  bedrock: 'Too many input tokens. Max input tokens: 128000, request input token count: 130001',
  vertex: 'the input token count is 130001 but model only supports up to 128000',
  openrouter:
    "This endpoint's maximum context length is 128000 tokens. However, you requested about 130001 tokens (1 of text input).",
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
