import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { createSseReader, createSseSplitter, type SseEvent } from './sse-reader.ts';

const eventBytesMax = 1024;

function readAll(chunks: readonly Buffer[]): SseEvent[] {
  const reader = createSseReader({ eventBytesMax });
  return chunks.flatMap((chunk) => reader.push(chunk).map(({ event, data }) => ({ event, data })));
}

/** The oracle reads text, so it gets whole text: cutting bytes is our own matter. */
function oracle(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event: event ?? '', data }) });
  parser.feed(text);
  // It waits after a last CR for an LF that may follow; a comment line tells it that none does.
  parser.feed(text.endsWith('\r') ? '\n:' : '');
  return events;
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const offsets = [0, ...[...at].map((n) => n % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return offsets.slice(1).map((end, i) => bytes.subarray(offsets[i], end));
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const value = fc.oneof(
  fc.constantFrom('', ' ', 'x', '[DONE]', '{"a":"é"}', '漢字 🙂', ':', ' two spaces'),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replaceAll(/[\r\n\ufeff]/g, '')),
);
const field = fc.oneof(
  { weight: 6, arbitrary: value.map((text) => `data: ${text}`) },
  { weight: 2, arbitrary: value.map((text) => `data:${text}`) },
  { weight: 2, arbitrary: value.map((text) => `event: ${text}`) },
  { weight: 1, arbitrary: value.map((text) => `: ${text}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('data', 'event', 'dat', 'datax: 1', 'eventual: 2', 'evenx:', 'id: 4', 'retry: 5', ':'),
  },
);
const line = fc.oneof({ weight: 3, arbitrary: field }, { weight: 1, arbitrary: fc.constant('') });
const stream = fc
  .tuple(fc.constantFrom('', '\ufeff'), fc.array(fc.tuple(line, lineEnd), { maxLength: 24 }))
  .map(([bom, lines]) => bom + lines.map(([text, end]) => text + end).join(''));

test('F13 any cut of any stream gives the events that eventsource-parser gives', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
      assert.deepEqual(readAll(cut(Buffer.from(text), cuts)), oracle(text));
    }),
    { numRuns: 3000 },
  );
});

const recorded =
  '\ufeff: hello\n\ndata: {"delta":"naïve 漢字 🙂"}\n\nevent: ping\r\ndata: 1\r\ndata: 2\r\n\r\ndata\r\rdata: [DONE]\n\n';

test('F13 every split point, one byte at a time too, gives the same events and the same bytes', () => {
  const bytes = Buffer.from(recorded);
  const whole = readAll([bytes]);
  assert.deepEqual(whole, [
    { event: '', data: '{"delta":"naïve 漢字 🙂"}' },
    { event: 'ping', data: '1\n2' },
    { event: '', data: '' },
    { event: '', data: '[DONE]' },
  ]);
  for (let at = 0; at <= bytes.length; at++) {
    assert.deepEqual(readAll([bytes.subarray(0, at), bytes.subarray(at)]), whole, `cut at ${at}`);
  }
  assert.deepEqual(readAll([...bytes].map((byte) => Buffer.of(byte))), whole);
});

test('an error that a server of llama.cpp names as a field is the data of an event', () => {
  const events = readAll([Buffer.from('data: 1\n\nerror: {"code":400}\n\ndata: [DONE]\n\n')]);
  assert.deepEqual(
    events.map(({ data }) => data),
    ['1', '{"error":{"code":400}}', '[DONE]'],
  );
});

test('what the splitter gives to forward reads as the same events, whichever of them are hidden', () => {
  fc.assert(
    fc.property(
      stream,
      fc.array(fc.nat(), { maxLength: 8 }),
      fc.array(fc.boolean(), { minLength: 1 }),
      (text, cuts, hide) => {
        const splitter = createSseSplitter({ eventBytesMax });
        const kept: SseEvent[] = [];
        const forwarded: Buffer[] = [];
        let seen = 0;
        for (const chunk of cut(Buffer.from(text), cuts)) {
          for (const { event, data, start, end } of splitter.push(chunk)) {
            if (hide[seen++ % hide.length]) continue;
            kept.push({ event, data });
            forwarded.push(splitter.bytes.subarray(start, end));
          }
        }
        assert.deepEqual(readAll([Buffer.concat(forwarded)]), kept);
      },
    ),
    { numRuns: 1000 },
  );
});

test('F13 cut at any byte, lines that end in CRLF are forwarded as they came: SDKs look for the whole blank line', () => {
  const bytes = Buffer.from('data: 1\r\n\r\nevent: e\r\ndata: 2\r\n\r\ndata: 3\r\rdata: 4\n\n');
  const forward = (chunks: Buffer[]) => {
    const splitter = createSseSplitter({ eventBytesMax });
    return chunks
      .flatMap((chunk) => splitter.push(chunk).map(({ start, end }) => splitter.bytes.toString('utf8', start, end)))
      .join('');
  };
  for (let at = 0; at <= bytes.length; at++) {
    assert.equal(forward([bytes.subarray(0, at), bytes.subarray(at)]), bytes.toString(), `cut at ${at}`);
  }
  assert.equal(forward([...bytes].map((byte) => Buffer.of(byte))), bytes.toString());
});

test('bytes given away stay as they were while more arrives', () => {
  const splitter = createSseSplitter({ eventBytesMax });
  splitter.push(Buffer.from('data: fir'));
  const [first] = splitter.push(Buffer.from('st\n\ndata: sec'));
  const kept = splitter.bytes.subarray(first?.start, first?.end);
  for (const byte of Buffer.from('ond and a tail that overwrites whatever is shared\n\ndata: x')) {
    splitter.push(Buffer.of(byte));
  }
  assert.equal(kept.toString(), 'data: first\n\n');
});

test('several whole events in one chunk are one slice of that very chunk', () => {
  const splitter = createSseSplitter({ eventBytesMax });
  const chunk = Buffer.from('data: 1\n\ndata: 2\n\n');
  const events = splitter.push(chunk);
  assert.equal(splitter.bytes, chunk);
  assert.deepEqual(
    events.map(({ start, end }) => [start, end]),
    [
      [0, 9],
      [9, 18],
    ],
  );
  assert.equal(splitter.pendingBytes, 0);
});

test('F15 an event above the limit is flagged, wherever it is cut, and nothing after it is read', () => {
  const fits = Buffer.from(`data: ${'x'.repeat(eventBytesMax - 8)}\n\n`);
  const over = Buffer.from(`data: ${'x'.repeat(eventBytesMax - 7)}\n\n`);
  assert.equal(fits.length, eventBytesMax);
  for (const step of [1, 7, 1000, 5000]) {
    const reader = createSseReader({ eventBytesMax });
    const events = [];
    const bytes = Buffer.concat([fits, over, fits]);
    for (let at = 0; at < bytes.length; at += step) events.push(...reader.push(bytes.subarray(at, at + step)));
    assert.equal(events.length, 1, `step ${step}`);
    assert.equal(reader.tooLarge, true);
    assert.equal(reader.pendingBytes, 0);
    assert.deepEqual(reader.end(), []);
  }
});

test('F15 a line without end is cut at the limit, not held', () => {
  const reader = createSseReader({ eventBytesMax });
  for (let i = 0; i < 100 && !reader.tooLarge; i++) {
    reader.push(Buffer.alloc(100, 'x'));
    assert.ok(reader.pendingBytes <= eventBytesMax);
  }
  assert.equal(reader.tooLarge, true);
});

test('comments alone never add up to a large event', () => {
  const reader = createSseReader({ eventBytesMax });
  for (let i = 0; i < 1000; i++) reader.push(Buffer.from(': still working\n\n'));
  assert.equal(reader.tooLarge, false);
  assert.equal(reader.pendingBytes, 0);
});

test('a last event that lacks its blank line, or its line end, is given at the end of the bytes', () => {
  for (const tail of ['', '\n', '\r\n', '\r']) {
    const splitter = createSseSplitter({ eventBytesMax });
    splitter.push(Buffer.from(`data: 1\n\nevent: e\ndata: [DONE]${tail}`));
    const [last, ...more] = splitter.end();
    assert.deepEqual(more, []);
    assert.equal(last?.data, '[DONE]');
    assert.equal(last?.event, 'e');
    assert.deepEqual(readAll([splitter.bytes.subarray(last?.start, last?.end)]), [{ event: 'e', data: '[DONE]' }]);
    assert.deepEqual(splitter.end(), []);
  }
});

test('the end of the bytes after a whole event gives nothing more', () => {
  const reader = createSseReader({ eventBytesMax });
  reader.push(Buffer.from('data: 1\n\n: bye\n'));
  assert.deepEqual(reader.end(), []);
});
