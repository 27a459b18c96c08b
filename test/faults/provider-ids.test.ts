import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { NotFoundError } from 'openai';
import type { Response as OpenAiResponse } from 'openai/resources/responses/responses';
import { adminKey, otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { type ObjectKeeper, startObjectKeeper } from './object-keeper.ts';
import { openKeeperWorld } from './object-keeper-world.ts';

/*
 * Accounts `dev` (a) and `other` (b) share the operator's credential at a provider that keeps its objects. An id of one
 * must serve nobody else, and must go back to its credential.
 */

type Json = Record<string, unknown>;

function post(gateway: TestGateway, key: string, path: string, body: Json | string): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

function openai(gateway: TestGateway, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
}

const chat = (content: unknown, more: Json = {}) => ({ model: 'gpt', messages: [{ role: 'user', content }], ...more });
const respond = (more: Json) => ({ model: 'gpt', input: 'Hi', ...more });
const items = (...input: Json[]) => ({ model: 'gpt', input: [{ role: 'user', content: 'Hi' }, ...input] });
const parts = (...content: Json[]) => ({ model: 'gpt', input: [{ role: 'user', content }] });
const claude = (content: unknown, more: Json = {}) => ({
  model: 'claude',
  max_tokens: 9,
  messages: [{ role: 'user', content }],
  ...more,
});
const gemini = (part: Json, more: Json = {}) => ({
  contents: [{ role: 'user', parts: [{ text: 'Hi' }, part] }],
  ...more,
});

const responses = '/v1/responses';
const chats = '/v1/chat/completions';
const messages = '/v1/messages';
const generate = '/v1beta/models/gemini:generateContent';

/** Every place in which a request can name what lives at a provider. */
const places: readonly [field: string, path: string, body: (id: string) => Json][] = [
  ['previous_response_id', responses, (id) => respond({ previous_response_id: id })],
  ['previous_response_id', `${responses}/input_tokens`, (id) => respond({ previous_response_id: id })],
  ['conversation', responses, (id) => respond({ conversation: id })],
  ['conversation.id', responses, (id) => respond({ conversation: { id } })],
  ['prompt.id', responses, (id) => respond({ prompt: { id, version: '2' } })],
  [
    'prompt.variables.x.file_id',
    responses,
    (id) => respond({ prompt: { variables: { x: { type: 'input_file', file_id: id } } } }),
  ],
  ['input[1].id', responses, (id) => items({ type: 'item_reference', id })],
  ['input[1].id', responses, (id) => items({ id })],
  ['input[1].id', responses, (id) => items({ type: 'reasoning', id, summary: [] })],
  ['input[1].id', responses, (id) => items({ type: 'image_generation_call', id })],
  ['input[1].id', responses, (id) => items({ type: 'of_tomorrow', id })],
  ['input[0].content[0].file_id', responses, (id) => parts({ type: 'input_file', file_id: id })],
  ['input[0].content[0].file_id', responses, (id) => parts({ type: 'input_image', file_id: id })],
  [
    'input[2].output[0].file_id',
    responses,
    (id) =>
      items(
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_id: id }] },
      ),
  ],
  [
    'input[1].container_id',
    responses,
    (id) => items({ type: 'code_interpreter_call', container_id: id, code: '1', outputs: null }),
  ],
  ['tools[0].vector_store_ids[1]', responses, (id) => tool({ type: 'file_search', vector_store_ids: ['', id] })],
  ['tools[0].container', responses, (id) => tool({ type: 'code_interpreter', container: id })],
  [
    'tools[0].container.file_ids[0]',
    responses,
    (id) => tool({ type: 'code_interpreter', container: { type: 'auto', file_ids: [id] } }),
  ],
  [
    'tools[0].environment.container_id',
    responses,
    (id) => tool({ type: 'shell', environment: { type: 'container_reference', container_id: id } }),
  ],
  [
    'tools[0].environment.skills[0].skill_id',
    responses,
    (id) =>
      tool({
        type: 'shell',
        environment: { type: 'container_auto', skills: [{ type: 'skill_reference', skill_id: id }] },
      }),
  ],
  [
    'tools[0].input_image_mask.file_id',
    responses,
    (id) => tool({ type: 'image_generation', input_image_mask: { file_id: id } }),
  ],
  ['tools[0].tunnel_id', responses, (id) => tool({ type: 'mcp', server_label: 'x', tunnel_id: id })],
  ['messages[0].content[0].file.file_id', chats, (id) => chat([{ type: 'file', file: { file_id: id } }])],
  [
    'messages[1].audio.id',
    chats,
    (id) => ({
      model: 'gpt',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', audio: { id } },
        { role: 'user', content: 'And?' },
      ],
    }),
  ],
  [
    'data_sources[0]',
    chats,
    (id) =>
      chat('Hi', {
        data_sources: [
          {
            type: 'azure_search',
            parameters: { index_name: id, authentication: { type: 'system_assigned_managed_identity' } },
          },
        ],
      }),
  ],
  ['images[0].file_id', '/v1/images/generations', (id) => ({ model: 'gpt', prompt: 'x', images: [{ file_id: id }] })],
  // The same over providers of other formats, which would be asked in their own words.
  [
    'messages[0].content[0].file.file_id',
    chats,
    (id) => chat([{ type: 'file', file: { file_id: id } }], { model: 'claude' }),
  ],
  [
    'messages[0].content[0].file.file_id',
    chats,
    (id) => chat([{ type: 'file', file: { file_id: id } }], { model: 'gemini' }),
  ],
  ['container', messages, (id) => claude('Hi', { container: id })],
  ['container.id', messages, (id) => claude('Hi', { container: { id } })],
  [
    'container.skills[0].skill_id',
    messages,
    (id) => claude('Hi', { container: { skills: [{ type: 'custom', skill_id: id, version: '1' }] } }),
  ],
  [
    'messages[0].content[0].source.file_id',
    messages,
    (id) => claude([{ type: 'document', source: { type: 'file', file_id: id } }]),
  ],
  [
    'messages[0].content[0].source.file_id',
    `${messages}/count_tokens`,
    (id) => claude([{ type: 'image', source: { type: 'file', file_id: id } }]),
  ],
  [
    'messages[2].content[0].content[0].source.file_id',
    messages,
    (id) => ({
      model: 'claude',
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't',
              content: [{ type: 'image', source: { type: 'file', file_id: id } }],
            },
          ],
        },
      ],
    }),
  ],
  ['messages[0].content[0].file_id', messages, (id) => claude([{ type: 'container_upload', file_id: id }])],
  [
    'thread.previous_message_id',
    messages,
    (id) => claude('Hi', { thread: { type: 'continue', previous_message_id: id } }),
  ],
  ['cachedContent', generate, (id) => gemini({ text: 'x' }, { cachedContent: `cachedContents/${id}` })],
  ['cached_content', generate, (id) => gemini({ text: 'x' }, { cached_content: `cachedContents/${id}` })],
  [
    'contents[0].parts[1].fileData.fileUri',
    generate,
    (id) => gemini({ fileData: { mimeType: 'text/plain', fileUri: `files/${id}` } }),
  ],
  [
    'contents[0].parts[1].file_data.file_uri',
    generate,
    (id) =>
      gemini({
        file_data: {
          mime_type: 'text/plain',
          file_uri: `HTTPS://generativelanguage.googleapis.com:443/v1beta/files/${id}`,
        },
      }),
  ],
  [
    'contents[0].parts[1].fileData.fileUri',
    generate,
    (id) => gemini({ fileData: { mimeType: 'text/plain', fileUri: `gs://bucket/${id}` } }),
  ],
  [
    'contents[0].parts[1].fileData.fileUri',
    generate,
    (id) =>
      gemini({
        fileData: { mimeType: 'text/plain', fileUri: `https://x.example\\@generativelanguage.googleapis.com/v1/${id}` },
      }),
  ],
  [
    'tools[0].fileSearch.fileSearchStoreNames[0]',
    generate,
    (id) => gemini({ text: 'x' }, { tools: [{ fileSearch: { fileSearchStoreNames: [`fileSearchStores/${id}`] } }] }),
  ],
];

