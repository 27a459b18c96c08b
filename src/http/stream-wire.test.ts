import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { converseFrames, invokeFrames } from '../formats/dialects/bedrock-converse/event-frames.ts';
import { createSplitter } from '../upstream/transport/sse-reader.ts';
import { openWire } from './stream-wire.ts';

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString('utf8'),
  (text) => Buffer.from(text),
);

const written = Buffer.from(
  [
    'event: messageStart\ndata: {"role":"assistant"}\n\n',
    ': x-culvert-dropped: seed\n\n',
    'event: contentBlockDelta\r\ndata: {"contentBlockIndex":0,"delta":{"text":"Grüße — 你好"}}\r\n\r\n',
    'event: throttlingException\ndata: {"message":"slow"}\n\n',
  ].join(''),
);

/** The frames in these bytes, by AWS's own codec. */
function framesIn(bytes: Buffer) {
  const frames: { headers: Record<string, unknown>; body: string }[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const { headers, body } = codec.decode(bytes.subarray(at, at + bytes.readUInt32BE(at)));
    const named = Object.entries(headers).map(([name, { value }]) => [name, value]);
    frames.push({ headers: Object.fromEntries(named), body: Buffer.from(body).toString('utf8') });
  }
  return frames;
}

test("AWS's codec reads the frames, wherever the events were cut", () => {
  const whole = framesIn(Buffer.from(openWire(converseFrames)(written)));
  assert.deepEqual(
    whole.map(({ headers }) => headers[':event-type'] ?? headers[':exception-type']),
    ['messageStart', 'contentBlockDelta', 'throttlingException'],
  );
  assert.deepEqual(whole[1]!.body, '{"contentBlockIndex":0,"delta":{"text":"Grüße — 你好"}}');
  assert.equal(whole[2]!.headers[':message-type'], 'exception');
  const wire = openWire(converseFrames);
  const pieces = [...written].map((byte) => Buffer.from(wire(Buffer.from([byte]))));
  assert.deepEqual(framesIn(Buffer.concat(pieces)), whole);
});

test('our own reader of such streams gives the events back, cut at every byte', () => {
  const frames = Buffer.from(openWire(converseFrames)(written));
  const splitter = createSplitter('application/vnd.amazon.eventstream', {});
  const events = [...frames].flatMap((byte) => splitter.push(Buffer.from([byte])));
  assert.deepEqual(
    events.map(({ event }) => event),
    ['messageStart', 'contentBlockDelta', 'error'],
  );
  assert.match(events[1]!.data, /Grüße — 你好/);
});

test('an event of a vendor is a chunk in base64, and neither pings nor end marks leave', () => {
  const said = 'event: ping\ndata: {"type":"ping"}\n\nevent: a\ndata: {"type":"a"}\n\ndata: [DONE]\n\n';
  const frames = framesIn(Buffer.from(openWire(invokeFrames)(said)));
  assert.deepEqual(
    frames.map(({ body }) => Buffer.from((JSON.parse(body) as { bytes: string }).bytes, 'base64').toString()),
    ['{"type":"a"}'],
  );
});
