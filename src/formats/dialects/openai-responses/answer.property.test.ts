import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertBalanced, assertPublished } from '../../../../test/conversion/responses-frames.ts';
import { createSseReader } from '../../../upstream/transport/sse-reader.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import type { AnswerHead } from '../dialect.ts';
import { openAiResponses } from './index.ts';

/* Whatever an upstream says in whatever order: the stream is balanced, ends with the same content, and reads back. */

const head: AnswerHead = {
  fallbackId: 'resp_1',
  model: 'm',
  createdS: 1_750_000_000,
  includeUsage: true,
  echo: {
    settings: { parallel_tool_calls: true, tool_choice: 'auto', temperature: null, top_p: null, metadata: {} },
    customTools: ['patch'],
  },
};

const text = fc.string({ maxLength: 6, unit: 'grapheme' });
const call = fc.nat(3);
const anything: fc.Arbitrary<NeutralEvent> = fc.oneof(
  text.map((t): NeutralEvent => ({ type: 'text-delta', choice: 0, text: t })),
  text.map((t): NeutralEvent => ({ type: 'reasoning-delta', choice: 0, text: t })),
  text.map((t): NeutralEvent => ({ type: 'refusal-delta', choice: 0, text: t })),
  text.map((signature): NeutralEvent => ({ type: 'reasoning-signature', choice: 0, signature, vendor: 'gemini' })),
  text.map((data): NeutralEvent => ({ type: 'redacted-reasoning', choice: 0, data, vendor: 'anthropic-messages' })),
  fc
    .record({ call, id: fc.constantFrom('', 'a', 'b'), name: fc.constantFrom('f', 'patch') })
    .map((made): NeutralEvent => ({ type: 'tool-call-start', choice: 0, ...made })),
  fc
    .record({ call, argumentsJson: fc.constantFrom('', '{"input":"x"}', '{"a":', '1}', '\u{1f600}') })
    .map((piece): NeutralEvent => ({ type: 'tool-call-delta', choice: 0, ...piece })),
  fc.constant<NeutralEvent>({ type: 'part-end', choice: 0 }),
  fc.constant<NeutralEvent>({ type: 'text-delta', choice: 1, text: 'another choice' }),
  fc.constant<NeutralEvent>({
    type: 'citation',
    choice: 0,
    citation: { url: 'https://a.example', title: 'A', quote: '' },
  }),
  fc.constant<NeutralEvent>({ type: 'usage', usage: { inputTokens: 3, outputTokens: 2 } }),
);
const reason = fc.constantFrom(
  'stop',
  'stop-sequence',
  'length',
  'tool-calls',
  'content-filter',
  'pause',
  'context-full',
);
const answer = fc.tuple(fc.array(anything, { maxLength: 25 }), reason).map(([events, why]): NeutralEvent[] => [
  // A call begins once: decoders handle parts before it, and repeats.
  ...events.filter(
    (event, at) =>
      event.type !== 'tool-call-start' ||
      events.findIndex((other) => other.type === 'tool-call-start' && other.call === event.call) === at,
  ),
  { type: 'finish', choice: 0, reason: why, stopSequence: null },
  { type: 'end' },
]);

function framesOf(events: readonly NeutralEvent[]): string {
  const encoder = openAiResponses.encodeStream(head);
  return events.map((event) => encoder.step(event)).join('');
}

test('frames are balanced, as published, and the whole answer is what the stream ends with', () => {
  fc.assert(
    fc.property(answer, (events) => {
      const frames = framesOf(events);
      const fold = openAiResponses.fold(head);
      for (const event of events) fold.add(event);
      assert.deepEqual(fold.result(), assertBalanced(frames, 'whole'));
      assertPublished(frames);
    }),
    { numRuns: 300 },
  );
});

test('a stream that stops anywhere has no end, and its mark says what comes next', () => {
  fc.assert(
    fc.property(answer, fc.nat(30), (events, at) => {
      const encoder = openAiResponses.encodeStream(head);
      const begun: NeutralEvent[] = [
        { type: 'start', id: null, model: null, createdS: null },
        ...events.slice(0, Math.min(at, events.length - 1)),
      ];
      const frames = begun.map((event) => encoder.step(event)).join('');
      const mark = encoder.mark!()!;
      assert.equal(assertBalanced(frames, 'truncated'), null);
      const last = openAiResponses.errorFrame({ kind: 'internal' }, { requestId: 'req_1', nowMs: 0 }, mark);
      const failed = assertBalanced(frames + last, 'truncated')!;
      assert.deepEqual([failed.status, failed.id], ['failed', mark.id]);
    }),
    { numRuns: 200 },
  );
});

test('what is written is read as it was, wherever it is cut', () => {
  fc.assert(
    fc.property(answer, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (events, sizes) => {
      const bytes = Buffer.from(framesOf(events));
      const pieces: Buffer[] = [];
      for (let from = 0; from < bytes.length; ) {
        const size = sizes.next().value as number;
        pieces.push(bytes.subarray(from, from + size));
        from += size;
      }
      assert.deepEqual(spoken(read(pieces)), spoken(events));
    }),
    { numRuns: 300 },
  );
});

function read(pieces: readonly Buffer[]): NeutralEvent[] {
  const reader = createSseReader({ eventBytesMax: 1024 * 1024 });
  const decoder = openAiResponses.decodeStream();
  const events = pieces.flatMap((piece) => reader.push(piece).flatMap((event) => decoder.step(event)));
  assert.equal(decoder.malformedLines, 0);
  return [...events, ...decoder.finish()];
}

/** Text, thoughts and calls, joined without regard to pieces. */
function spoken(events: readonly NeutralEvent[]): unknown {
  const said = { text: '', refusal: '', calls: [] as { name: string; input: string }[], citations: 0 };
  const calls = new Map<number, { name: string; input: string }>();
  const thoughts: string[] = [];
  let begun = false;
  for (const event of events) {
    if ('choice' in event && event.choice !== 0) continue;
    switch (event.type) {
      case 'text-delta':
        said.text += event.text;
        break;
      case 'refusal-delta':
        said.refusal += event.text;
        break;
      case 'reasoning-delta':
        thoughts.push(event.text);
        break;
      case 'citation':
        said.citations += 1;
        break;
      case 'tool-call-start': {
        const made = { name: event.name, input: '' };
        calls.set(event.call, made);
        said.calls.push(made);
        break;
      }
      case 'tool-call-delta': {
        const made = calls.get(event.call);
        if (made !== undefined) made.input += event.argumentsJson;
        break;
      }
      case 'finish':
        begun = true;
    }
  }
  for (const made of said.calls) made.input = made.name === 'patch' ? textOf(made.input) : made.input || '{}';
  return { ...said, thoughts: thoughts.join(''), begun };
}

/** Input of a custom tool, whether or not the model kept to the form. */
function textOf(argumentsJson: string): string {
  try {
    const value: unknown = JSON.parse(argumentsJson);
    return typeof value === 'object' && value !== null && 'input' in value ? String(value.input) : argumentsJson;
  } catch {
    return argumentsJson;
  }
}
