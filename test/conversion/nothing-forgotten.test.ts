import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DialectId } from '../../src/formats/dialects/dialect.ts';
import { dialects } from '../../src/formats/dialects/dialect-table.ts';
import type { InnerMember } from '../../src/formats/dialects/taken-fields.ts';
import type {
  MediaSource,
  NeutralMessage,
  NeutralPart,
  NeutralRequest,
  NeutralTool,
} from '../../src/formats/neutral/request.ts';
import { isFailure } from '../../src/kernel/failure.ts';

/*
 * Each member of the neutral form, in each format: two values of it make two bodies, or it is a loss, or the request is
 * refused for it. A member without a sample here does not compile.
 */

type Setting = Exclude<keyof NeutralRequest, 'model' | 'messages' | 'stream' | 'includeUsage' | 'lost'>;

const schema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const jsonSchema = { type: 'json-schema', name: 'answer', schema } as const;
const tool: NeutralTool = { name: 'weather', description: 'Weather.', parameters: schema };
const cache = { type: 'ephemeral' };
const base: NeutralRequest = {
  model: 'alias',
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  stream: true,
  includeUsage: true,
};

/** Two values of each, neither of which says the same as none; and what else the request needs for them. */
const settings: { [Name in Setting]: readonly [one: NeutralRequest[Name], other: NeutralRequest[Name]] } = {
  maxOutputTokens: [500, 600],
  temperature: [0.25, 0.5],
  topP: [0.25, 0.5],
  topK: [7, 8],
  frequencyPenalty: [0.25, 0.5],
  presencePenalty: [0.25, 0.5],
  stop: [['one'], ['two']],
  n: [2, 3],
  seed: [7, 8],
  logprobs: [true, false],
  topLogprobs: [3, 4],
  logitBias: [{ 1: 1 }, { 2: 2 }],
  tools: [[tool], [{ ...tool, name: 'other' }]],
  toolChoice: [{ type: 'none' }, { type: 'auto' }],
  parallelToolCalls: [false, true],
  // For a format without a word for it the gateway cuts: `cutToContext`.
  truncation: [undefined, undefined],
  responseFormat: [jsonSchema, { ...jsonSchema, schema: { ...schema, required: [] } }],
  reasoning: [{ effort: 'high' }, { effort: 'low' }],
  user: ['someone', 'another'],
  hints: [{ service_tier: 'flex' }, { service_tier: 'priority' }],
  extensions: [{ nobody: { made_up: 1 } }, { nobody: { made_up: 2 } }],
};
const beside: Partial<Record<Setting, Partial<NeutralRequest>>> = {
  toolChoice: { tools: [tool] },
  parallelToolCalls: { tools: [tool] },
  topLogprobs: { logprobs: true },
};

/** A member inside: the request without it, and with two values of it. `above` is in `lost`. */
type Inner = Exclude<
  InnerMember,
  | 'reasoning.above'
  | 'messages.parts'
  | 'messages.role'
  | 'responseFormat.type'
  | 'responseFormat.schema'
  | 'tools.name'
>;
const withTool = (more: Partial<NeutralTool>) => ({ ...base, tools: [{ ...tool, ...more }] });
const customTool = (description: string) => withTool({ description, custom: { description } });
const withFormat = (more: object) => ({ ...base, responseFormat: { ...jsonSchema, ...more } });
const ofUser = (more: Partial<NeutralMessage>) => ({ ...base, messages: [{ ...base.messages[0]!, ...more }] });
const inner: Record<Inner, readonly [without: NeutralRequest, one: NeutralRequest, other: NeutralRequest]> = {
  'messages.name': [base, ofUser({ name: 'ann' }), ofUser({ name: 'bob' })],
  'tools.description': [withTool({}), withTool({ description: 'A' }), withTool({ description: 'B' })],
  'tools.parameters': [
    withTool({}),
    withTool({ parameters: schema }),
    withTool({ parameters: { ...schema, title: 'x' } }),
  ],
  'tools.strict': [withTool({}), withTool({ strict: true }), withTool({ strict: false })],
  'tools.cache': [withTool({}), withTool({ cache }), withTool({})],
  // Elsewhere its parameters say it.
  'tools.custom': [withTool({}), customTool('A'), customTool('B')],
  'reasoning.effort': [base, { ...base, reasoning: { effort: 'low' } }, { ...base, reasoning: { effort: 'high' } }],
  'reasoning.budgetTokens': [
    base,
    { ...base, reasoning: { budgetTokens: 2_048 } },
    { ...base, reasoning: { budgetTokens: 20_000 } },
  ],
  'reasoning.summary': [
    { ...base, reasoning: { effort: 'low' } },
    { ...base, reasoning: { effort: 'low', summary: 'concise' } },
    { ...base, reasoning: { effort: 'low', summary: 'detailed' } },
  ],
  'responseFormat.name': [withFormat({}), withFormat({ description: 'A' }), withFormat({ description: 'B' })],
  'responseFormat.description': [withFormat({}), withFormat({ description: 'A' }), withFormat({ description: 'B' })],
  // A schema holds an answer everywhere as far as the model can: there is no looser way to ask for one.
  'responseFormat.strict': [base, withFormat({ strict: true }), base],
};

