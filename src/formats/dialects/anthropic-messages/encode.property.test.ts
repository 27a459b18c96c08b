import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralMessage, NeutralPart, NeutralRequest } from '../../neutral/request.ts';
import { encodeRequest } from './encode-request.ts';

/* Whatever a caller says is in the sent body, or its field is in the loss report. */

const word = fc.string({ minLength: 1, maxLength: 8 }).filter((s) => s.trim() !== '');
const textPart = word.map((text): NeutralPart => ({ type: 'text', text }));
const imagePart = fc.webUrl().map((url): NeutralPart => ({ type: 'image', source: { kind: 'url', url } }));
const args = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.string(),
);
const exchange = fc
  .record({
    said: fc.array(fc.oneof(textPart, imagePart), { minLength: 1, maxLength: 2 }),
    answered: word,
    calls: fc.array(fc.record({ argumentsJson: args, result: word, isError: fc.boolean() }), { maxLength: 3 }),
  })
  .map(({ said, answered, calls }) => (round: number): NeutralMessage[] => {
    const id = (i: number) => `call-${round}-${i}`;
    const made = calls.map(
      ({ argumentsJson }, i): NeutralPart => ({ type: 'tool-call', id: id(i), name: 'f', argumentsJson }),
    );
    return [
      { role: 'user', parts: said },
      { role: 'assistant', parts: [{ type: 'text', text: answered }, ...made] },
      ...calls.map(({ result, isError }, i): NeutralMessage => {
        const parts: NeutralPart[] = [{ type: 'text', text: result }];
        return { role: 'tool', parts: [{ type: 'tool-result', callId: id(i), parts, isError }] };
      }),
    ];
  });
const system = word.map((text): NeutralMessage => ({ role: 'system', parts: [{ type: 'text', text }] }));
const aside = system.map((message) => () => [message]);
const messages = fc
  .tuple(fc.array(system, { maxLength: 2 }), fc.array(fc.oneof(exchange, aside), { maxLength: 4 }), textPart)
  .map(([first, rest, last]): NeutralMessage[] => [
    ...first,
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
    stop: fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
    seed: fc.integer(),
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

const models = ['imitator', 'claude-3-5-haiku-20241022', 'claude-sonnet-4-5', 'claude-opus-4-7', 'claude-haiku-5-5'];

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
      const { body, losses } = encoded;
      const lost = new Set(losses.map((loss) => loss.field));
      const kept = (field: string, sent: boolean) =>
        assert.ok(sent || lost.has(field), `${field} is neither sent nor listed`);
      if (asked.maxOutputTokens !== undefined) kept('max_tokens', body.max_tokens === asked.maxOutputTokens);
      // 1 is the default of both: leaving them out says it.
      if (asked.temperature !== undefined) kept('temperature', (body.temperature ?? 1) === asked.temperature);
      if (asked.topP !== undefined) kept('top_p', (body.top_p ?? 1) === asked.topP);
      if (asked.topK !== undefined) kept('top_k', body.top_k === asked.topK);
      if (asked.stop !== undefined) kept('stop', JSON.stringify(body.stop_sequences) === JSON.stringify(asked.stop));
      if (asked.user !== undefined) kept('user', (body.metadata as JsonObject | undefined)?.user_id === asked.user);
      if (asked.tools !== undefined) {
        const sent = body.tools as JsonObject[];
        assert.deepEqual(sent[0], { name: 'f', description: 'F', input_schema: asked.tools[0]!.parameters });
        if (asked.toolChoice !== undefined) kept('tool_choice', body.tool_choice !== undefined);
      } else if (asked.toolChoice?.type === 'auto') kept('tool_choice', false);
      if (asked.reasoning !== undefined && asked.reasoning.effort !== 'none')
        kept('reasoning_effort', body.thinking !== undefined);
      for (const [field, given] of [
        ['seed', asked.seed],
        ['frequency_penalty', asked.frequencyPenalty],
        ['presence_penalty', asked.presencePenalty],
        ['store', asked.hints],
        ['service_tier', asked.hints],
        ['verbosity', asked.extensions],
      ] as const) {
        if (given !== undefined) kept(field, false);
      }
      checkTurns(body, asked.messages, lost);
    }),
    { numRuns: 300 },
  );
});

function checkTurns(body: JsonObject, asked: readonly NeutralMessage[], lost: ReadonlySet<string>): void {
  const turns = body.messages as unknown as { role: string; content: JsonObject[] }[];
  const sent = [...((body.system as JsonObject[] | undefined) ?? []), ...turns.flatMap((turn) => turn.content)];
  for (let i = 0; i < turns.length; i++) {
    if (i > 0) assert.notEqual(turns[i]!.role, turns[i - 1]!.role, 'turns alternate');
    assert.ok(turns[i]!.content.length > 0, 'no empty turn');
    const types = turns[i]!.content.map((block) => block.type);
    assert.ok(
      types.lastIndexOf('tool_result') < types.filter((type) => type === 'tool_result').length,
      'results first',
    );
  }
  const texts = sent.filter((block) => block.type === 'text').map((block) => block.text as string);
  const said = asked.flatMap((m) => m.parts).flatMap((part) => (part.type === 'text' ? [part.text] : []));
  for (const text of said) {
    const at = texts.indexOf(text);
    assert.ok(at >= 0, `"${text}" is lost`);
    texts.splice(at, 1);
  }
  if (!lost.has('messages[0]') && !lost.has('messages')) assert.deepEqual(texts, [], 'nothing is added');
  asked.forEach((message, m) => {
    let calls = 0;
    for (const part of message.parts) {
      if (part.type === 'tool-call') {
        const use = sent.find((block) => block.type === 'tool_use' && block.id === part.id);
        const field = `messages[${m}].tool_calls[${calls++}].function.arguments`;
        assert.ok(use !== undefined, 'the call is lost');
        assert.ok(sameInput(use.input, part.argumentsJson) || lost.has(field), 'arguments are neither sent nor listed');
      } else if (part.type === 'tool-result') {
        const result = sent.find((block) => block.type === 'tool_result' && block.tool_use_id === part.callId);
        assert.equal(result?.is_error ?? false, part.isError);
        assert.deepEqual([{ type: 'text', text: result?.content }], part.parts);
      }
    }
  });
}

function sameInput(input: unknown, argumentsJson: string): boolean {
  if (argumentsJson.trim() === '') return JSON.stringify(input) === '{}';
  try {
    return JSON.stringify(JSON.parse(argumentsJson)) === JSON.stringify(input);
  } catch {
    return false;
  }
}
