import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ResponseFrames } from './response-frames.ts';

test('a stream gives the same frames wherever the network cuts it', () => {
  const event = fc.tuple(fc.constantFrom('response.created', 'response.output_text.delta', ''), fc.string());
  const blank = fc.constantFrom('\n\n', '\r\n\r\n');
  const frame = fc.tuple(event, blank).map(([[type, text], end]) => {
    const name = type === '' ? '' : `event: ${type}${end.slice(0, end.length / 2)}`;
    return { type, text: `${name}data: ${JSON.stringify({ text })}${end}` };
  });
  const cuts = fc.array(fc.nat(), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), cuts, (frames, places) => {
      const bytes = Buffer.from(`${frames.map(({ text }) => text).join('')}data: half`);
      const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
      const reader = new ResponseFrames();
      const read = [...at, bytes.length].flatMap((end, i) => reader.push(bytes.subarray(at[i - 1] ?? 0, end)));
      assert.deepEqual([read, reader.rest()], [frames, 'data: half']);
    }),
  );
});
