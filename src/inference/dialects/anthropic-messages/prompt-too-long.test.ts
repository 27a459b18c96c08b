import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../../../kernel/failure.ts';
import { promptTooLong } from './error-body.ts';

const refused = (message: string, code?: string): Failure => ({
  kind: 'upstream-refused',
  status: 400,
  message,
  provider: 'up',
  param: null,
  ...(code !== undefined && { code }),
});

/** As services word it; the numbers are 130001 sent and 128000 at most. */
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

for (const [service, words] of Object.entries(wordings)) {
  test(`too long, as ${service} says it, is worded as Claude Code reads it`, () => {
    const said = promptTooLong(refused(words), `up: answered 400: ${words}`);
    assert.equal(said, 'prompt is too long: 130001 tokens > 128000 maximum');
  });
}

test('without numbers, or by its code alone, it still begins with the words', () => {
  for (const [words, code] of [
    ['Your input exceeds the context window of this model. Please adjust your input and try again.', undefined],
    ['Please reduce the length of the messages or completion.', undefined],
    ['too big', 'context_length_exceeded'],
  ] as const) {
    assert.match(promptTooLong(refused(words, code), words) ?? '', /^prompt is too long: /);
  }
});

test('other refusals keep their words', () => {
  for (const words of [
    'messages.0.content: Field required',
    'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens',
    'The image is too large.',
  ]) {
    assert.equal(promptTooLong(refused(words), words), null, words);
  }
  assert.equal(promptTooLong({ kind: 'overloaded', message: 'prompt is too long' }, 'prompt is too long'), null);
});
