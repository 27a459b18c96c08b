import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mergedChunks } from '../../../../test/fixtures/merged-chunks.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { AnswerHead } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream } from './encode-answer.ts';
import { fold } from './fold-answer.ts';
import { readInPassing } from './read-in-passing.ts';

const head: AnswerHead = { fallbackId: 'chatcmpl-1', model: 'shown', createdS: 7, includeUsage: false };

function written(events: readonly NeutralEvent[], over: Partial<AnswerHead> = {}): string {
  const encoder = encodeStream({ ...head, ...over });
  return events.map((event) => encoder.step(event)).join('');
}

const data = (frames: string): string[] =>
  frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => frame.slice('data: '.length));

const chunks = (frames: string): JsonObject[] =>
  data(frames)
    .filter((text) => text !== '[DONE]')
    .map((text) => JSON.parse(text) as JsonObject);

const hello: NeutralEvent[] = [
  { type: 'start', id: null, model: null, createdS: null },
  { type: 'text-delta', choice: 0, text: 'hi' },
  { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 1 } },
];
const end: NeutralEvent = { type: 'end' };
const failed: NeutralEvent = { type: 'failed', fault: { class: 'truncated', status: null, message: 'x' } };

test('a stream: role first, then text, then finish_reason, then [DONE]', () => {
  assert.deepEqual(
    chunks(written([...hello, end])).map((chunk) => (chunk.choices as JsonObject[])[0]),
    [
      { index: 0, delta: { role: 'assistant', content: '', refusal: null }, logprobs: null, finish_reason: null },
      { index: 0, delta: { content: 'hi' }, logprobs: null, finish_reason: null },
      { index: 0, delta: {}, logprobs: null, finish_reason: 'stop' },
    ],
  );
  assert.equal(data(written([...hello, end])).at(-1), '[DONE]');
});

test('where usage was asked for, the chunks before it have null, except for clients of other vendors', () => {
  const usages = (over: Partial<AnswerHead>) => chunks(written([...hello, end], over)).map(({ usage }) => usage);
  assert.deepEqual(usages({ includeUsage: true }).slice(0, -1), [null, null, null]);
  const plain = [undefined, undefined, undefined];
  assert.deepEqual(usages({ includeUsage: true, clientOf: 'openrouter' }).slice(0, -1), plain);
  assert.deepEqual(usages({ includeUsage: true, clientOf: 'groq' }), [
    ...plain.slice(1),
    usages({ includeUsage: true }).at(-1),
  ]);
});

test('the usage chunk comes only when it was asked for, alone and before [DONE]', () => {
  assert.equal(
    chunks(written([...hello, end])).some((chunk) => 'usage' in chunk),
    false,
  );
  const [usage, done] = data(written([...hello, end], { includeUsage: true })).slice(-2);
  assert.equal(done, '[DONE]');
  assert.deepEqual(JSON.parse(usage!).choices, []);
  assert.deepEqual(JSON.parse(usage!).usage, { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 });
});

test('after a failure nothing is written, above all no [DONE] and no finish_reason', () => {
  const frames = written([hello[0]!, hello[1]!, failed, end]);
  assert.equal(frames.includes('[DONE]'), false);
  assert.equal(
    chunks(frames).some((chunk) => (chunk.choices as JsonObject[])[0]!.finish_reason !== null),
    false,
  );
});

test('what the upstream called itself is shown; what it left open comes from the head', () => {
  assert.deepEqual(
    ['id', 'model', 'created'].map((name) => chunks(written(hello))[0]![name]),
    ['chatcmpl-1', 'shown', 7],
  );
  const named: NeutralEvent = { type: 'start', id: 'a"b', model: 'up', createdS: 9 };
  assert.deepEqual(
    ['id', 'model', 'created'].map((name) => chunks(written([named, hello[1]!]))[0]![name]),
    ['a"b', 'up', 9],
  );
});

test('an answer that says nothing is still a whole stream', () => {
  const frames = written([hello[0]!, end]);
  assert.equal((mergedChunks(chunks(frames)).choices as JsonObject[])[0]!.finish_reason, 'stop');
});

