import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { readInPassing } from './read-in-passing.ts';

const part = fc.oneof(
  fc.record({ text: fc.string({ maxLength: 8 }) }),
  fc.record({ text: fc.string({ maxLength: 8 }), thought: fc.constant(true), thoughtSignature: fc.string() }),
  fc.record({
    functionCall: fc.record({ name: fc.string(), args: fc.jsonValue(), id: fc.string() }, { requiredKeys: ['name'] }),
    thoughtSignature: fc.constantFrom('', 's'),
  }),
  fc.record({ inlineData: fc.record({ mimeType: fc.constant('image/png'), data: fc.constant('AA==') }) }),
  fc.jsonValue(),
);
const finishReason = fc.constantFrom(undefined, 'STOP', 'MAX_TOKENS', 'SAFETY', 'MALFORMED_FUNCTION_CALL', 'NEW', 7);
const candidate = fc.record({
  content: fc.oneof(fc.record({ parts: fc.array(part, { maxLength: 4 }) }), fc.jsonValue()),
  finishReason,
  index: fc.oneof(fc.constantFrom(0, 0, 0, 1, undefined), fc.jsonValue()),
});
const chunk = fc.oneof(
  fc.record({
    candidates: fc.oneof(fc.array(candidate, { maxLength: 2 }), fc.jsonValue()),
    usageMetadata: fc.oneof(fc.record({ promptTokenCount: fc.nat(), thoughtsTokenCount: fc.nat() }), fc.jsonValue()),
    responseId: fc.string(),
  }),
  fc.record({ promptFeedback: fc.record({ blockReason: fc.constant('SAFETY') }) }),
  fc.record({ error: fc.jsonValue() }),
  fc.jsonValue(),
);

/** Told once at the start, calls dense and begun before their arguments, nothing after a choice's end or the answer's. */
function assertBalanced(events: readonly NeutralEvent[]): void {
  const calls = new Map<number, number>();
  const finished = new Set<number>();
  events.forEach((event, at) => {
    if (event.type === 'start') assert.equal(at, 0, 'one start, first');
    if (event.type === 'end' || event.type === 'failed') assert.equal(at, events.length - 1, 'nothing follows the end');
    if (!('choice' in event)) return;
    assert.ok(!finished.has(event.choice), `choice ${event.choice} goes on after its end`);
    const made = calls.get(event.choice) ?? 0;
    if (event.type === 'tool-call-start') {
      assert.equal(event.call, made);
      assert.notEqual(event.id, '');
      calls.set(event.choice, made + 1);
    } else if (event.type === 'tool-call-delta') {
      assert.equal(event.call, made - 1);
      assert.doesNotThrow(() => JSON.parse(event.argumentsJson));
    } else if (event.type === 'finish') finished.add(event.choice);
  });
  const last = events.at(-1)?.type;
  assert.ok(last === 'end' || last === 'failed');
}

test('whatever comes, nothing throws and what is told is balanced', () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 6 }), (chunks) => {
      const decoder = decodeStream();
      const events = chunks.flatMap((one) => decoder.step({ event: '', data: JSON.stringify(one) ?? '' }));
      events.push(...decoder.finish());
      assertBalanced(events);
      const reader = readInPassing();
      for (const one of chunks) reader.step({ event: '', data: JSON.stringify(one) ?? '' });
      for (const one of chunks) reader.whole(one);
    }),
    { numRuns: 2_000 },
  );
});

test('a whole answer is told as the stream of its one chunk', () => {
  fc.assert(
    fc.property(candidate, (only) => {
      const body = JSON.parse(JSON.stringify({ candidates: [only] })) as JsonObject;
      const decoder = decodeStream();
      const streamed = [...decoder.step({ event: '', data: JSON.stringify(body) }), ...decoder.finish()];
      assert.deepEqual(decodeWhole(body), streamed);
    }),
  );
});

test('an answer that passes by: content, usage, end and error are seen', () => {
  const reader = readInPassing();
  const step = (data: unknown) => reader.step({ event: '', data: JSON.stringify(data) });
  assert.equal(step({ candidates: [{ content: { parts: [{ text: '' }] } }] }).content, false);
  assert.equal(step({ candidates: [{ content: { parts: [{ text: 'Hello you' }] } }] }).content, true);
  assert.equal(reader.seen.terminal, false);
  step({
    candidates: [{ finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, thoughtsTokenCount: 3, cachedContentTokenCount: 1 },
  });
  assert.equal(reader.seen.terminal, true);
  assert.deepEqual(reader.seen.usage, { inputTokens: 5, outputTokens: 5, cachedInputTokens: 1, reasoningTokens: 3 });
  assert.equal(step({ error: { status: 'UNAVAILABLE', message: 'm' } }).fault?.class, 'transient');
  assert.equal(readInPassing().whole({ candidates: [] })?.class, 'malformed');
});
