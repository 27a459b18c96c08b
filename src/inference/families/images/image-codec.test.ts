import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { createImageCodec, type PictureForm, readImages } from './image-codec.ts';

const codec = createImageCodec();
after(() => codec.close());

/** A JPEG as far as anybody looks: its start, its end, and `bytes` between. */
const jpegOf = (bytes: number) =>
  Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(bytes, 1), Buffer.from('ffd9', 'hex')]);
const answerOf = (...pictures: Buffer[]) =>
  Buffer.from(JSON.stringify({ data: pictures.map((one) => ({ b64_json: one.toString('base64') })) }));

test('a large answer is read in a thread to the same as here, in either form', async () => {
  const pictures = [jpegOf(offLoopBodyBytes), jpegOf(10)];
  for (const form of ['bytes', 'base64'] as const satisfies readonly PictureForm[]) {
    const read = await codec.read('a', answerOf(...pictures), 'openai', form);
    assert.deepEqual(read, readImages(answerOf(...pictures), 'openai', form));
    assert.ok(!('class' in read));
    const [first] = read.images;
    assert.ok(first !== undefined && 'content' in first);
    const text = Buffer.from(first.content);
    assert.ok((form === 'bytes' ? text : Buffer.from(text.toString(), 'base64')).equals(pictures[0]!));
  }
});

test('what a large answer is worth is said as of a small one', async () => {
  const large = await codec.read('a', answerOf(Buffer.alloc(offLoopBodyBytes, 65)), 'openai', 'bytes');
  const small = await codec.read('a', answerOf(Buffer.alloc(100, 65)), 'openai', 'bytes');
  assert.ok('class' in large && large.class === 'malformed');
  assert.deepEqual(large, small);
});

test('a JPEG or WebP that was cut is none', () => {
  const cut = readImages(answerOf(jpegOf(100).subarray(0, -2)), 'openai', 'bytes');
  assert.ok('class' in cut);
  const webp = Buffer.from('RIFF\x64\0\0\0WEBPVP8L', 'latin1');
  assert.ok('class' in readImages(answerOf(webp), 'openai', 'bytes'));
});