test('every finish reason has its word', () => {
  const words: [FinishReason, string][] = [
    ['stop', 'stop'],
    ['stop-sequence', 'stop'],
    ['pause', 'stop'],
    ['length', 'length'],
    ['context-full', 'length'],
    ['tool-calls', 'tool_calls'],
    ['content-filter', 'content_filter'],
  ];
  for (const [reason, word] of words) {
    const events: NeutralEvent[] = [{ type: 'finish', choice: 0, reason, stopSequence: null }];
    assert.equal((chunks(written(events)).at(-1)!.choices as JsonObject[])[0]!.finish_reason, word);
  }
});

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
const reason = fc.constantFrom<FinishReason>('stop', 'length', 'tool-calls', 'content-filter');
const says = (choice: number) =>
  fc.array(
    fc.oneof(
      text.map((value): NeutralEvent[] => [{ type: 'text-delta', choice, text: value }]),
      text.map((value): NeutralEvent[] => [{ type: 'reasoning-delta', choice, text: value }]),
      text.map((value): NeutralEvent[] => [{ type: 'refusal-delta', choice, text: value }]),
      fc
        .array(text, { maxLength: 3 })
        .map((args): NeutralEvent[] => [
          { type: 'tool-call-start', choice, call: -1, id: 'id', name: 'tool' },
          ...args.map((argumentsJson): NeutralEvent => ({ type: 'tool-call-delta', choice, call: -1, argumentsJson })),
        ]),
    ),
    { maxLength: 6 },
  );

/** Numbers the calls as decoders do: dense and ascending within their choice. */
function numbered(events: readonly NeutralEvent[]): NeutralEvent[] {
  let call = -1;
  return events.map((event) => {
    if (event.type === 'tool-call-start') call += 1;
    if (event.type === 'tool-call-start') return { ...event, call, id: `call_${event.choice}_${call}` };
    return event.type === 'tool-call-delta' ? { ...event, call } : event;
  });
}

const answers = fc
  .tuple(says(0), says(1), reason, reason)
  .map(([first, second, reason0, reason1]): NeutralEvent[] => [
    { type: 'start', id: 'x', model: 'm', createdS: 1 },
    ...numbered(first.flat()),
    ...numbered(second.flat()),
    { type: 'finish', choice: 0, reason: reason0, stopSequence: null },
    { type: 'finish', choice: 1, reason: reason1, stopSequence: null },
    { type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } },
    end,
  ]);

test('the whole answer is what a client makes of the stream, for any answer', () => {
  fc.assert(
    fc.property(answers, (events) => {
      const folded = fold(head);
      for (const event of events) folded.add(event);
      assert.deepEqual(mergedChunks(chunks(written(events, { includeUsage: true }))), folded.result());
    }),
  );
});

test('what is written reads again as the same answer, streamed or whole', () => {
  fc.assert(
    fc.property(answers, (events) => {
      const once = fold(head);
      for (const event of events) once.add(event);
      const decoder = decodeStream();
      const again = fold(head);
      for (const line of data(written(events, { includeUsage: true }))) {
        for (const event of decoder.step({ event: '', data: line })) again.add(event);
      }
      const whole = fold(head);
      for (const event of decodeWhole(once.result())) whole.add(event);
      assert.deepEqual(decoder.finish(), []);
      // A stop after a tool call reads as tool_calls: the one thing that decoding sets right.
      assert.deepEqual(unreasoned(again.result()), unreasoned(once.result()));
      assert.deepEqual(unreasoned(whole.result()), unreasoned(once.result()));
    }),
  );
});

function unreasoned(answer: JsonObject): JsonObject {
  return { ...answer, choices: (answer.choices as JsonObject[]).map(({ finish_reason: _reason, ...rest }) => rest) };
}

const piece = (delta: JsonObject, finish: string | null = null, index = 0) =>
  JSON.stringify({ id: 'x', created: 1, model: 'm', choices: [{ index, delta, finish_reason: finish }] });

test('[DONE] does not save an answer without its finish reason', () => {
  const decoder = decodeStream();
  decoder.step({ event: '', data: piece({ content: 'half' }) });
  assert.equal(JSON.stringify(decoder.step({ event: '', data: '[DONE]' })).includes('truncated'), true);
});

test('[DONE] saves an answer that says no reason, as some servers’ do not, but was counted after its last word', () => {
  const counted = JSON.stringify({ id: 'x', choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } });
  const typesOf = (...lines: readonly string[]) => {
    const decoder = decodeStream();
    return [...lines, '[DONE]'].flatMap((data) => decoder.step({ event: '', data })).map(({ type }) => type);
  };
  assert.deepEqual(typesOf(piece({ content: 'whole' }), counted).slice(-3), ['usage', 'finish', 'end']);
  assert.equal(typesOf(piece({ content: 'half' }), counted, piece({ content: ' more' })).at(-1), 'failed');
  const reasonFirst = [piece({ content: 'a' }), piece({}, 'stop'), piece({ content: 'b' })];
  assert.deepEqual(typesOf(...reasonFirst).slice(-2), ['finish', 'end'], 'content that came behind its reason');
});

