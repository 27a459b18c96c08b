import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
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

/* Cursor with another base URL: it has one path, whatever it writes (BerriAI/litellm#34029). */
const flatPatchTool = {
  ...{ type: 'custom', name: 'ApplyPatch', description: 'Applies a patch.' },
  format: { type: 'grammar', syntax: 'lark', definition },
};
const flatReadTool = { type: 'function', name: 'read_file', parameters: readTool.function.parameters, strict: false };

/** The tool for a model that is none of OpenAI's, which may know functions alone. */
const patchFunction = {
  type: 'function',
  function: {
    name: 'ApplyPatch',
    description: `Applies a patch.\n\nThe input must follow this lark grammar:\n${definition}`,
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: ['input'],
      additionalProperties: false,
    },
  },
};

/** Names of the functions that it calls. The simulated Claude calls none in a turn with results, which ours are in one with the question. */
function callsIn([choice]: ChatAnswer['choices']): string[] {
  return (choice!.message.tool_calls as unknown as (typeof call)[]).map(({ function: { name } }) => name);
}

for (const model of models) {
  test(`Cursor's agent asks chat completions in the words of Responses (${model} upstream)`, async () => {
    const body = {
      model,
      user: 'someone',
      input: [
        { role: 'system', content: 'You are a coding assistant.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Read main.py' }] },
        { type: 'function_call', call_id: 'call_a', name: 'read_file', arguments: '{"path":"main.py"}' },
        { type: 'function_call_output', call_id: 'call_a', output: 'print("unchanged")' },
        { role: 'user', content: 'Please call read_file' },
      ],
      tools: [flatReadTool, flatPatchTool],
      tool_choice: 'auto',
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      text: { verbosity: 'low' },
      store: false,
    };
    const { choices } = await chat(body);
    if (model !== 'claude') assert.deepEqual(callsIn(choices), ['read_file']);
    const sent = JSON.stringify(lastBody());
    for (const part of ['You are a coding assistant.', 'print(\\"unchanged\\")', 'main.py', 'Applies a patch.'])
      assert.ok(sent.includes(part), `${part} in ${sent}`);
    if (model === 'chat') {
      assert.deepEqual(lastBody().tools, [
        { ...readTool, function: { ...readTool.function, strict: false } },
        patchFunction,
      ]);
      for (const name of ['input', 'include', 'text']) assert.equal(lastBody()[name], undefined);
      assert.equal(lastBody().verbosity, 'low');
      const dropped = (await gateway.fetch('/v1/chat/completions', { json: body })).headers.get('x-culvert-dropped');
      assert.equal(dropped, 'tools[1].custom.format');
    }
    const response = await gateway.fetch('/v1/chat/completions', { json: { ...body, tools: [], stream: true } });
    const text = await response.text();
    assert.match(text, /"object":"chat\.completion\.chunk"/);
    assert.match(text, /data: \[DONE\]\s*$/);
    assert.doesNotMatch(text, /response\./);
  });

  test(`Cursor's questions have tools of both forms in chat completions (${model} upstream)`, async () => {
    const tools = [readTool, flatPatchTool];
    const tool_choice = { type: 'function', name: 'read_file' };
    const { choices } = await chat({ model, messages: [user('Please call read_file')], tools, tool_choice });
    assert.deepEqual(callsIn(choices), ['read_file']);
    assert.match(JSON.stringify(lastBody()), /Applies a patch\./);
    if (model === 'chat') assert.deepEqual(lastBody().tools, [readTool, patchFunction]);
  });

  test(`Cursor writes tools and their results as Anthropic does, for names with claude (${model} upstream)`, async () => {
    const { choices } = await chat({
      model,
      messages: [
        { role: 'system', content: 'You are a coding assistant.' },
        user('Read main.py'),
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'read_file', input: { path: 'main.py' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'unchanged' }] },
            { type: 'text', text: 'Please call read_file' },
          ],
        },
      ],
      tools: [{ name: 'read_file', description: 'Reads.', input_schema: readTool.function.parameters }],
      tool_choice: { type: 'auto' },
      max_tokens: 4_000,
      temperature: 0,
    });
    if (model !== 'claude') assert.deepEqual(callsIn(choices), ['read_file']);
    const sent = lastBody();
    for (const part of ['You are a coding assistant.', 'I look.', 'toolu_1', 'unchanged', 'Reads.'])
      assert.ok(JSON.stringify(sent).includes(part), part);
    if (model !== 'chat') return;
    assert.deepEqual(
      (sent.messages as JsonObject[]).map(({ role }) => role),
      ['system', 'user', 'assistant', 'tool', 'user'],
    );
    assert.deepEqual([sent.tool_choice, sent.max_tokens, sent.temperature], ['auto', 4_000, 0]);
  });
}

test('what looks like Responses at chat completions and is none is 400 in its words', async () => {
  for (const [body, param] of [
    [{ model: 'claude', input: 5 }, 'input'],
    [{ model: 'claude', input: 'x', previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ model: 'claude' }, 'messages'],
  ] as const) {
    const response = await gateway.fetch('/v1/chat/completions', { json: body });
    assert.deepEqual([response.status, ((await response.json()) as ChatAnswer).error!.param], [400, param]);
  }
});

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgAAAAAgAB4iG8MwAAAABJRU5ErkJggg==';
const pdf = Buffer.from('%PDF-1.4\n%âãÏÓ\n').toString('base64');