type Of<Type extends NeutralPart['type']> = Extract<NeutralPart, { type: Type }>;
/** Proofs mean something to their vendor alone, and `cited` is looked for in `lost`. */
type PartMember<Type extends NeutralPart['type']> = Exclude<
  keyof Of<Type>,
  'type' | 'signature' | 'vendor' | 'cited' | 'custom'
>;
const picture = (base64: string): MediaSource => ({ kind: 'base64', mediaType: 'image/png', base64 });
const page = (base64: string): MediaSource => ({ kind: 'base64', mediaType: 'application/pdf', base64 });
const source = picture('aGk=');
const words: readonly NeutralPart[] = [{ type: 'text', text: 'It rains.' }];
const parts: {
  [Type in NeutralPart['type']]: {
    least: Of<Type>;
    members: { [Name in PartMember<Type>]: readonly [one: Of<Type>[Name], other: Of<Type>[Name]] };
  };
} = {
  text: { least: { type: 'text', text: 'x' }, members: { text: ['one', 'two'], cache: [cache, undefined] } },
  image: {
    least: { type: 'image', source },
    members: { source: [picture('b25l'), picture('dHdv')], detail: ['low', 'high'], cache: [cache, undefined] },
  },
  audio: {
    least: { type: 'audio', format: 'wav', base64: 'aGk=' },
    members: { format: ['wav', 'mp3'], base64: ['b25l', 'dHdv'] },
  },
  document: {
    least: { type: 'document', source: page('aGk=') },
    members: { source: [page('b25l'), page('dHdv')], name: ['a.pdf', 'b.pdf'], cache: [cache, undefined] },
  },
  refusal: { least: { type: 'refusal', text: 'No.' }, members: { text: ['No.', 'Never.'] } },
  reasoning: { least: { type: 'reasoning', text: 'Hm.' }, members: { text: ['Hm.', 'So.'] } },
  'redacted-reasoning': {
    least: { type: 'redacted-reasoning', data: 'b25l', vendor: 'nobody' },
    members: { data: ['b25l', 'dHdv'] },
  },
  'tool-call': {
    least: { type: 'tool-call', id: 'call_1', name: 'weather', argumentsJson: '{}' },
    members: {
      // One name for the call and its result, which formats make new.
      id: ['call_1', 'call_1'],
      name: ['weather', 'other'],
      argumentsJson: ['{"place":"a"}', '{"place":"b"}'],
      cache: [cache, undefined],
    },
  },
  'tool-result': {
    least: { type: 'tool-result', callId: 'call_1', parts: words, isError: false },
    members: {
      callId: ['call_1', 'call_1'],
      parts: [words, [{ type: 'text', text: 'It shines.' }]],
      isError: [true, false],
      cache: [cache, undefined],
    },
  },
  vendor: {
    least: { type: 'vendor', vendor: 'nobody', block: { type: 'made_up' } },
    members: { block: [{ type: 'made_up' }, { type: 'other' }] },
  },
};

const roleOf = (type: NeutralPart['type']) =>
  ['refusal', 'reasoning', 'redacted-reasoning', 'tool-call'].includes(type) ? 'assistant' : 'user';