test('a stream of nothing is malformed, with [DONE] or without', () => {
  assert.equal(JSON.stringify(decodeStream().finish()).includes('malformed'), true);
  assert.equal(JSON.stringify(decodeStream().step({ event: '', data: '[DONE]' })).includes('malformed'), true);
  assert.equal(readInPassing().step({ event: '', data: '[DONE]' }).fault?.class, 'malformed');
});

test('unreadable lines are skipped and counted', () => {
  const decoder = decodeStream();
  for (const line of ['<html>', '{"id":', '5', '{"type":"ping"}', '{"choices":[7]}']) {
    assert.deepEqual(
      decoder.step({ event: '', data: line }).filter((event) => event.type === 'failed'),
      [],
    );
  }
  assert.equal(decoder.malformedLines, 5);
});

test('nothing follows a failure or the end', () => {
  const decoder = decodeStream();
  decoder.step({ event: '', data: '{"error":{"message":"x"}}' });
  assert.deepEqual(decoder.step({ event: '', data: piece({ content: 'more' }) }), []);
  assert.deepEqual(decoder.finish(), []);
});

test('F12 what stands in a 200 and is no answer is a failure', () => {
  const bodies = [
    '<html></html>',
    '',
    null,
    5,
    [],
    {},
    { choices: null },
    { choices: [] },
    { choices: [{}] },
    { error: 'x' },
    { detail: 'x' },
  ];
  for (const body of bodies) assert.notEqual(readInPassing().whole(body), null, JSON.stringify(body));
  const choices = [{ message: { content: 'abcdefgh' } }];
  const reader = readInPassing();
  assert.equal(reader.whole({ choices, usage: { prompt_tokens: 1, completion_tokens: 2 } }), null);
  assert.deepEqual(reader.seen.usage, { inputTokens: 1, outputTokens: 2 });
  const uncounted = readInPassing();
  assert.equal(uncounted.whole({ choices }), null);
  assert.deepEqual([uncounted.seen.usage, uncounted.seen.outputTokensSeen], [null, 2]);
  const called = readInPassing();
  const calls = [{ id: 'a', type: 'function', function: { name: 'add', arguments: '{"a":123}' } }];
  called.whole({ choices: [{ message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }] });
  assert.equal(called.seen.outputTokensSeen, 3, 'arguments of calls are output');
});

test('in passing, the chunk that exists only for usage is told apart', () => {
  const reader = readInPassing();
  assert.equal(reader.step({ event: '', data: piece({ content: 'hi' }) }).content, true);
  const usage = '"usage":{"prompt_tokens":1,"completion_tokens":2}';
  assert.equal(
    reader.step({ event: '', data: `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],${usage}}` }).usageOnly,
    false,
  );
  assert.equal(reader.step({ event: '', data: `{"choices":[],${usage}}` }).usageOnly, true);
  assert.deepEqual(reader.seen.usage, { inputTokens: 1, outputTokens: 2 });
});

test('in passing, usage beside text is seen', () => {
  const reader = readInPassing();
  reader.step({ event: '', data: piece({ content: 'x' }) });
  const beside = `${piece({ content: 'y' }).slice(0, -1)},"usage": {"prompt_tokens":4,"completion_tokens":2}}`;
  const { content, usageBeside } = reader.step({ event: '', data: beside });
  assert.deepEqual([content, usageBeside], [true, true]);
  assert.deepEqual(reader.seen.usage, { inputTokens: 4, outputTokens: 2 });
});

test('in passing, text that looks like usage, an error or an end is text', () => {
  const reader = readInPassing();
  reader.step({ event: '', data: piece({ content: 'x' }) });
  const verdict = reader.step({
    event: '',
    data: piece({ content: '"usage":{"prompt_tokens":9},"error":{"message":"no"},"finish_reason":"stop"' }),
  });
  assert.deepEqual(verdict, { content: true, fault: null, usageOnly: false });
  assert.deepEqual([reader.seen.usage, reader.seen.terminal], [null, false]);
});

test('in passing, an error after text is a fault, and the end is not reached by it', () => {
  const reader = readInPassing();
  reader.step({ event: '', data: piece({ content: 'x' }, 'stop') });
  assert.equal(reader.seen.terminal, true);
  assert.equal(reader.step({ event: '', data: '{"error":{"message":"died","code":502}}' }).fault?.class, 'transient');
  assert.equal(reader.seen.terminal, false);
});

