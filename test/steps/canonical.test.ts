import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallerDialectId } from '../../src/formats/dialects/dialect.ts';
import { canonicalConversation } from '../../src/inference/families/chat/canonical.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../src/kernel/json.ts';

const schema = { type: 'object', properties: { a: { type: 'number' } } };
const png = 'data:image/png;base64,AAAA';
const call = { name: 'f', arguments: '{"a": 1}' };

/** One conversation in every format, as far as each can say it. */
const bodies: Record<CallerDialectId, JsonObject> = {
  'openai-chat': {
    model: 'm',
    messages: [
      { role: 'system', content: 'be good' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: png } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: call }] },
      { role: 'tool', tool_call_id: 'c1', content: '{"result":"ok"}' },
      { role: 'user', content: 'go' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema } }],
    temperature: 0.5,
    max_tokens: 100,
  },
  'anthropic-messages': {
    model: 'm',
    system: 'be good',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't9', name: 'f', input: { a: 1 } }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't9', content: '{"result":"ok"}' },
          { type: 'text', text: 'go' },
        ],
      },
    ],
    tools: [{ name: 'f', description: 'd', input_schema: schema }],
    temperature: 0.5,
    max_tokens: 100,
  },
  'openai-responses': {
    model: 'm',
    instructions: 'be good',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'hi' },
          { type: 'input_image', image_url: png },
        ],
      },
      { type: 'function_call', call_id: 'z', ...call },
      { type: 'function_call_output', call_id: 'z', output: '{"result":"ok"}' },
      { role: 'user', content: 'go' },
    ],
    tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema, strict: false }],
    temperature: 0.5,
    max_output_tokens: 100,
  },
  gemini: {
    model: 'm',
    systemInstruction: { parts: [{ text: 'be good' }] },
    contents: [
      { role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: 1 } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: 'ok' } } }, { text: 'go' }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'f', description: 'd', parametersJsonSchema: schema }] }],
    generationConfig: { temperature: 0.5, maxOutputTokens: 100 },
  },
  ollama: {
    model: 'm',
    messages: [
      { role: 'system', content: 'be good' },
      { role: 'user', content: 'hi', images: [png] },
      { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] },
      { role: 'tool', tool_name: 'f', content: '{"result":"ok"}' },
      { role: 'user', content: 'go' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema } }],
    options: { temperature: 0.5, num_predict: 100 },
  },
  'cohere-chat': {
    model: 'm',
    messages: [
      { role: 'system', content: 'be good' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: png } },
        ],
      },
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: call }] },
      { role: 'tool', tool_call_id: 'c1', content: '{"result":"ok"}' },
      { role: 'user', content: 'go' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema } }],
    temperature: 0.5,
    max_tokens: 100,
  },
  'ai-sdk': {
    model: 'm',
    prompt: [
      { role: 'system', content: 'be good' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: { a: 1 } }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c1', output: { type: 'text', value: '{"result":"ok"}' } }],
      },
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
    ],
    tools: [{ type: 'function', name: 'f', description: 'd', inputSchema: schema }],
    temperature: 0.5,
    maxOutputTokens: 100,
  },
  'bedrock-converse': {
    model: 'm',
    system: [{ text: 'be good' }],
    messages: [
      { role: 'user', content: [{ text: 'hi' }, { image: { format: 'png', source: { bytes: png.split(',')[1]! } } }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'f', input: { a: 1 } } }] },
      {
        role: 'user',
        content: [{ toolResult: { toolUseId: 'c1', content: [{ text: '{"result":"ok"}' }] } }, { text: 'go' }],
      },
    ],
    toolConfig: { tools: [{ toolSpec: { name: 'f', description: 'd', inputSchema: { json: schema } } }] },
    inferenceConfig: { temperature: 0.5, maxTokens: 100 },
  },
};
const formats = Object.entries(bodies) as [CallerDialectId, JsonObject][];

/** Null: such a body is refused. */
function canonical(format: CallerDialectId, body: JsonObject) {
  const found = canonicalConversation(Buffer.from(JSON.stringify(body)), format);
  return isFailure(found) ? null : found;
}

const digestOf = (format: CallerDialectId, body: JsonObject) => JSON.stringify(canonical(format, body)?.fields);

test('one conversation has one canonical form in all formats', () => {
  const [first, ...others] = formats.map(([format, body]) => canonical(format, body)?.fields);
  for (const field of ['messages', 'temperature', 'maxOutputTokens']) {
    assert.ok(first?.[field] !== undefined, field);
    for (const other of others) assert.equal(other?.[field], first[field], field);
  }
  const [chat, messages] = formats.map(([format, body]) => digestOf(format, body));
  assert.equal(chat, messages);
});

for (const [format, body] of formats) {
  const digest = digestOf(format, body);

  test(`neither the order of members nor what is beside the answer is in it: ${format}`, () => {
    const turned = reversed(body) as JsonObject;
    assert.equal(digestOf(format, turned), digest);
    if (format !== 'gemini') assert.equal(digestOf(format, { ...body, stream: true }), digest);
  });

  test(`a changed value, and a member that nobody knows, are in it: ${format}`, () => {
    // The path names the model of Gemini's bodies.
    const places = [...placesIn(body)].filter(({ path }) => format !== 'gemini' || path.join() !== 'model');
    assert.ok(places.length > 30);
    for (const { path, value } of places) {
      const changed = structuredClone(body);
      const isObject = typeof value === 'object' && value !== null;
      set(changed, isObject ? [...path, 'unheard'] : path, isObject ? 'of' : another(value));
      assert.notEqual(digestOf(format, changed), digest, path.join('.'));
    }
  });
}

test('numbers that a double cannot hold are different ones', () => {
  const of = (seed: string) => {
    const body = `{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":${seed}}`;
    return canonicalConversation(Buffer.from(body), 'openai-chat');
  };
  assert.notDeepEqual(of('9007199254740993'), of('9007199254740992'));
});

function another(value: JsonValue): JsonValue {
  if (typeof value === 'string') return `${value}x`;
  return typeof value === 'number' ? value / 2 : 'x';
}

/** Objects and plain values; lists have no members. */
function* placesIn(
  value: JsonValue,
  path: (string | number)[] = [],
): Generator<{ path: typeof path; value: JsonValue }> {
  if (!Array.isArray(value)) yield { path, value };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, one] of Object.entries(value)) {
    yield* placesIn(one ?? null, [...path, Array.isArray(value) ? Number(name) : name]);
  }
}

function set(holder: JsonValue, path: readonly (string | number)[], value: JsonValue): void {
  const last = path.slice(0, -1).reduce((at, step) => (at as Record<string | number, JsonValue>)[step] ?? null, holder);
  (last as Record<string | number, JsonValue>)[path.at(-1) ?? ''] = value;
}

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, one]) => [name, reversed(one ?? null)]),
  );
}