/** A conversation in which such a part may stand. */
function around(part: NeutralPart | null, type: NeutralPart['type']): NeutralRequest {
  const first: NeutralMessage = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
  const call: NeutralPart = { type: 'tool-call', id: 'call_1', name: 'weather', argumentsJson: '{}' };
  const result: NeutralPart = { type: 'tool-result', callId: 'call_1', parts: words, isError: false };
  const given = part === null ? [] : [part];
  const text: NeutralPart = { type: 'text', text: 'Well.' };
  if (type === 'tool-call' || type === 'tool-result') {
    const calls = type === 'tool-call' ? given : [call];
    const results = type === 'tool-result' ? given : [result];
    return {
      ...base,
      tools: [tool],
      messages: [first, { role: 'assistant', parts: calls }, { role: 'tool', parts: results }],
    };
  }
  if (roleOf(type) === 'user') return { ...base, messages: [{ role: 'user', parts: [text, ...given] }] };
  return { ...base, messages: [first, { role: 'assistant', parts: [text, ...given] }, first] };
}

/** Models of different rules, for each format. */
const models: Readonly<Record<DialectId, readonly string[]>> = {
  'openai-chat': ['gpt-5.1'],
  'openai-responses': ['gpt-5.1'],
  'anthropic-messages': ['claude-3-5-haiku-20241022', 'claude-sonnet-4-5', 'claude-opus-4-7'],
  gemini: ['gemini-2.0-flash', 'gemini-2.5-flash', 'gemini-3-pro-preview', 'gemma-3-27b-it'],
  'bedrock-converse': [
    'anthropic.claude-sonnet-4-5-20250929-v1:0',
    'amazon.nova-pro-v1:0',
    'meta.llama3-3-70b-instruct-v1:0',
    'openai.gpt-oss-120b-1:0',
  ],
  'cohere-chat': ['command-a-reasoning-08-2025', 'command-r-plus'],
};
const targets = (Object.keys(models) as DialectId[]).flatMap((dialect) =>
  models[dialect].map((model) => ({ dialect, model })),
);
type Target = (typeof targets)[number];

/** As plain data; null: refused. */
function encoded(request: NeutralRequest, { dialect, model }: Target): { body: string; lost: string[] } | null {
  const result = dialects[dialect].encodeRequest(request, { model, maxOutputTokens: null, stream: true, omit: [] });
  if (isFailure(result)) return null;
  const { body, decode } = result;
  // The decoder cuts at strings for formats that know none.
  return { body: JSON.stringify([body, decode?.stop]), lost: result.losses.map(({ field }) => field) };
}

function isSeen(target: Target, without: NeutralRequest, one: NeutralRequest, other: NeutralRequest): boolean {
  const [plain, first, second] = [without, one, other].map((request) => encoded(request, target));
  if (first == null || second == null) return true;
  if (first.body !== second.body) return true;
  return first.lost.some((field) => plain?.lost.includes(field) !== true);
}

for (const target of targets) {
  const title = `${target.dialect}, ${target.model}`;
  const forgotten: string[] = [];
  const look = (name: string, ...requests: [NeutralRequest, NeutralRequest, NeutralRequest]) => {
    if (!isSeen(target, ...requests)) forgotten.push(name);
  };
  test(`every member of a request is sent, listed as lost or refused: ${title}`, () => {
    for (const [name, [one, other]] of Object.entries(settings)) {
      if (one === undefined) continue;
      const plain = { ...base, ...beside[name as Setting] };
      look(name, plain, { ...plain, [name]: one } as NeutralRequest, { ...plain, [name]: other } as NeutralRequest);
    }
    for (const [name, requests] of Object.entries(inner)) look(name, ...requests);
    assert.deepEqual(forgotten, []);
  });
  test(`the usual tier of service is no loss: ${title}`, () => {
    for (const service_tier of ['auto', 'default'])
      assert.ok(!encoded({ ...base, hints: { service_tier } }, target)?.lost.includes('service_tier'), service_tier);
  });
  test(`every member of a part of a message is sent, listed as lost or refused: ${title}`, () => {
    forgotten.length = 0;
    for (const [type, { least, members }] of Object.entries(parts) as [NeutralPart['type'], (typeof parts)['text']][]) {
      for (const [name, [one, other]] of Object.entries(members)) {
        if (one === other) continue;
        // Google's part has no place for a file's name, which changes nothing of the file.
        if (target.dialect === 'gemini' && type === 'document' && name === 'name') continue;
        const isOptional = !(name in least);
        const without = around(isOptional ? (least as NeutralPart) : null, type);
        const having = (value: unknown) => around({ ...least, [name]: value } as NeutralPart, type);
        look(`${type}.${name}`, without, having(one), other === undefined ? without : having(other));
      }
    }
    assert.deepEqual(forgotten, []);
  });
}