test('in passing, several choices end when the last of them does, and what is owed for a missing [DONE] is said', () => {
  const reader = readInPassing();
  for (const [index, finish] of [
    [0, null],
    [1, null],
    [0, 'stop'],
  ] as const) {
    reader.step({ event: '', data: piece(finish === null ? { content: 'x' } : {}, finish, index) });
  }
  assert.deepEqual([reader.seen.terminal, reader.seen.closing], [false, '']);
  reader.step({ event: '', data: piece({}, 'length', 1) });
  assert.deepEqual([reader.seen.terminal, reader.seen.closing], [true, 'data: [DONE]\n\n']);
  reader.step({ event: '', data: '[DONE]' });
  assert.deepEqual([reader.seen.terminal, reader.seen.closing], [true, '']);
});

test('in passing, content is content in every spelling, and an empty delta is none', () => {
  const reader = readInPassing();
  reader.step({ event: '', data: piece({ content: 'x' }) });
  for (const delta of [
    { content: 'more' },
    { reasoning_content: 'hm' },
    { reasoning: 'hm' },
    { refusal: 'no' },
    { content: null, tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
  ]) {
    assert.equal(reader.step({ event: '', data: piece(delta) }).content, true, JSON.stringify(delta));
  }
  for (const delta of [{}, { content: '' }, { content: null }, { role: 'assistant' }]) {
    assert.equal(reader.step({ event: '', data: piece(delta) }).content, false, JSON.stringify(delta));
  }
});

test("a part of Mistral's content that has no place is a loss, an empty text is none", () => {
  const content = [
    { type: 'text', text: '' },
    { type: 'text', text: 'hi' },
    { type: 'reference', reference_ids: [0] },
  ];
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  const shown = fold(head);
  for (const event of decodeWhole({ id: 'x', choices })) shown.add(event);
  assert.deepEqual([...(shown.lost ?? [])], ['content.reference']);
});

test('a call of a custom tool is written as one again, beside one of a function', () => {
  const input = 'say "hi"\nto {all}';
  const calls = [
    { index: 0, id: 'c0', type: 'custom', custom: { name: 'patch', input: '' } },
    { index: 0, custom: { input: input.slice(0, 7) } },
    { index: 0, custom: { input: input.slice(7) } },
    { index: 1, id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
  ];
  const chunk = (delta: JsonObject, finish_reason: string | null = null) =>
    JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] });
  const decoder = decodeStream();
  const pieces = [...calls.map((call) => chunk({ tool_calls: [call] })), chunk({}, 'tool_calls'), '[DONE]'];
  const events = [...pieces.flatMap((text) => decoder.step({ event: '', data: text })), ...decoder.finish()];
  const whole = fold(head);
  for (const event of events) whole.add(event);
  const expected = [
    { id: 'c0', type: 'custom', custom: { name: 'patch', input } },
    { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
  ];
  const callsOf = (answer: JsonObject) => (answer.choices as { message: JsonObject }[])[0]!.message.tool_calls;
  assert.deepEqual(callsOf(whole.result() as JsonObject), expected);
  const again = fold(head);
  for (const event of decodeWhole(whole.result())) again.add(event);
  assert.deepEqual(callsOf(again.result() as JsonObject), expected);

  const sent = chunks(written(events)).flatMap(({ choices }) => {
    const { delta } = (choices as { delta: JsonObject }[])[0]!;
    return (delta.tool_calls ?? []) as JsonObject[];
  });
  assert.deepEqual(
    sent.filter(({ index }) => index === 0),
    [
      { index: 0, id: 'c0', type: 'custom', custom: { name: 'patch', input: '' } },
      { index: 0, custom: { input } },
    ],
  );
});

test('a whole call beside a text is read in passing, so that its reason and its id are mended', () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    JSON.stringify({ id: 'c1', choices: [{ index: 0, delta, finish_reason }] });
  const reader = readInPassing();
  const step = (data: string) => reader.step({ event: '', data }).data;
  step(chunk({ role: 'assistant', content: 'Let me look.' }));
  const call = { index: 0, id: '', type: 'function', function: { name: 'look', arguments: '{}' } };
  assert.match(step(chunk({ content: ' Now.', tool_calls: [call] })) ?? '', /"id":"call_c1/);
  assert.match(step(chunk({}, 'stop')) ?? '', /"finish_reason":"tool_calls"/);
});
