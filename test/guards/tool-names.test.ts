import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Names of tools, of schemas and of calls, and names that a schema's values have: models read them. */

const word = 'zebrafish';
const upstream = await startUpstream();
after(upstream.close);
beforeEach(() => upstream.clear());
const guard = { check: 'words', words: [word] };
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  guards: {
    block: { ...guard, action: 'block' },
    mask: { ...guard, action: 'mask' },
    definitions: { ...guard, action: 'block', parts: ['tool-definition'] },
  },
  models: Object.fromEntries(
    ['block', 'mask', 'definitions'].map((name) => [name, { targets: ['up/mock/ok'], guards: [name] }]),
  ),
});

const object = { type: 'object', properties: { to: { type: 'string' } } };
const withDefault = { ...object, default: { [word]: 'x' } };
const hello = [{ role: 'user', content: 'Hello' }];
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
const chatCalls = [{ id: 't', type: 'function', function: { name: word, arguments: '{}' } }];
const result = { role: 'tool', tool_call_id: 't', content: 'Done' };
const chat = (body: object) => (model: string) => ({
  path: '/v1/chat/completions',
  body: { model, messages: hello, ...body },
});
const responses = (body: object) => (model: string) => ({
  path: '/v1/responses',
  body: { model, input: 'Hello', store: false, ...body },
});
const messages = (body: object) => (model: string) => ({
  path: '/v1/messages',
  body: { model, max_tokens: 9, messages: hello, ...body },
});
const gemini = (body: object) => (model: string) => ({
  path: `/v1beta/models/${model}:generateContent`,
  body: { contents, ...body },
});

const fixed = {
  'a function': chat({ tools: [{ type: 'function', function: { name: word, parameters: object } }] }),
  'a custom tool': chat({ tools: [{ type: 'custom', custom: { name: word } }] }),
  'a schema': chat({ response_format: { type: 'json_schema', json_schema: { name: word, schema: object } } }),
  'a default': chat({ tools: [{ type: 'function', function: { name: 'find', parameters: withDefault } }] }),
  'a function of Responses': responses({ tools: [{ type: 'function', name: word, parameters: object }] }),
  'a form of Responses': responses({ text: { format: { type: 'json_schema', name: word, schema: object } } }),
  'a tool of Messages': messages({ tools: [{ name: word, input_schema: object }] }),
  'a declaration of Gemini': gemini({ tools: [{ functionDeclarations: [{ name: word }] }] }),
  "a member of Gemini's schema": gemini({
    generation_config: {
      response_mime_type: 'application/json',
      response_schema: { type: 'OBJECT', properties: { [word]: { type: 'STRING' } } },
    },
  }),
  'a tool of Converse': (model: string) => ({
    path: `/model/${model}/converse`,
    body: {
      messages: [{ role: 'user', content: [{ text: 'Hello' }] }],
      toolConfig: { tools: [{ toolSpec: { name: word, inputSchema: { json: object } } }] },
    },
  }),
};
const called = {
  'a call': chat({ messages: [...hello, { role: 'assistant', tool_calls: chatCalls }, result] }),
  'a call of Messages': messages({
    messages: [
      ...hello,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: word, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'Done' }] },
    ],
  }),
};

async function ask(request: { path: string; body: object }) {
  const response = await gateway.fetch(request.path, { json: request.body });
  return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
}

for (const [what, request] of Object.entries({ ...fixed, ...called })) {
  test(`the name of ${what} is read, and cannot be masked`, async () => {
    const blocked = await ask(request('block'));
    assert.equal(blocked.status, 400, blocked.text);
    assert.match(blocked.text, /The guard 'block' does not let the request pass/);
    const masked = await ask(request('mask'));
    assert.equal(masked.status, 400, masked.text);
    assert.match(masked.text, /does not let the name of (a tool or a schema|a JSON member) pass/);
    assert.ok(upstream.requests().every(({ method }) => method === 'GET'));
  });
}

test('it is of the part that it names', async () => {
  for (const request of Object.values(fixed)) {
    const { status, text } = await ask(request('definitions'));
    assert.equal(status, 400, text);
  }
  for (const request of Object.values(called)) {
    const { status, text } = await ask(request('definitions'));
    assert.equal(status, 200, text);
  }
});

test('an answer may name the tool that a guard lets pass', async () => {
  const tools = [{ type: 'function', function: { name: 'find', parameters: object } }];
  const { status, text, guard } = await ask(chat({ tools })('block'));
  assert.equal(status, 200, text);
  assert.equal(guard, 'block=pass; scanned=100%');
});
