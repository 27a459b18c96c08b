// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { NeutralMessage, NeutralPart, NeutralRequest } from '../../neutral/request.ts';
import { encodeRequest, withOperatorFields } from './encode-request.ts';
import { gemini } from './index.ts';
import type { Content, Part } from './wire.ts';

/* Whatever a caller says is in the sent body, or its field is in the loss report. */

const word = fc.string({ minLength: 1, maxLength: 8 });
const textPart = word.map((text): NeutralPart => ({ type: 'text', text }));
const picture = fc
  .constantFrom('image/png', 'image/gif')
  .map((mediaType): NeutralPart => ({ type: 'image', source: { kind: 'base64', mediaType, base64: 'AAAA' } }));
const args = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.string(),
);
const exchange = fc
  .record({
    said: fc.array(fc.oneof(textPart, picture), { minLength: 1, maxLength: 2 }),
    answered: word,
    calls: fc.array(fc.record({ argumentsJson: args, result: fc.option(word), isError: fc.boolean() }), {
      maxLength: 3,
    }),
  })
  .map(({ said, answered, calls }) => (round: number): NeutralMessage[] => {
    const id = (i: number) => `call-${round}-${i}`;
    const made = calls.map(
      ({ argumentsJson }, i): NeutralPart => ({ type: 'tool-call', id: id(i), name: `f${i}`, argumentsJson }),
    );
    return [
      { role: 'user', parts: said },
      { role: 'assistant', parts: [{ type: 'text', text: answered }, ...made] },
      // In the reverse order: results may come in any.
      ...calls
        .flatMap(({ result, isError }, i): NeutralMessage[] => {
          if (result === null) return [];
          const parts: NeutralPart[] = [{ type: 'text', text: result }];
          return [{ role: 'tool', parts: [{ type: 'tool-result', callId: id(i), parts, isError }] }];
        })
        .reverse(),
    ];
  });
const messages = fc
  .tuple(fc.array(word, { maxLength: 2 }), fc.array(exchange, { maxLength: 4 }), textPart)
  .map(([systems, rest, last]): NeutralMessage[] => [
    ...systems.map((text): NeutralMessage => ({ role: 'system', parts: [{ type: 'text', text }] })),
    ...rest.flatMap((messagesOf, round) => messagesOf(round)),
    { role: 'user', parts: [last] },
  ]);