function tool(one: Json): Json {
  return respond({ tools: [one] });
}

async function errorOf(answer: Response): Promise<Json> {
  return ((await answer.json()) as { error: Json }).error;
}

/** Ids of every kind that an answer gave to a. */
async function givenTo(
  gateway: TestGateway,
  key: string,
  input = 'The code word is heron.',
): Promise<Record<string, string>> {
  const answer = await openai(gateway, key).responses.create({ model: 'gpt', input });
  const [thought, code, picture, said] = answer.output as unknown as [Json, Json, Json, Json];
  const note = ((said.content as Json[])[0]!.annotations as Json[])[0]!;
  return {
    response: answer.id,
    thought: String(thought.id),
    code: String(code.id),
    container: String(code.container_id),
    picture: String(picture.id),
    message: String(said.id),
    file: String(note.file_id),
  };
}

test("S25 another key's ids and ids of nobody are the same 404 in every field, and reach no provider", async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const given = await givenTo(gateway, testKey);
  keeper.requests.length = 0;
  for (const [field, path, body] of places) {
    const refused: string[] = [];
    for (const id of [given.response!, given.file!, 'file-made-up']) {
      const answer = await post(gateway, otherKey, path, body(id));
      assert.equal(answer.status, 404, `${path} ${field}`);
      const text = await answer.text();
      assert.ok(text.includes(`'${field}'`) || text.includes(`"${field}"`), `${field}: ${text}`);
      assert.ok(!text.includes(id), 'it tells nothing of the id');
      refused.push(text.replace(/req_[\w-]+/g, 'req'));
    }
    assert.equal(new Set(refused).size, 1, `${field}: known and made up are told apart`);
  }
  assert.deepEqual(keeper.requests, []);
});

