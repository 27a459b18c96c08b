import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { otherKey, testKey } from '../start-gateway.ts';
import { openKeeperWorld } from './object-keeper-world.ts';

/*
 * Bodies by which account `other` (b) names an id of account `dev` (a), in shapes that the formats' references do not
 * have: a more lenient server would find the id nevertheless.
 */

type Json = Record<string, unknown>;

const responses = '/v1/responses';
const chats = '/v1/chat/completions';
const messages = '/v1/messages';
const generate = '/v1beta/models/gemini:generateContent';

const ask = (more: Json) => ({ model: 'gpt', input: 'Hi', ...more });
const tool = (one: Json) => ask({ tools: [one] });
const items = (...input: unknown[]) => ({ model: 'gpt', input: [{ role: 'user', content: 'Hi' }, ...input] });
const chat = (more: Json) => ({ model: 'gpt', messages: [{ role: 'user', content: 'Hi' }], ...more });
const claude = (more: Json) => ({
  model: 'claude',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'Hi' }],
  ...more,
});
const gemini = (more: Json) => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], ...more });
const fetched = (type: string, source: Json) =>
  claude({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_fetch', input: { url: 'https://a.example' } },
          {
            type,
            tool_use_id: 'srvtoolu_1',
            content: { type: 'web_fetch_result', url: 'https://a.example', content: { type: 'document', source } },
          },
        ],
      },
      { role: 'user', content: 'And?' },
    ],
  });
const azure = (authentication: Json | undefined, name = 'data_sources') =>
  chat({ [name]: [{ type: 'azure_search', parameters: { index_name: 'books', authentication } }] });

async function open(t: TestContext, shared: readonly string[] = []) {
  const { gateway, keeper } = await openKeeperWorld(t, {}, shared);
  const post = (key: string, path: string, body: Json) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  return { keeper, post };
}

/** Bodies that name `id`; only its owner may send them. */
const named = (id: string): [path: string, body: Json][] => [
  [responses, ask({ conversation: { ID: id } })],
  [responses, ask({ conversation: [id] })],
  [responses, ask({ conversation: [{ id }] })],
  [responses, ask({ Prompt: { Id: id } })],
  [responses, ask({ prompt: id })],
  [responses, ask({ prompt: [{ id }] })],
  [responses, ask({ prompt_cache_options: { comparison_response_id: id } })],
  [responses, { model: 'gpt', prompt: { id: 'pmpt_shared' }, Input: [{ type: 'item_reference', id }] }],
  [responses, items({ type: 'item_reference', id: 'pmpt_shared', ID: id })],
  [responses, items({ type: 'message', Type: 'item_reference', role: 'user', content: 'Hi', id })],
  [responses, tool({ type: 'code_interpreter', container: [id] })],
  [responses, tool({ type: 'code_interpreter', container: { Id: id } })],
  [responses, tool({ type: 'file_search', vector_store_ids: [[id]] })],
  [responses, tool({ type: 'file_search', vector_store_ids: [{ id }] })],
  [responses, tool({ type: 'shell', environment: { skills: [{ type: 'anthropic', skill_id: id }] } })],
  [chats, chat({ previous_response_id: id })],
  [chats, chat({ cached_content: id })],
  [
    chats,
    chat({
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', audio: { ID: id } },
      ],
    }),
  ],
  [messages, claude({ container: [id] })],
  [messages, claude({ container: { ID: id } })],
  [messages, claude({ container: { skills: [{ type: 'anthropic', skill_id: `skill_${id}` }] } })],
  [messages, fetched('web_fetch_tool_result', { type: 'file', file_id: id })],
  [messages, fetched('of_tomorrow_tool_result', { type: 'file', file_id: id })],
  [
    generate,
    gemini({ tools: [{ retrieval: { externalApi: { apiAuth: { apiKeyConfig: { apiKeySecretVersion: id } } } } }] }),
  ],
  [
    generate,
    gemini({
      contents: [
        { parts: [{ fileData: { fileUri: `https://generativelanguage.clients6.google.com/v1beta/files/${id}` } }] },
      ],
    }),
  ],
];

test("S25 no shape of a body hides an id: lists, holders in other letters, documents in a tool's result", async (t) => {
  const { keeper, post } = await open(t, ['pmpt_shared']);
  const given = (await (await post(testKey, responses, ask({}))).json()) as { id: string };
  keeper.requests.length = 0;
  for (const id of [given.id, 'file-of-the-operator']) {
    for (const [path, body] of named(id)) {
      const answer = await post(otherKey, path, body);
      assert.equal(answer.status, 404, `${JSON.stringify(body)}: ${await answer.text()}`);
    }
  }
  assert.deepEqual(keeper.requests, []);
});

test("S25 Azure's sources are the operator's unless the caller sends the secret that they are read with", async (t) => {
  const { keeper, post } = await open(t);
  const managed = [
    undefined,
    {},
    { type: 'System_Assigned_Managed_Identity' },
    { type: 'systemAssignedManagedIdentity' },
  ];
  for (const authentication of managed) {
    assert.equal((await post(otherKey, chats, azure(authentication))).status, 404, JSON.stringify(authentication));
  }
  assert.equal((await post(otherKey, chats, azure({}, 'Data_Sources'))).status, 404);
  assert.deepEqual(keeper.requests, []);
  assert.equal((await post(otherKey, chats, azure({ type: 'api_key', key: 'mine' }))).status, 200);
});

test('S25 what a program put out is told back as it came, and skills of the vendor pass', async (t) => {
  const { post } = await open(t);
  const output = { type: 'code_execution_output', file_id: 'file_elsewhere' };
  const told = claude({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: { code: '1' } },
          {
            type: 'code_execution_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: { type: 'code_execution_result', stdout: '', stderr: '', return_code: 0, content: [output] },
          },
        ],
      },
      { role: 'user', content: 'And?' },
    ],
  });
  assert.equal((await post(otherKey, messages, told)).status, 200);
  const skills = claude({ container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } });
  assert.equal((await post(otherKey, messages, skills)).status, 200);
  const message = { type: 'message', role: 'assistant', id: 'msg_elsewhere', content: 'Hello', createdAt: 1 };
  assert.equal((await post(otherKey, responses, items(message))).status, 200);
});

test('S21 a top-level member that stands there in two spellings is refused, whichever a server would read', async (t) => {
  const { keeper, post } = await open(t);
  for (const [path, body] of [
    [chats, chat({ Model: 'gpt-5-large' })],
    [chats, chat({ MODEL: 'gpt-5-large' })],
    [responses, ask({ Input: [{ type: 'item_reference', id: 'msg_1' }] })],
    [responses, ask({ 'model\u017f': 'x', 'in\u0070ut': 'Hi', ſtream: true, stream: false })],
    [messages, claude({ Messages: [] })],
    ['/v1/completions', { model: 'gpt', Model: 'gpt-5-large', prompt: 'Hi' }],
  ] as const) {
    const answer = await post(testKey, path, body);
    assert.equal(answer.status, 400, `${path}: ${await answer.text()}`);
  }
  assert.deepEqual(keeper.requests, []);
});

test('S25 which blocks of memory a server reads is no caller’s to say', async (t) => {
  const { keeper, post } = await open(t);
  const theirs = { kv_transfer_params: { remote_block_ids: [1] }, bootstrap_host: 'evil.example', bootstrap_room: 1 };
  assert.equal((await post(testKey, chats, chat(theirs))).status, 200);
  assert.doesNotMatch(keeper.requests[0]!.body, /kv_transfer|bootstrap/);
});