for (const model of ['claude', 'google', 'responses']) {
  for (const [what, url, sent] of [
    ['a picture without a type', `data:;base64,${png}`, 'image/png'],
    ['a picture of application/octet-stream', `data:application/octet-stream;base64,${png}`, 'image/png'],
    ['a picture in lines', `data:image/png;base64,${png.slice(0, 76)}\r\n${png.slice(76)}`, 'image/png'],
    ['a PDF of application/octet-stream', `data:application/octet-stream;base64,${pdf}`, 'application/pdf'],
    ['a text', `data:text/plain;base64,${Buffer.from('one, two').toString('base64')}`, ''],
  ] as const) {
    test(`an image_url with ${what} reaches the provider as what it is (${model} upstream)`, async () => {
      const content = [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url } },
      ];
      await chat({ model, messages: [{ role: 'user', content }] });
      const body = JSON.stringify(lastBody());
      assert.ok(body.includes(sent), body);
      assert.doesNotMatch(body, /octet-stream|\\r/);
      if (sent === 'image/png') assert.ok(body.includes(png), body);
      if (sent === '') assert.doesNotMatch(body, /"type":"(input_)?image"/);
    });
  }
}

test('a schema beside json_object bounds the answer over Claude', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const response_format = { type: 'json_object', schema };
  const { choices } = await chat({ model: 'claude', messages: [user('Which city?')], response_format });
  assert.deepEqual(Object.keys(JSON.parse(choices[0]!.message.content!) as JsonObject), ['city']);
  assert.match(JSON.stringify(lastBody()), /"city"/);
});

test("an interrupted history of another format has a result for each call in OpenAI's formats", async () => {
  const messages = [
    user('Look.'),
    { role: 'assistant', content: null, tool_calls: [call] },
    user('Never mind.'),
    { role: 'tool', tool_call_id: 'call_9', content: 'late' },
    user('Hello?'),
  ];
  await chat({ model: 'responses', messages });
  const items = lastBody().input as JsonObject[];
  assert.deepEqual(
    items.map(({ type, role, call_id: id }) => role ?? `${type} ${id}`),
    ['user', 'function_call call_1', 'function_call_output call_1', 'user', 'user', 'user'],
  );
  assert.match(JSON.stringify(items), /no result was given.*call_9, which is not shown, answered/);
  const used = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
  const body = {
    model: 'chat',
    max_tokens: 64,
    messages: [user('Look.'), { role: 'assistant', content: [used] }, user('Hm')],
  };
  const answer = await gateway.fetch('/v1/messages', { json: body });
  assert.equal(answer.status, 200);
  assert.deepEqual(
    (lastBody().messages as JsonObject[]).map(({ role, tool_call_id: id }) => id ?? role),
    ['user', 'assistant', 'toolu_1', 'user'],
  );
});

test('metadata of any kind stands in no way of a conversion, and OpenAI gets the texts of it', async () => {
  const metadata = {
    ...{ numAssistantTurns: 1, trace: { id: 't1' }, tags: ['a'], long: 'x'.repeat(600), run: 'r1' },
    ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`member${at}`, `${at}`])),
  };
  for (const model of ['claude', 'google']) await chat({ model, messages: [user('Hello')], metadata });
  await chat({ model: 'responses', messages: [user('Hello')], metadata });
  const sent = lastBody().metadata as JsonObject;
  assert.deepEqual([sent.run, sent.member0, Object.keys(sent).length], ['r1', '0', 16]);
  await chat({ model: 'chat', messages: [user('Hello')], metadata });
  assert.deepEqual(lastBody().metadata, metadata);
});

test('tools that a choice does not allow are not offered in other formats', async () => {
  const tools = ['look', 'read'].map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object' } },
  }));
  const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'look' } }] };
  const tool_choice = { type: 'allowed_tools', allowed_tools: allowed };
  for (const model of ['claude', 'google', 'responses']) {
    const response = await gateway.fetch('/v1/chat/completions', {
      json: { model, messages: [user('Hello')], tools, tool_choice },
    });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-culvert-dropped'), null);
    const sent = JSON.stringify(lastBody());
    assert.match(sent, /"look"/);
    assert.doesNotMatch(sent, /"read"/);
    assert.match(sent, /"tool_choice":\{"type":"any"\}|"mode":"ANY"|"tool_choice":"required"/);
  }
});

test('more tools than OpenAI takes reach Claude', async () => {
  const named = (at: number) => ({ ...readTool, function: { ...readTool.function, name: `tool_${at}` } });
  const tools = Array.from({ length: 200 }, (_, at) => named(at));
  await chat({ model: 'claude', messages: [user('Hello')], tools });
  assert.equal((lastBody().tools as JsonObject[]).length, 200);
});

test('a plugin of Obsidian may call from its page, whatever headers its client adds', async (t) => {
  const origin = 'app://obsidian.md';
  const own = await startGateway(t, { server: { cors_origins: [origin] } });
  const headers = 'authorization,content-type,dangerously-allow-browser,x-stainless-timeout';
  const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': headers };
  const preflight = await fetch(`${own.url}/v1/chat/completions`, { method: 'OPTIONS', headers: { origin, ...asked } });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
  assert.equal(preflight.headers.get('access-control-allow-headers'), headers);
  const refused = await fetch(`${own.url}/v1/models`, { headers: { origin, authorization: 'Bearer sk-no' } });
  assert.deepEqual([refused.status, refused.headers.get('access-control-allow-origin')], [401, origin]);
});