test('S25 what an answer gave out serves the key that it was given to', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const a = openai(gateway, testKey);
  const b = openai(gateway, otherKey);
  const first = await a.responses.create({ model: 'gpt', input: 'The code word is heron.' });
  const next = await a.responses.create({ model: 'gpt', input: 'Which?', previous_response_id: first.id });
  assert.match(next.output_text, /heron/);
  await assert.rejects(
    b.responses.create({ model: 'gpt', input: 'Which?', previous_response_id: first.id }),
    (error: NotFoundError) => error instanceof NotFoundError && error.param === 'previous_response_id',
  );
  const given = await givenTo(gateway, testKey);
  const uses: Json[] = [
    items({ type: 'item_reference', id: given.message }),
    items({ type: 'reasoning', id: given.thought, summary: [] }),
    items({ type: 'image_generation_call', id: given.picture }),
    items({ type: 'code_interpreter_call', id: given.code, container_id: given.container, code: '1', outputs: null }),
    tool({ type: 'code_interpreter', container: given.container }),
    parts({ type: 'input_file', file_id: given.file }),
  ];
  for (const body of uses) {
    assert.equal((await post(gateway, testKey, responses, body)).status, 200, JSON.stringify(body));
    keeper.requests.length = 0;
    assert.equal((await post(gateway, otherKey, responses, body)).status, 404, JSON.stringify(body));
    assert.deepEqual(keeper.requests, []);
  }
  const counted = await post(
    gateway,
    testKey,
    `${responses}/input_tokens`,
    respond({ previous_response_id: first.id }),
  );
  assert.deepEqual(await counted.json(), { object: 'response.input_tokens', input_tokens: 7 });
});

