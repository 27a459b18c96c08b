import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { drawnTypeOf } from './picture-type.ts';
import { readEditForm } from './read-edit-form.ts';
import { readImageRequest } from './read-request.ts';

const body = (more: JsonObject) => ({ model: 'm', prompt: 'An otter', ...more });
const fieldOf = (read: object) => ('kind' in read ? ((read as { param?: string }).param ?? 'no field') : null);

for (const [more, field] of [
  [{ prompt: '' }, 'prompt'],
  [{ prompt: 'x'.repeat(32_001) }, 'prompt'],
  [{ n: 0 }, 'n'],
  [{ n: 11 }, 'n'],
  [{ size: '15x1024' }, 'size'],
  [{ size: '1024x8193' }, 'size'],
  [{ size: '1024X1024' }, 'size'],
  [{ size: 1024 }, 'size'],
  [{ output_compression: 101 }, 'output_compression'],
  [{ partial_images: 4 }, 'partial_images'],
  [{ stream: true, response_format: 'url' }, 'response_format'],
  [{ background: 'transparent', output_format: 'jpeg' }, 'background'],
  [{ prompt: 'x'.repeat(32_000), n: 10, output_compression: 0, partial_images: 3 }, null],
  [{ size: '16x8192', output_compression: 100, stream: true, response_format: 'b64_json' }, null],
  [{ size: null, n: 1, background: 'transparent', output_format: 'png' }, null],
  [{ size: 'auto', background: 'opaque', output_format: 'jpeg', stream: false, response_format: 'url' }, null],
] as const satisfies [JsonObject, string | null][]) {
  test(`a request for pictures with ${JSON.stringify(more).slice(0, 70)} is ${field === null ? 'taken' : 'refused'}`, () => {
    assert.equal(fieldOf(readImageRequest(body(more))), field);
  });
}

test('pictures come as links, unless the caller, the stream or the name of OpenAI’s models wants them inside', () => {
  const formOf = (more: JsonObject) => {
    const read = readImageRequest(body(more));
    assert.ok('answerForm' in read);
    return read.answerForm;
  };
  for (const more of [
    {},
    { response_format: 'url' },
    { model: 'my-gpt-image' },
    { model: 'gpt-image-1', response_format: 'url' },
  ])
    assert.equal(formOf(more), 'url', JSON.stringify(more));
  for (const more of [
    { response_format: 'b64_json' },
    { response_format: 'base64' },
    { stream: true },
    { model: 'gpt-image-1' },
    { model: 'openai/chatgpt-image-latest' },
  ])
    assert.equal(formOf(more), 'b64_json', JSON.stringify(more));
});

test('what is left out of a request is left open, and what nobody here knows goes on', () => {
  const read = readImageRequest(body({ seed: 7, size: '512x256', stream: true, user: 'u' }));
  assert.ok('extra' in read);
  assert.deepEqual(
    [read.n, read.size, read.stream, read.extra, read.user, read.quality],
    [1, { width: 512, height: 256 }, { partialImages: 0 }, { seed: 7 }, 'u', null],
  );
});

test('fields of a form are the members of a body, once each, without those that are empty', () => {
  const form = (fields: Record<string, string> | [string, string][]) =>
    readEditForm((Array.isArray(fields) ? fields : Object.entries(fields)).map(([name, value]) => ({ name, value })));
  const read = form({ model: 'm', prompt: 'P', n: '2', stream: 'TRUE', partial_images: '1', quality: '', seed: '7' });
  assert.ok('extra' in read, JSON.stringify(read));
  assert.deepEqual([read.n, read.stream, read.quality, read.extra], [2, { partialImages: 1 }, null, { seed: '7' }]);
  for (const stream of ['False', 'false', '']) {
    const whole = form({ model: 'm', prompt: 'P', stream });
    assert.ok('stream' in whole && whole.stream === null, stream);
  }
  const twice = form([
    ['model', 'm'],
    ['prompt', 'P'],
    ['prompt', 'Q'],
  ]);
  assert.deepEqual(
    [fieldOf(twice), 'message' in twice && twice.message],
    ['prompt', "The form has 'prompt' twice. Send it once."],
  );
  for (const name of ['image', 'image[]', 'mask'])
    assert.equal(fieldOf(form({ model: 'm', prompt: 'P', [name]: 'x' })), name);
  assert.equal(fieldOf(form({ model: 'm', prompt: 'P', n: 'two' })), 'n');
  assert.equal(fieldOf(form({ model: 'm', prompt: 'P', stream: 'yes' })), 'stream');
});

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from('0000000049454e44ae426082', 'hex')]);
const webp = (declared: number) => Buffer.from(`RIFF${String.fromCharCode(declared)}\0\0\0WEBPVP8 `, 'latin1');
const svg = '<svg xmlns="http://www.w3.org/2000/svg"></svg>';

for (const [what, bytes, type] of [
  ['a PNG', png, 'image/png'],
  ['a PNG with 52 bytes behind it', Buffer.concat([png, Buffer.alloc(52)]), 'image/png'],
  ['a cut PNG', png.subarray(0, -1), null],
  ['a JPEG with bytes behind it', Buffer.from('\xff\xd8\xff\xe0\xff\xd9tail', 'latin1'), 'image/jpeg'],
  ['a cut JPEG', Buffer.from('\xff\xd8\xff\xe0', 'latin1'), null],
  ['a WebP', webp(8), 'image/webp'],
  ['a cut WebP', webp(9), null],
  ['a GIF', Buffer.from('GIF89a...;', 'latin1'), 'image/gif'],
  ['a GIF with zeros behind it', Buffer.from('GIF87a...;\0\0', 'latin1'), 'image/gif'],
  ['a cut GIF', Buffer.from('GIF89a...', 'latin1'), null],
  ['an SVG', Buffer.from(svg), 'image/svg+xml'],
  ['an SVG behind markup', Buffer.from(`\uFEFF <?xml?>\n<!-- a > b --><!DOCTYPE svg>${svg} \n`), 'image/svg+xml'],
  ['an SVG behind a comment without an end', Buffer.from(`<!-- ${svg}`), null],
  ['a cut SVG', Buffer.from('<svg><g></g>'), null],
  ['another element', Buffer.from('<svgx></svg>'), null],
  ['a page', Buffer.from(`<html>${svg}</html>`), null],
  ['nothing', Buffer.alloc(0), null],
] as const) {
  test(`by its bytes ${what} is ${type ?? 'no whole picture'}`, () => assert.equal(drawnTypeOf(bytes), type));
}

test("Together's clients write a size as two numbers; beside a size they are members of a provider", () => {
  const sides = { width: 768, height: 512 };
  const read = readImageRequest(body(sides));
  assert.ok(!isFailure(read));
  assert.deepEqual([read.size, read.extra], [sides, {}]);
  const sized = readImageRequest(body({ size: '64x64', ...sides }));
  assert.ok(!isFailure(sized));
  assert.deepEqual([sized.size, sized.extra], [{ width: 64, height: 64 }, sides]);
  assert.equal(fieldOf(readImageRequest(body({ width: 1, height: 512 }))), 'size');
});
