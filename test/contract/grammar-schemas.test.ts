import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** As zod and Claude Code write them: what llama.cpp answers 400 to, beside what it takes. */
const asked = {
  type: 'object',
  properties: {
    digits: { type: 'string', pattern: '^\\d+$', description: 'An id.' },
    part: { type: 'string', pattern: '[a-z]+' },
    mail: { type: 'string', pattern: '^(?!\\.)[a-z.]+@[a-z]+$' },
    either: { anyOf: [{ type: 'string', maxLength: 10_000 }, { type: 'null' }] },
    many: { type: 'array', maxItems: 2_000, items: { type: 'string', pattern: '^[\\w-]+$' } },
    pattern: { type: 'string', pattern: '^[a-z]{2,8}(?:\\.[a-z0-9]+)*$', maxLength: 1_999 },
    kind: { enum: [{ pattern: '\\d' }], default: { maxLength: 5_000 } },
  },
  required: ['digits'],
};
const sentOn = {
  type: 'object',
  properties: {
    digits: { type: 'string', description: 'An id. (pattern: "^\\\\d+$")' },
    part: { type: 'string', description: '(pattern: "[a-z]+")' },
    mail: { type: 'string', description: '(pattern: "^(?!\\\\.)[a-z.]+@[a-z]+$")' },
    either: { anyOf: [{ type: 'string', description: '(maxLength: 10000)' }, { type: 'null' }] },
    many: {
      type: 'array',
      items: { type: 'string', description: '(pattern: "^[\\\\w-]+$")' },
      description: '(maxItems: 2000)',
    },
    pattern: asked.properties.pattern,
    kind: asked.properties.kind,
  },
  required: ['digits'],
};
const plain = { type: 'object', properties: { a: { type: 'string', pattern: '^[a-z]+$' } } };

const hello = [{ role: 'user', content: 'Hi' }];
/** Requests of each format, with a tool and the schema of the answer, and the schemas in what is sent. */
const callers: Readonly<Record<string, (schema: JsonObject) => JsonObject>> = {
  '/v1/chat/completions': (schema) => ({
    messages: hello,
    tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
  }),
  '/v1/messages': (schema) => ({
    messages: hello,
    max_tokens: 9,
    tools: [{ name: 'f', input_schema: schema }],
    output_config: { format: { type: 'json_schema', schema } },
  }),
  '/v1/responses': (schema) => ({
    input: 'Hi',
    tools: [{ type: 'function', name: 'f', parameters: schema }],
    text: { format: { type: 'json_schema', name: 'a', schema } },
  }),
};

/** Every object with `properties`, wherever a body has it. */
function schemasIn(value: unknown): JsonObject[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('properties' in value) return [value as JsonObject];
  return Object.values(value).flatMap(schemasIn);
}

test('schemas reach llama.cpp without the keywords of which it can make no grammar, from every format and in it', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const dialects = ['openai-chat', 'openai-responses', 'anthropic-messages'];
  const names = ['llamacpp', 'lmstudio', 'vllm'].flatMap((type) => dialects.map((dialect) => ({ type, dialect })));
  const gateway = await startGateway(t, {
    providers: Object.fromEntries(
      names.map(({ type, dialect }) => [
        `${type}-${dialect}`,
        { type, base_url: `${upstream.url}/v1`, dialects: [dialect] },
      ]),
    ),
    models: Object.fromEntries(
      names.map(({ type, dialect }) => [`${type}-${dialect}`, { targets: [`${type}-${dialect}/m`] }]),
    ),
  });
  for (const { type, dialect } of names) {
    for (const [path, body] of Object.entries(callers)) {
      for (const schema of [asked, plain]) {
        upstream.clear();
        const model = `${type}-${dialect}`;
        const answer = await gateway.fetch(path, { json: { model, ...body(schema) } });
        const dropped = answer.headers.get('x-culvert-dropped') ?? '';
        const sent = upstream.requests().at(-1)?.body;
        const expected = schema === plain || type === 'vllm' ? schema : sentOn;
        assert.deepEqual(schemasIn(sent), [expected, expected], `${path} over ${model}: ${await answer.text()}`);
        assert.equal(
          /schema|parameters|format/.test(dropped),
          expected === sentOn,
          `${path} over ${model}: ${dropped}`,
        );
      }
    }
  }
});