test('S25 the same of a stream, and of one that broke off after response.created', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const a = openai(gateway, testKey);
  const create = { model: 'gpt', input: 'The code word is heron.', stream: true } as const;
  let whole: OpenAiResponse | null = null;
  for await (const event of await a.responses.create(create)) {
    if (event.type === 'response.completed') whole = event.response;
  }
  keeper.cutStreams = true;
  let cut = '';
  const cutStream = async () => {
    for await (const event of await a.responses.create(create)) {
      if (event.type === 'response.created') cut = event.response.id;
    }
  };
  await cutStream().catch(() => undefined);
  keeper.cutStreams = false;
  assert.match(cut, /^resp_/);
  const item = whole!.output.at(-1)!.id!;
  for (const body of [
    respond({ previous_response_id: whole!.id }),
    respond({ previous_response_id: cut }),
    items({ type: 'item_reference', id: item }),
  ]) {
    assert.equal((await post(gateway, testKey, responses, body)).status, 200);
    assert.equal((await post(gateway, otherKey, responses, body)).status, 404);
  }
});

test('S25 containers and files of Messages, spoken answers of chat: whole and streamed', async (t) => {
  const { gateway } = await openKeeperWorld(t);
  const a = new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 });
  for (const stream of [false, true]) {
    const asked = { model: 'claude', max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hi' }] };
    const answer = (await (stream
      ? a.messages.stream(asked).finalMessage()
      : a.messages.create(asked))) as unknown as Json;
    const text = JSON.stringify(answer);
    // The SDK's own fold of a stream leaves the container out, so it is read off the wire.
    const wire = stream ? await (await post(gateway, testKey, messages, { ...asked, stream })).text() : text;
    const container = /container_[0-9a-f]{24}/.exec(wire)![0];
    const file = /"file_id":"(file_[0-9a-f]{24})"/.exec(text)![1]!;
    for (const body of [
      claude('Hi', { container }),
      claude([{ type: 'container_upload', file_id: file }]),
      claude([{ type: 'document', source: { type: 'file', file_id: file } }]),
    ]) {
      assert.equal((await post(gateway, testKey, messages, body)).status, 200, JSON.stringify(body));
      assert.equal((await post(gateway, otherKey, messages, body)).status, 404, JSON.stringify(body));
    }

    const spoken = chat('Hi', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' }, stream });
    const said = await (await post(gateway, testKey, chats, spoken)).text();
    const id = /audio_[0-9a-f]{24}/.exec(said)![0];
    const again = {
      ...chat('Hi'),
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', audio: { id } },
      ],
    };
    assert.equal((await post(gateway, testKey, chats, again)).status, 200);
    assert.equal((await post(gateway, otherKey, chats, again)).status, 404);
  }
});

test('S25 spoken answers that were asked for one by one', async (t) => {
  const { gateway } = await openKeeperWorld(t, {
    models: { gpt: { targets: [{ provider: 'oa', model: 'gpt-5' }], capabilities: { native_n: false } } },
  });
  for (const stream of [false, true]) {
    const asked = chat('Hi', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' }, n: 2, stream });
    const said = await (await post(gateway, testKey, chats, asked)).text();
    const ids = new Set(said.match(/audio_[0-9a-f]{24}/g));
    assert.equal(ids.size, 2);
    for (const id of ids) {
      const again = {
        ...chat('Hi'),
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', audio: { id } },
        ],
      };
      assert.equal((await post(gateway, testKey, chats, again)).status, 200);
      assert.equal((await post(gateway, otherKey, chats, again)).status, 404);
    }
  }
});

test('S25 an earlier message of a thread serves the key that began it', async (t) => {
  const { gateway } = await openKeeperWorld(t);
  const began = await post(gateway, testKey, messages, claude('Hi', { thread: { type: 'create' } }));
  const { id } = (await began.json()) as { id: string };
  const further = claude('And?', { thread: { type: 'continue', previous_message_id: id } });
  assert.equal((await post(gateway, testKey, messages, further)).status, 200);
  assert.equal((await post(gateway, otherKey, messages, further)).status, 404);
});

test('S25 ids are known after a restart', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-ids-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const storage = { data_dir: folder };
  const { gateway, keeper } = await openKeeperWorld(t, { storage });
  const { response } = await givenTo(gateway, testKey);
  await gateway.close(0);
  const provider = { type: 'openai', base_url: `${keeper.url}/v1`, api_key: 'org-1', dialects: ['openai-responses'] };
  const again = await startGateway(t, {
    storage,
    providers: { oa: provider },
    models: { gpt: { targets: [{ provider: 'oa', model: 'gpt-5' }] } },
  });
  const body = respond({ previous_response_id: response });
  assert.equal((await post(again, testKey, responses, body)).status, 200);
  assert.equal((await post(again, otherKey, responses, body)).status, 404);
});

