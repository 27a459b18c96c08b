import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * Members that a format does not check, with values that no reader of it expects: an object that cannot be a text
 * (`{"toString": 1}`), and names that every object of JavaScript has. None is a fault of this server.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      chat: { type: 'openai', ...at },
      claude: { type: 'anthropic', ...at },
      google: { type: 'gemini', ...at, base_url: upstream.url },
      aws: { type: 'bedrock', ...at, base_url: upstream.url, region: 'eu-central-1' },
      native: { type: 'openai', ...at, dialects: ['openai-responses'] },
    },
    models: {
      chat: { targets: ['chat/mock/ok'] },
      native: { targets: ['native/mock/ok'] },
      claude: { targets: ['claude/claude-sonnet-4-5'] },
      google: { targets: ['google/gemini-2.5-flash'] },
      aws: { targets: ['aws/amazon.nova-pro-v1:0'] },
    },
  },
);

const unprintable = { toString: 1 };
const user = { role: 'user', content: 'hi' };
const schemaOf = (schema: JsonObject) => ({ type: 'json_schema', json_schema: { name: 'answer', schema } });

const cases: readonly (readonly [what: string, path: string, body: JsonObject])[] = [
  [
    'a format of a schema for Anthropic',
    '/v1/chat/completions',
    {
      model: 'claude',
      messages: [user],
      response_format: schemaOf({ type: 'object', properties: { a: { type: 'string', format: unprintable } } }),
    },
  ],
  [
    'a description of a schema for Google',
    '/v1/chat/completions',
    {
      model: 'google',
      messages: [user],
      response_format: schemaOf({ type: 'object', description: unprintable, not: {} }),
    },
  ],
  [
    'the type of a part in an item of an unknown type',
    '/v1/responses',
    { model: 'chat', input: [{ type: 'foo', content: [{ type: unprintable }] }, user] },
  ],
  [
    'arguments of a call that this server made',
    '/v1/responses',
    { model: 'chat', input: [{ type: 'mcp_call', id: 'mcp_cv_1', name: 'a', arguments: 5 }, user] },
  ],
  [
    'the label of a call that waits for approval',
    '/v1/responses',
    {
      model: 'chat',
      tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://127.0.0.1:1/mcp' }],
      input: [
        user,
        { type: 'mcp_approval_request', id: 'mcpr_cv_1', name: 'x', server_label: unprintable, arguments: 5 },
        { type: 'mcp_approval_response', approval_request_id: 'mcpr_cv_1', approve: true },
      ],
    },
  ],
  ['a member of Ollama that every object has', '/api/chat', { model: 'chat', messages: [user], toString: 1 }],
  [
    'the media type of a file for Bedrock',
    '/v1/chat/completions',
    {
      model: 'aws',
      messages: [
        {
          role: 'user',
          content: [{ type: 'file', file: { file_data: 'data:constructor;base64,aGk=', filename: 'a' } }],
        },
      ],
    },
  ],
  [
    'the media type of a file for Responses',
    '/v1/chat/completions',
    {
      model: 'native',
      messages: [
        {
          role: 'user',
          content: [{ type: 'file', file: { file_data: 'data:constructor;base64,aGk=' } }],
        },
      ],
    },
  ],
];

for (const [what, path, body] of cases) {
  test(`an odd value is no fault of this server: ${what}`, async () => {
    const answer = await gateway.fetch(path, { json: body });
    const text = await answer.text();
    assert.ok(answer.status < 500, `${answer.status} ${text}`);
    const sent = JSON.stringify(upstream.requests().at(-1)?.body ?? '');
    assert.doesNotMatch(sent, /native code|object Object|"document":\{"name"/);
  });
}

test('an odd id beside a reference to an item is no fault of this server', async () => {
  const first = await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'hi' } });
  const { output } = (await first.json()) as { output: { id: string }[] };
  const input = [
    { type: 'item_reference', id: output[0]!.id },
    { ...user, id: unprintable },
  ];
  const answer = await gateway.fetch('/v1/responses', { json: { model: 'chat', input } });
  assert.ok(answer.status < 500);
});
