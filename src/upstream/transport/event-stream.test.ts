import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../../../test/upstream-formats/start-aws.ts';
import { createEventStreamSplitter } from './event-stream.ts';

const splitter = () => createEventStreamSplitter({}, () => assert.fail('no parts came'));
const frameOf = (text: string) =>
  Buffer.from(
    messageOf(
      { ':event-type': 'contentBlockDelta', ':message-type': 'event' },
      Buffer.from(JSON.stringify({ delta: { text } })),
    ),
  );

test('a large frame in short chunks costs a few copies of it, and the frames after it are whole', (t) => {
  const frame = Buffer.concat([frameOf('a'.repeat(500_000)), frameOf('b'), frameOf('c'.repeat(3_000))]);
  const { concat } = Buffer;
  const { copy } = Buffer.prototype;
  let copiedBytes = 0;
  t.mock.method(Buffer, 'concat', (list: Buffer[]) => {
    const joined = concat(list);
    copiedBytes += joined.length;
    return joined;
  });
  t.mock.method(Buffer.prototype, 'copy', function (this: Buffer, ...args: Parameters<typeof copy>) {
    const bytes = copy.apply(this, args);
    copiedBytes += bytes;
    return bytes;
  });
  const split = splitter();
  const texts: string[] = [];
  for (let at = 0; at < frame.length; at += 100) {
    for (const { data } of split.push(frame.subarray(at, at + 100))) texts.push(JSON.parse(data).delta.text);
  }
  assert.deepEqual(texts, ['a'.repeat(500_000), 'b', 'c'.repeat(3_000)]);
  assert.ok(copiedBytes <= 5 * frame.length, `${copiedBytes} bytes were copied for ${frame.length}`);
});