test('S25 no spelling of a body hides an id: repeated members, escapes, depth, other names beside it', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const { response: id, file } = await givenTo(gateway, otherKey);
  const own = (await givenTo(gateway, testKey)).file;
  keeper.requests.length = 0;
  const hidden: [string, string, number][] = [
    [responses, `{"model":"gpt","input":"Hi","previous_response_id":"${id}","previous_response_id":null}`, 400],
    [responses, `{"model":"gpt","input":"Hi","previous_response_id":null,"previous_response\\u005fid":"${id}"}`, 400],
    [responses, `{"model":"gpt","input":"Hi","previous_response\\u005fid":"${id}"}`, 404],
    [responses, `{"model":"gpt","input":"Hi","previous_response_id":"\\u0072${id!.slice(1)}"}`, 404],
    [responses, `{"model":"gpt","input":"Hi","prompt":{"id":"${id}","id":null}}`, 400],
    [
      responses,
      `{"model":"gpt","input":[{"role":"user","content":[{"type":"input_file","file_id":"${file}","file_\\u0069d":"${own}"}]}]}`,
      400,
    ],
    [
      responses,
      `{"model":"gpt","input":[{"type":"item_reference","id":"${id}","type":"message","role":"user","content":"Hi"}]}`,
      400,
    ],
    [
      responses,
      `{"model":"gpt","input":"Hi","tools":[{"type":"file_search","vector_store_ids":["${file}"],"vector_store_ids":[]}]}`,
      400,
    ],
    // Servers written in Go read a member in any case.
    [responses, `{"model":"gpt","input":"Hi","Previous_Response_ID":"${id}"}`, 404],
    [responses, `{"model":"gpt","input":"Hi","previouſ_response_id":"${id}"}`, 404],
    [
      chats,
      `{"model":"gpt","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"${own}","FILE_ID":"${file}"}}]}]}`,
      404,
    ],
    // An item that is one thing here and another there is looked up wherever its id stands.
    [responses, `{"model":"gpt","input":[{"type":"reasoning","role":"user","summary":[],"id":"${id}"}]}`, 404],
    [responses, `{"model":"gpt","input":"Hi","text":{"of":{"tomorrow":[{"deep":{"file_id":"${file}"}}]}}}`, 404],
    [
      chats,
      `{"model":"gpt","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"${file}"}}],"content":"Hi"}]}`,
      400,
    ],
    [
      chats,
      `{"model":"gpt","messages":[{"role":"user","content":[{"type":"text","text":"Hi","file":{"file_id":"${file}"}}]}]}`,
      404,
    ],
    [
      messages,
      `{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"${file}","type":"url","url":"https://a.example/b.png"}}]}]}`,
      400,
    ],
    [
      generate,
      `{"contents":[{"parts":[{"text":"Hi"}]}],"cached_content":"cachedContents/1","cachedContent":"cachedContents/1"}`,
      404,
    ],
    [
      generate,
      `{"contents":[{"parts":[{"fileData":{"fileUri":"files/1"},"file_data":{"file_uri":"https://a.example/b"}}]}]}`,
      404,
    ],
  ];
  for (const [path, body, status] of hidden) {
    const answer = await post(gateway, testKey, path, body);
    assert.equal(answer.status, status, `${body}: ${await answer.text()}`);
  }
  assert.deepEqual(keeper.requests, []);
});

test('S25 large bodies, which a thread reads, hide nothing either', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const { response } = await givenTo(gateway, otherKey);
  keeper.requests.length = 0;
  const input = 'x'.repeat(1_100_000);
  const body = respond({ input, previous_response_id: response });
  assert.equal((await post(gateway, testKey, responses, body)).status, 404);
  assert.equal((await post(gateway, otherKey, responses, body)).status, 200);
  assert.equal(keeper.requests.length, 1);
});

