import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Schemas of tools as MCP servers have them: one that a vendor refuses makes it refuse the whole request. */

const upstream = await startUpstream({ models: ['mock/ok'] });
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'a' };
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      claude: { type: 'anthropic', ...at },
      openai: { type: 'openai', ...at, dialects: ['openai-chat'] },
      responses: { type: 'openai', ...at, dialects: ['openai-responses'] },
      azure: { type: 'azure-openai', ...at, dialects: ['openai-chat'] },
      local: { type: 'vllm', ...at },
      bedrock: { type: 'bedrock', ...at, base_url: upstream.url, region: 'us-east-1' },
    },
    models: {
      claude: { targets: ['claude/claude-sonnet-4-5'] },
      openai: { targets: ['openai/gpt-4o'] },
      responses: { targets: ['responses/gpt-5'] },
      azure: { targets: ['azure/gpt-4o'] },
      local: { targets: ['local/qwen3.5-27b'] },
      nova: { targets: ['bedrock/amazon.nova-pro-v1:0'] },
    },
  },
);

const page = { type: 'object', properties: { next: { $ref: '#/$defs/page' }, size: { type: 'integer' } } };
const rest = { $defs: { page }, additionalProperties: false };
const anyOf = [{ required: ['paths'] }, { required: ['page'], properties: { page: { $ref: '#/$defs/page' } } }];
const parameters = {
  type: 'object',
  description: 'Where to look.',
  properties: { project: { type: 'string' }, paths: { type: 'array', items: { type: 'string' } } },
  required: ['project'],
  anyOf,
  ...rest,
};
const flat = {
  type: 'object',
  description: `Where to look. (${JSON.stringify({ anyOf })})`,
  properties: { page: { $ref: '#/$defs/page' }, ...parameters.properties },
  required: ['project'],
  ...rest,
};
const simple = { type: 'object', properties: { q: { anyOf: [{ type: 'string' }, { type: 'null' }] } } };
const schemas = [simple, parameters];
const messages = [{ role: 'user', content: 'hi' }];

const bodies = {
  '/v1/chat/completions': {
    messages,
    tools: schemas.map((schema, i) => ({ type: 'function', function: { name: `f${i}`, parameters: schema } })),
  },
  '/v1/messages': {
    messages,
    max_tokens: 100,
    tools: schemas.map((schema, i) => ({ name: `f${i}`, input_schema: schema })),
  },
  '/v1/responses': {
    input: 'hi',
    store: false,
    tools: schemas.map((schema, i) => ({ type: 'function', name: `f${i}`, parameters: schema, strict: false })),
  },
};
const words = {
  '/v1/messages': 'input_schema',
  '/v1/chat/completions': 'function.parameters',
  '/v1/responses': 'parameters',
};

/** Schemas that reached the model, in whatever format, and what the caller reads of a difference. */
async function sent(path: keyof typeof bodies, model: string) {
  upstream.clear();
  const response = await gateway.fetch(path, { json: { model, ...bodies[path] } });
  assert.equal(response.status, 200, await response.text());
  const body = upstream.requests().find(({ method }) => method === 'POST')!.body as JsonObject;
  const tools = (body.tools ?? (body.toolConfig as JsonObject).tools) as JsonObject[];
  const reached = tools.map((tool) => {
    const { input_schema: schema, parameters, inputSchema } = (tool.function ?? tool.toolSpec ?? tool) as JsonObject;
    return schema ?? parameters ?? (inputSchema as JsonObject).json;
  });
  return { reached, lost: response.headers.get('x-culvert-dropped') };
}

for (const path of Object.keys(bodies) as (keyof typeof bodies)[]) {
  test(`a schema that is composed at its top level reaches Anthropic and OpenAI as one object (${path})`, async () => {
    for (const model of ['claude', 'openai', 'responses', 'azure'])
      assert.deepEqual(await sent(path, model), { reached: [simple, flat], lost: `tools[1].${words[path]}` }, model);
    assert.deepEqual(await sent(path, 'local'), { reached: schemas, lost: null });
  });
}

test('what all variants require stays required', async () => {
  const allOf = [{ properties: { a: { type: 'string' } }, required: ['a'] }, { required: ['b'] }];
  const schema = { type: 'object', properties: { b: { type: 'string' } }, required: ['b'], allOf };
  const tools = [{ name: 'f', input_schema: schema }];
  upstream.clear();
  await gateway.fetch('/v1/messages', { json: { model: 'claude', max_tokens: 100, messages, tools } });
  const { body } = upstream.requests().find(({ method }) => method === 'POST')!;
  const [tool] = (body as { tools: { input_schema: JsonObject }[] }).tools;
  assert.deepEqual(tool!.input_schema.required, ['b', 'a']);
  assert.deepEqual(Object.keys(tool!.input_schema.properties as JsonObject), ['a', 'b']);
});

test('Nova gets type, properties and required of a schema, and what references name', async () => {
  const { reached, lost } = await sent('/v1/chat/completions', 'nova');
  const inlined = { type: 'object', properties: { next: {}, size: { type: 'integer' } } };
  const properties = { page: inlined, ...parameters.properties };
  assert.deepEqual(reached, [simple, { type: 'object', properties, required: ['project'] }]);
  assert.equal(lost, 'tools[1].function.parameters');
  // A schema that would grow without end.
  const branch = {
    type: 'object',
    properties: Object.fromEntries('abcdefgh'.split('').map((n) => [n, { $ref: `#/$defs/${n}` }])),
  };
  const endless = { ...branch, $defs: Object.fromEntries('abcdefgh'.split('').map((n) => [n, branch])) };
  const tools = [{ type: 'function', function: { name: 'f', parameters: endless } }];
  upstream.clear();
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'nova', messages, tools } });
  assert.equal(response.status, 200);
  const { body } = upstream.requests().find(({ method }) => method === 'POST')!;
  assert.ok(JSON.stringify(body).length < 40_000);
});