const request: fc.Arbitrary<NeutralRequest> = fc.record(
  {
    model: fc.constant('alias'),
    stream: fc.constant(true),
    includeUsage: fc.boolean(),
    messages,
    maxOutputTokens: fc.integer({ min: 1, max: 200_000 }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    topP: fc.double({ min: 0, max: 1, noNaN: true }),
    topK: fc.nat(100),
    frequencyPenalty: fc.double({ min: -2, max: 2, noNaN: true }),
    presencePenalty: fc.double({ min: -2, max: 2, noNaN: true }),
    stop: fc.array(fc.string(), { minLength: 1, maxLength: 8 }),
    seed: fc.maxSafeInteger(),
    logitBias: fc.constant({ 1: 2 }),
    tools: fc.constant([
      { name: 'f', description: 'F', parameters: { type: 'object', properties: { a: { $ref: '#/x' } } } },
    ]),
    toolChoice: fc.constantFrom({ type: 'auto' }, { type: 'none' }, { type: 'required' }, { type: 'tool', name: 'f' }),
    parallelToolCalls: fc.boolean(),
    reasoning: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh').map((effort) => ({ effort })),
    user: word,
    hints: fc.constant({ store: true, service_tier: 'flex' }),
    extensions: fc.constant({ 'openai-chat': { verbosity: 'low' } }),
  },
  { requiredKeys: ['model', 'stream', 'includeUsage', 'messages'] },
) as fc.Arbitrary<NeutralRequest>;

const models = [
  'gemini-2.0-flash',
  'gemini-2.5-pro',
  'gemini-2.5-flash',
  'gemini-3-pro-preview',
  'gemini-3.6-flash',
  'x',
];

/** The field for which a request was refused. */
function refusedFor(encoded: ReturnType<typeof encodeRequest>): string | null {
  return isFailure(encoded) && encoded.kind === 'invalid-request' ? encoded.param : null;
}

test('every field is sent or listed as lost, or the request refused for it', () => {
  const target = fc.record({
    model: fc.constantFrom(...models),
    maxOutputTokens: fc.constantFrom(null, 4_096, 64_000),
  });
  fc.assert(
    fc.property(request, target, (asked, to) => {
      const encoded = encodeRequest(asked, { ...to, stream: true, omit: [] });
      const demanded = asked.toolChoice?.type === 'required' || asked.toolChoice?.type === 'tool';
      if (demanded && asked.tools === undefined) return assert.equal(refusedFor(encoded), 'tool_choice');
      assert.ok(!isFailure(encoded), JSON.stringify(encoded));
      const { body } = encoded;
      const lost = new Set(encoded.losses.map((loss) => loss.field));
      const config = isObject(body.generationConfig) ? body.generationConfig : {};
      const kept = (field: string, sent: boolean) =>
        assert.ok(sent || lost.has(field), `${field} is neither sent nor listed`);
      if (asked.maxOutputTokens !== undefined) kept('max_tokens', config.maxOutputTokens === asked.maxOutputTokens);
      for (const [field, name, value] of [
        ['temperature', 'temperature', asked.temperature],
        ['top_p', 'topP', asked.topP],
        ['top_k', 'topK', asked.topK],
        ['seed', 'seed', asked.seed],
      ] as const) {
        if (value !== undefined) kept(field, config[name] === value);
      }
      for (const [field, name, value] of [
        ['presence_penalty', 'presencePenalty', asked.presencePenalty],
        ['frequency_penalty', 'frequencyPenalty', asked.frequencyPenalty],
      ] as const) {
        // 0 is the default: leaving it out says it.
        if (value !== undefined) kept(field, (config[name] ?? 0) === value || value === 0);
      }
      if (asked.stop !== undefined) kept('stop', JSON.stringify(config.stopSequences) === JSON.stringify(asked.stop));
      if (asked.tools !== undefined) {
        const [sent] = body.tools as unknown as { functionDeclarations: JsonObject[] }[];
        const { parameters, ...rest } = asked.tools[0]!;
        assert.deepEqual(sent?.functionDeclarations[0], { ...rest, parametersJsonSchema: parameters });
        const choice = asked.toolChoice?.type ?? 'auto';
        if (choice !== 'auto') kept('tool_choice', body.toolConfig !== undefined);
        if (asked.parallelToolCalls === false) kept('parallel_tool_calls', false);
      } else if (asked.toolChoice?.type === 'auto') kept('tool_choice', false);
      if (asked.reasoning !== undefined && asked.reasoning.effort !== 'none')
        kept('reasoning_effort', config.thinkingConfig !== undefined);
      for (const [field, given] of [
        ['user', asked.user],
        ['logit_bias', asked.logitBias],
        ['store', asked.hints],
        ['verbosity', asked.extensions],
      ] as const) {
        if (given !== undefined) kept(field, false);
      }
      kept('service_tier', body.serviceTier === asked.hints?.service_tier);
      checkContents(body, asked.messages, lost);
    }),
    { numRuns: 500 },
  );
});

/** Google's rules of order, and nothing that was said missing. */
function checkContents(body: JsonObject, asked: readonly NeutralMessage[], lost: ReadonlySet<string>): void {
  const contents = body.contents as unknown as Content[];
  const system = (body.systemInstruction as unknown as { parts: Part[] } | undefined)?.parts ?? [];
  assert.equal(contents[0]!.role, 'user');
  assert.equal(contents.at(-1)!.role, 'user');
  contents.forEach(({ role, parts }, i) => {
    assert.ok(parts.length > 0, 'no empty turn');
    if (role !== 'model') return;
    const calls = parts.flatMap((part) => part.functionCall ?? []);
    const results = (contents[i + 1]?.parts ?? []).flatMap((part) => part.functionResponse ?? []);
    if (calls.length > 0)
      assert.deepEqual(
        results.map(({ name }) => name),
        calls.map(({ name }) => name),
      );
  });
  const sent = [...system, ...contents.flatMap(({ parts }) => parts)];
  const texts = sent.flatMap((part) => part.text ?? []);
  for (const part of asked.flatMap((message) => message.parts)) {
    if (part.type !== 'text') continue;
    const at = texts.indexOf(part.text);
    assert.ok(at >= 0, `"${part.text}" is lost`);
    texts.splice(at, 1);
  }
  assert.deepEqual(texts, [], 'nothing is added');
  const pictures = asked.flatMap(({ parts }) => parts.filter((part) => part.type === 'image'));
  assert.equal(sent.filter((part) => part.inlineData !== undefined).length, pictures.length);
  const outputs = sent.flatMap((part) => part.functionResponse?.response ?? []);
  asked.forEach((message, m) => {
    message.parts
      .filter((part) => part.type === 'tool-call')
      .forEach((call, c) => {
        const answered = asked.some(({ parts }) =>
          parts.some((part) => part.type === 'tool-result' && part.callId === call.id),
        );
        assert.ok(answered || lost.has(`messages[${m}].tool_calls[${c}]`), 'a made-up result is listed');
      });
    for (const part of message.parts) {
      if (part.type !== 'tool-result') continue;
      const [text] = part.parts;
      const key = part.isError ? 'error' : 'output';
      assert.ok(text?.type === 'text' && outputs.some((output) => isObject(output) && output[key] === text.text));
    }
  });
}

test('S21 a hundred thousand parts, calls and losses cost time in proportion, and no stack', () => {
  const many = 100_000;
  const calls = Array.from(
    { length: many },
    (_, i): NeutralPart => ({ type: 'tool-call', id: `c${i}`, name: 'f', argumentsJson: '!' }),
  );
  const results = Array.from({ length: many }, (_, i): NeutralMessage => {
    const parts: NeutralPart[] = [{ type: 'text', text: 'r' }];
    return { role: 'tool', parts: [{ type: 'tool-result', callId: `c${i}`, parts, isError: false }] };
  });
  const texts = Array.from({ length: many }, (): NeutralPart => ({ type: 'text', text: 't' }));
  const conversation: NeutralMessage[] = [
    { role: 'user', parts: texts },
    { role: 'assistant', parts: [...texts, ...calls] },
    ...results,
    { role: 'user', parts: texts },
    { role: 'assistant', parts: texts },
    { role: 'assistant', parts: texts },
  ];
  const before = process.threadCpuUsage();
  const asked = { model: 'alias', stream: true, includeUsage: false, messages: conversation };
  const encoded = encodeRequest(asked, { model: 'gemini-3-pro', maxOutputTokens: null, stream: true, omit: [] });
  assert.ok(!isFailure(encoded));
  assert.equal(encoded.losses.length, many + 1);
  const back = decodeRequest(gemini, { contents: encoded.body.contents! });
  assert.ok(!isFailure(back));
  // Quadratic work would take minutes, of CPU too.
  assert.ok(process.threadCpuUsage(before).user < 30_000_000);
});

test("the operator's generationConfig joins the caller's", () => {
  const body = { contents: [], generationConfig: { temperature: 1, topP: 0.5 } };
  const joined = withOperatorFields(body, { generationConfig: { topP: 0.9 }, safetySettings: [] });
  assert.deepEqual(joined, { contents: [], generationConfig: { temperature: 1, topP: 0.9 }, safetySettings: [] });
  assert.deepEqual(body.generationConfig, { temperature: 1, topP: 0.5 });
});