test('S25 what only looks like an id passes: arguments, schemas, public addresses, servers of the caller', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const schema = {
    type: 'object',
    properties: { file_id: { type: 'string', enum: ['file-1'] } },
    default: { file_id: 'a' },
  };
  const passing: [string, Json][] = [
    [
      chats,
      chat('Hi', {
        tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
        metadata: { container: 'blue', file_id: 'mine' },
      }),
    ],
    [responses, tool({ type: 'function', name: 'f', strict: false, parameters: schema })],
    [responses, respond({ metadata: { conversation: 'mine', previous_response_id: 'x' } })],
    [
      responses,
      tool({ type: 'mcp', server_label: 'x', server_url: 'https://a.example/mcp', headers: { container: 'x' } }),
    ],
    [responses, tool({ type: 'mcp', server_label: 'x', connector_id: 'connector_gmail', authorization: 'mine' })],
    [responses, tool({ type: 'code_interpreter', container: { type: 'auto' } })],
    // Sent whole, with ids of another gateway's time; thoughts that the client keeps itself.
    [responses, items({ type: 'message', role: 'assistant', id: 'msg_elsewhere', content: 'Hello' })],
    [responses, items({ type: 'reasoning', id: 'rs_elsewhere', summary: [], encrypted_content: 'gAAAA' })],
    [
      messages,
      {
        model: 'claude',
        max_tokens: 9,
        tools: [{ name: 'f', input_schema: schema }],
        mcp_servers: [{ type: 'url', name: 'm', url: 'https://a.example/mcp', authorization_token: 'mine' }],
        container: { skills: [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }] },
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { file_id: 'mine' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }] },
        ],
      },
    ],
    [generate, gemini({ fileData: { mimeType: 'video/*', fileUri: 'https://www.youtube.com/watch?v=9hE5-98ZeCg' } })],
    [generate, gemini({ fileData: { mimeType: 'application/pdf', fileUri: 'https://a.example/files/b.pdf' } })],
    [generate, gemini({ functionCall: { name: 'f', args: { cachedContent: 'x', file_uri: 'files/1' } } })],
  ];
  for (const [path, body] of passing) {
    const answer = await post(gateway, testKey, path, body);
    assert.equal(answer.status, 200, `${JSON.stringify(body)}: ${await answer.text()}`);
  }
  assert.equal(keeper.requests.length, passing.length);
});

test('S25 a label that is known to be of another key is refused on an item sent whole', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const { message, file } = await givenTo(gateway, testKey);
  keeper.requests.length = 0;
  const told = (id: unknown, noted: unknown) =>
    items({
      type: 'message',
      role: 'assistant',
      id,
      content: [
        {
          type: 'output_text',
          text: 'x',
          annotations: [{ type: 'file_citation', file_id: noted, index: 0, filename: 'a' }],
        },
      ],
    });
  assert.equal((await post(gateway, otherKey, responses, told(message, 'file-of-a-store'))).status, 404);
  assert.equal((await post(gateway, otherKey, responses, told('msg_1', file))).status, 404);
  assert.equal((await post(gateway, otherKey, responses, told('msg_1', 'file-of-a-store'))).status, 200);
  assert.equal((await post(gateway, testKey, responses, told(message, file))).status, 200);
  assert.equal(keeper.requests.length, 2);
});

