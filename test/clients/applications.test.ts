import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { openThreeProviders } from './three-providers.ts';

/* Requests as chat applications, editors and evaluation tools write them, byte for byte where that matters. */

const { gateway, lastBody } = await openThreeProviders({ responses: { targets: ['responses/mock/ok'] } }, (url) => ({
  responses: { type: 'openai', base_url: `${url}/v1`, api_key: 'd', dialects: ['openai-responses'] },
}));

interface ChatAnswer {
  choices: { message: JsonObject & { content: string | null }; finish_reason: string }[];
  error?: { message: string; param: string };
}

async function chat(body: JsonObject): Promise<ChatAnswer> {
  const response = await gateway.fetch('/v1/chat/completions', { json: body });
  const answer = (await response.json()) as ChatAnswer;
  assert.equal(response.status, 200, answer.error?.message);
  return answer;
}

const models = ['chat', 'claude', 'google', 'responses'];
const user = (content: string) => ({ role: 'user', content });
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };

for (const model of models) {
  for (const [what, turn] of [
    ['null', { role: 'assistant', content: null }],
    ['none', { role: 'assistant' }],
    ['an empty list', { role: 'assistant', content: [] }],
    ['none, and no calls', { role: 'assistant', content: null, refusal: null, tool_calls: [] }],
  ] as const) {
    test(`a history with an answer whose content is ${what} goes on (${model} upstream)`, async () => {
      const answer = await chat({ model, messages: [user('Hello'), turn as JsonObject, user('Are you there?')] });
      assert.match(answer.choices[0]!.message.content!, /Are you there\?/);
      if (model !== 'chat') assert.doesNotMatch(JSON.stringify(lastBody()), /"(assistant|model)"[,}]/);
    });
  }

  test(`a tool that returned nothing answers with null (${model} upstream)`, async () => {
    const tool = { role: 'tool', tool_call_id: 'call_1', content: null };
    await chat({ model, messages: [user('Hello'), { role: 'assistant', content: null, tool_calls: [call] }, tool] });
    assert.match(JSON.stringify(lastBody()), /call_1/);
  });
}
