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

const definition = 'start: "*** Begin Patch" /.+/';
const patchTool = {
  type: 'custom',
  custom: {
    name: 'ApplyPatch',
    description: 'Applies a patch.',
    format: { type: 'grammar', grammar: { syntax: 'lark', definition } },
  },
};
const readTool = { type: 'function', function: { name: 'read_file', parameters: { type: 'object', properties: {} } } };

interface CustomCall extends JsonObject {
  id: string;
  type: string;
  custom: { name: string; input: string };
}

/** The calls of a streamed answer, as OpenAI's SDK puts them together. */
async function streamedCalls(body: JsonObject): Promise<CustomCall[]> {
  const response = await gateway.fetch('/v1/chat/completions', { json: { ...body, stream: true } });
  const calls: CustomCall[] = [];
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const { choices } = JSON.parse(line.slice('data: '.length)) as { choices: { delta: JsonObject }[] };
    for (const piece of (choices[0]?.delta.tool_calls ?? []) as (CustomCall & { index: number })[]) {
      const known = calls[piece.index];
      if (known === undefined) calls[piece.index] = piece;
      else known.custom.input += piece.custom.input;
    }
  }
  return calls;
}

for (const model of ['claude', 'google', 'responses']) {
  test(`custom tools of chat completions are called as such, and their calls come back (${model} upstream)`, async () => {
    const tools = [readTool, patchTool];
    const tool_choice = { type: 'custom', custom: { name: 'ApplyPatch' } };
    const messages: JsonObject[] = [user('Please call ApplyPatch')];
    const [whole] = (await chat({ model, messages, tools, tool_choice })).choices;
    const [called] = whole!.message.tool_calls as CustomCall[];
    assert.equal(whole!.finish_reason, 'tool_calls');
    assert.deepEqual([called!.type, called!.custom.name], ['custom', 'ApplyPatch']);
    assert.ok(called!.custom.input.length > 0 && !called!.custom.input.startsWith('{'));
    const { tools: sent, tool_choice: choice } = lastBody();
    if (model === 'responses') {
      const format = { type: 'grammar', syntax: 'lark', definition };
      const { name, description } = patchTool.custom;
      assert.deepEqual((sent as JsonObject[])[1], { type: 'custom', name, description, format });
      assert.deepEqual(choice, { type: 'custom', name: 'ApplyPatch' });
    } else assert.match(JSON.stringify(sent), /must follow this lark grammar/);
    const [streamed] = await streamedCalls({ model, messages, tools, tool_choice });
    assert.deepEqual([streamed!.type, streamed!.custom.input], ['custom', called!.custom.input]);
    const answered = { role: 'tool', tool_call_id: called!.id, content: 'Done!' };
    await chat({ model, messages: [...messages, whole!.message, answered], tools });
    assert.ok(JSON.stringify(lastBody()).includes(JSON.stringify(called!.custom.input)));
    assert.doesNotMatch(JSON.stringify(lastBody()), /not shown/);
  });
}