test('S25 the operator shares objects by id or pattern, and by nothing else', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t, {}, [
    'vs_handbook',
    'pmpt_*',
    'files/*',
    'cachedContents/manual',
  ]);
  const search = (id: string) => tool({ type: 'file_search', vector_store_ids: [id] });
  const file = (fileUri: string) => gemini({ fileData: { mimeType: 'text/plain', fileUri } });
  const told: [string, Json, number][] = [
    [responses, search('vs_handbook'), 200],
    [responses, search('vs_handbook2'), 404],
    [responses, tool({ type: 'file_search', vector_store_ids: ['vs_handbook', 'vs_other'] }), 404],
    [responses, respond({ prompt: { id: 'pmpt_welcome', variables: { container: 'blue', file_id: 'x' } } }), 200],
    [responses, respond({ prompt: { id: 'prompt_welcome' } }), 404],
    [generate, gemini({ text: 'x' }, { cachedContent: 'cachedContents/manual' }), 200],
    [generate, file('files/abc'), 200],
    [generate, file('https://generativelanguage.googleapis.com/v1beta/files/abc'), 200],
    [generate, file('gs://files/abc'), 404],
  ];
  for (const [path, body, status] of told) {
    const answer = await post(gateway, otherKey, path, body);
    assert.equal(answer.status, status, `${JSON.stringify(body)}: ${await answer.text()}`);
  }
  assert.equal(keeper.requests.length, told.filter(([, , status]) => status === 200).length);
});

test('S25 what the operator shares no more serves nobody, though answers told it back', async (t) => {
  const sharing = (...shared: string[]) => ({
    providers: { an: { type: 'anthropic', base_url: `${keeper.url}/v1`, api_key: 'org-1', shared_objects: shared } },
    models: { claude: { targets: [{ provider: 'an', model: 'claude-5' }] } },
  });
  const keeper = await startObjectKeeper(t);
  const gateway = await startGateway(t, sharing('container_all'));
  const body = {
    model: 'claude',
    max_tokens: 9,
    container: 'container_all',
    messages: [{ role: 'user', content: 'Hi' }],
  };
  assert.match(await (await post(gateway, testKey, messages, body)).text(), /container_all/);
  await gateway.reload(sharing());
  assert.equal((await post(gateway, testKey, messages, body)).status, 404);
});

/** Two organizations behind one model, and a model of a third. */
const twoOrgs = (keeper: ObjectKeeper) => ({
  providers: {
    oa: {
      type: 'openai',
      base_url: `${keeper.url}/v1`,
      dialects: ['openai-responses'],
      credentials: [{ api_key: 'org-1' }, { api_key: 'org-2' }],
    },
    ob: { type: 'openai', base_url: `${keeper.url}/v1`, dialects: ['openai-responses'], api_key: 'org-3' },
  },
  models: {
    gpt: {
      targets: [
        { provider: 'oa', model: 'gpt-5' },
        { provider: 'ob', model: 'gpt-5' },
      ],
    },
    third: { targets: [{ provider: 'ob', model: 'gpt-5' }] },
  },
});

test('S25 a conversation goes on where it lives, whichever of three credentials that is', async (t) => {
  const keeper = await startObjectKeeper(t);
  const gateway = await startGateway(t, twoOrgs(keeper));
  /** What a response of each credential gave, by that. */
  const homes = new Map<string, Record<string, string>>();
  for (let i = 0; i < 40; i++) {
    // Another beginning is another conversation, which may be held elsewhere.
    const given = await givenTo(gateway, testKey, `Conversation ${i}.`);
    const home = keeper.requests.at(-1)!.credential;
    homes.set(home, given);
    const next = await post(gateway, testKey, responses, respond({ previous_response_id: given.response }));
    assert.equal(next.status, 200);
    assert.equal(keeper.requests.at(-1)!.credential, home);
  }
  assert.deepEqual([...homes.keys()].toSorted(), ['org-1', 'org-2', 'org-3']);
  keeper.requests.length = 0;
  const elsewhere = { ...respond({ previous_response_id: homes.get('org-1')!.response }), model: 'third' };
  const refused = await post(gateway, testKey, responses, elsewhere);
  assert.equal(refused.status, 400, 'the model is not served from there');
  assert.equal((await errorOf(refused)).param, 'previous_response_id');
  const apart = items(
    { type: 'item_reference', id: homes.get('org-1')!.code },
    { type: 'item_reference', id: homes.get('org-2')!.code },
  );
  const both = await post(gateway, testKey, responses, apart);
  assert.equal(both.status, 400, 'no credential has both');
  assert.match(String((await errorOf(both)).message), /different credentials/);
  assert.deepEqual(keeper.requests, []);
});

test('S25 a credential that rests is waited for, and nobody else is asked for what lives there', async (t) => {
  const keeper = await startObjectKeeper(t);
  const gateway = await startGateway(t, twoOrgs(keeper));
  const { response } = await givenTo(gateway, testKey);
  const home = keeper.requests.at(-1)!.credential;
  keeper.refuse(home, 429);
  keeper.requests.length = 0;
  const body = respond({ previous_response_id: response });
  for (let i = 0; i < 3; i++) {
    const answer = await post(gateway, testKey, responses, body);
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.match(
      String((await errorOf(answer)).message),
      /only one credential reaches what 'previous_response_id' names/,
    );
  }
  assert.ok(keeper.requests.length > 0);
  assert.deepEqual([...new Set(keeper.requests.map(({ credential }) => credential))], [home]);
  const others = await post(gateway, testKey, responses, respond({}));
  assert.equal(others.status, 200, 'whoever names nothing is answered elsewhere');
});

test('S25 what its provider has removed is a 404 of the caller, and rests neither model nor credential', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const { response } = await givenTo(gateway, testKey);
  keeper.forget();
  for (let i = 0; i < 5; i++) {
    const answer = await post(gateway, testKey, responses, respond({ previous_response_id: response }));
    assert.equal(answer.status, 404);
    assert.match(String((await errorOf(answer)).message), /No object with id/);
    assert.equal((await post(gateway, otherKey, responses, respond({}))).status, 200);
  }
  assert.equal(keeper.requests.length, 11, 'each was asked once');
});

test('S25 of answers that are not stored, only what is made beside them can be named', async (t) => {
  const { gateway } = await openKeeperWorld(t);
  const answer = await post(gateway, testKey, responses, respond({ store: false }));
  const { id, output } = (await answer.json()) as { id: string; output: Json[] };
  const container = output[1]!.container_id;
  assert.equal((await post(gateway, testKey, responses, respond({ previous_response_id: id }))).status, 404);
  const body = tool({ type: 'code_interpreter', container });
  assert.equal((await post(gateway, testKey, responses, body)).status, 200);
  assert.equal((await post(gateway, otherKey, responses, body)).status, 404);
});

test('S25 a refused id costs no quota', async (t) => {
  const { gateway } = await openKeeperWorld(t, { plans: { default: { windows: { week: 2 }, rpm: 'off' } } });
  for (let i = 0; i < 5; i++) {
    const answer = await post(gateway, testKey, responses, respond({ previous_response_id: `resp_${i}` }));
    assert.equal(answer.status, 404);
  }
  assert.equal((await post(gateway, testKey, responses, respond({}))).status, 200);
  const ledger = await gateway.fetch('/admin/v1/usage', { headers: { authorization: `Bearer ${adminKey}` } });
  assert.equal(ledger.status, 200);
});

test('S25 of 1,200 random ids of others, in random fields, none reaches the provider', async (t) => {
  const { gateway, keeper } = await openKeeperWorld(t);
  const known: string[] = [];
  for (let i = 0; i < 10; i++) known.push(...Object.values(await givenTo(gateway, testKey)));
  keeper.requests.length = 0;
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  let state = seed;
  // A linear congruence (Numerical Recipes): enough to pick with, and it replays.
  const below = (bound: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % bound;
  };
  const probes = Array.from({ length: 1_200 }, () => {
    const [field, path, body] = places[below(places.length)]!;
    const id =
      below(2) === 0 ? known[below(known.length)]! : `${['resp', 'file', 'vs', 'cntr'][below(4)]}_${below(1e9)}`;
    return { field, path, body: body(id) };
  });
  for (let at = 0; at < probes.length; at += 40) {
    const answers = probes.slice(at, at + 40).map(async ({ field, path, body }) => {
      const answer = await post(gateway, otherKey, path, body);
      await answer.arrayBuffer();
      assert.equal(answer.status, 404, `seed ${seed}: ${path} ${field}`);
    });
    await Promise.all(answers);
  }
  assert.deepEqual(keeper.requests, [], `seed ${seed}`);
});
