import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { spooledIn } from '../spooled.ts';
import { type Drawing, type Drawn, imageWorld, inBase64, jpeg, png, startDrawing } from './image-world.ts';
import type { ErrorBody } from './served.ts';

const editsPath = '/v1/images/edits';
const [first, second] = await Promise.all([startDrawing(inBase64), startDrawing(inBase64)]);
after(() => Promise.all([first.close(), second.close()]));

const { gateway, record } = await imageWorld(
  { after: after as TestContext['after'] },
  {
    server: { upload_limit: '5mb' },
    providers: {
      one: { type: 'openai', base_url: `${first.url}/v1`, api_key: 'upstream-secret' },
      two: { type: 'openai', base_url: `${second.url}/v1`, api_key: 'upstream-secret' },
      google: { type: 'gemini', base_url: `${first.url}/v1beta`, api_key: 'upstream-secret' },
      flux: { type: 'together', base_url: `${first.url}/v1`, api_key: 'upstream-secret' },
    },
    models: {
      pic: { type: 'image', targets: ['one/pic-1', { provider: 'two', model: 'pic-2', priority: 2 }] },
      banana: { type: 'image', targets: ['google/gemini-2.5-flash-image'] },
      flux: { type: 'image', targets: ['flux/flux-1'] },
    },
  },
);

function clear(): void {
  for (const upstream of [first, second]) {
    upstream.calls.length = 0;
    upstream.script.length = 0;
  }
}

/** The answer may be read before the last file is removed. */
async function nothingLeft(): Promise<void> {
  const left = () => spooledIn(gateway.dataDir);
  for (let looks = 0; looks < 2_000 && left().length > 0; looks++) await pause(5);
  assert.deepEqual(left(), []);
}

type Part = readonly [name: string, value: string | Buffer];

/** `Buffer`s are files, named as what they are not. */
function edit(parts: readonly Part[], headers: Record<string, string> = {}, path = editsPath): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([new Uint8Array(value)]), 'song.mp3');
  }
  return gateway.fetch(path, { method: 'POST', body: form, headers });
}

/** The form that an upstream got, by any reader's understanding. */
async function formOf({ headers, raw }: { headers: Record<string, unknown>; raw: Buffer }): Promise<FormData> {
  const type = { 'content-type': String(headers['content-type']) };
  return new Response(new Uint8Array(raw), { headers: type }).formData();
}

async function fileIn(form: FormData, name: string, at = 0): Promise<{ bytes: Buffer; type: string; name: string }> {
  const file = form.getAll(name)[at] as File;
  return { bytes: Buffer.from(await file.arrayBuffer()), type: file.type, name: file.name };
}

test('design §6: a picture, its mask and its markup reach the upstream as they are, with all fields', async () => {
  clear();
  const picture = png(1, randomBytes(300_000));
  const response = await edit([
    ['model', 'pic'],
    ['image', picture],
    ['prompt', 'Put a hat on "it"\r\n'],
    ['mask', png(2)],
    ['markup', png(3)],
    ['size', '512x512'],
    ['n', '2'],
    ['response_format', 'b64_json'],
    ['user', 'user-7'],
  ]);
  const answer = (await response.json()) as Drawn;
  assert.equal(response.status, 200, JSON.stringify(answer));
  // The upstream draws one: the other is requested again, with the whole form.
  assert.equal(answer.data.length, 2);
  assert.equal(first.calls.length, 2);
  for (const call of first.calls) {
    assert.equal(call.path, editsPath);
    const form = await formOf(call);
    assert.deepEqual(await fileIn(form, 'image'), { bytes: picture, type: 'image/png', name: 'image-0.png' });
    assert.deepEqual((await fileIn(form, 'mask')).bytes, png(2));
    assert.deepEqual((await fileIn(form, 'markup')).bytes, png(3));
    assert.equal(form.get('prompt'), 'Put a hat on "it"\r\n');
    assert.deepEqual([form.get('model'), form.get('size')], ['pic-1', '512x512']);
    assert.equal(call.headers['content-length'], String(call.raw.length));
  }
  const { units, usage } = await record(response);
  assert.deepEqual([units, usage.images], [2, 2]);
});

test('ids of files at the provider are refused in a form, as in JSON', async () => {
  clear();
  for (const field of ['file_id', 'images[0][file_id]']) {
    const named = await edit([
      ['model', 'pic'],
      ['image', png(1)],
      ['prompt', 'x'],
      [field, 'file-of-another'],
    ]);
    assert.equal(named.status, 404, field);
    assert.match(await named.text(), /file_id' names was not found/);
  }
  assert.equal(first.calls.length, 0);
});

test('a variation is an edit that says so, of one picture and without words of the caller', async () => {
  clear();
  const vary = (...parts: Part[]) => edit([['model', 'pic'], ...parts], {}, '/v1/images/variations');
  const picture = png(1, randomBytes(1_000));
  const response = await vary(['image', picture], ['size', '512x512'], ['response_format', 'b64_json']);
  const answer = (await response.json()) as Drawn;
  assert.equal(response.status, 200, JSON.stringify(answer));
  const [call] = first.calls;
  assert.equal(call!.path, editsPath);
  const form = await formOf(call!);
  assert.deepEqual((await fileIn(form, 'image')).bytes, picture);
  assert.match(String(form.get('prompt')), /a variation of this picture/);
  for (const [name, value] of [
    ['prompt', 'With a hat'],
    ['image', png(2)],
  ] as const) {
    const refused = await vary(['image', picture], [name, value]);
    const { error } = (await refused.json()) as ErrorBody;
    assert.equal(refused.status, 400);
    assert.match(error.message, name === 'prompt' ? /has no 'prompt'/ : /more than 1 file/);
  }
  await nothingLeft();
});

test('design §6: several pictures are a list, in their order', async () => {
  clear();
  const response = await edit([
    ['model', 'pic'],
    ['prompt', 'Join them'],
    ['image[]', png(1)],
    ['image[]', jpeg],
    ['mask[]', png(2)],
  ]);
  assert.equal(response.status, 200);
  await response.arrayBuffer();
  const form = await formOf(first.calls[0]!);
  assert.deepEqual((await fileIn(form, 'mask')).bytes, png(2));
  assert.deepEqual((await fileIn(form, 'image[]', 0)).bytes, png(1));
  assert.deepEqual(await fileIn(form, 'image[]', 1), { bytes: jpeg, type: 'image/jpeg', name: 'image-1.jpg' });
});

test('design §6: the next target gets the whole form again, and nothing stays on disk', async () => {
  clear();
  const failing: Drawing = { status: 503, json: { error: { message: 'busy' } } };
  first.script.push(failing);
  const picture = png(1, randomBytes(200_000));
  const response = await edit([
    ['model', 'pic'],
    ['prompt', 'x'],
    ['image', picture],
  ]);
  assert.equal(response.headers.get('x-culvert-provider'), 'two');
  await response.arrayBuffer();
  assert.deepEqual((await fileIn(await formOf(second.calls[0]!), 'image')).bytes, picture);
  await nothingLeft();
});

test('design §6: Google’s models get pictures inside their JSON', async () => {
  clear();
  const drawn = { inlineData: { mimeType: 'image/png', data: png(5).toString('base64') } };
  first.script.push({ json: { candidates: [{ content: { parts: [drawn] } }] } });
  const pictures = [png(1, randomBytes(100_000)), jpeg];
  const response = await edit([
    ['model', 'banana'],
    ['prompt', 'Join them'],
    ['response_format', 'b64_json'],
    ...pictures.map((picture): Part => ['image', picture]),
  ]);
  const { data } = (await response.json()) as Drawn;
  assert.equal(data[0]!.b64_json, png(5).toString('base64'));
  assert.deepEqual(first.calls[0]!.body.contents, [
    {
      role: 'user',
      parts: [
        { inlineData: { mimeType: 'image/png', data: pictures[0]!.toString('base64') } },
        { inlineData: { mimeType: 'image/jpeg', data: jpeg.toString('base64') } },
        { text: 'Join them' },
      ],
    },
  ]);
});

const model: Part = ['model', 'pic'];
const prompt: Part = ['prompt', 'x'];
const image: Part = ['image', png()];
for (const [what, parts, param] of [
  ['no model', [prompt, image], 'model'],
  ['no prompt', [model, image], 'prompt'],
  ['no picture', [model, prompt], 'image'],
  ['a picture as a plain field', [model, prompt, ['image', 'data:image/png;base64,AAAA']], 'image'],
  ['a picture of 0 bytes', [model, prompt, ['image', Buffer.alloc(0)]], 'image'],
  ['a text for a picture', [model, prompt, ['image', Buffer.from('hello, I am a picture')]], 'image'],
  ['a GIF', [model, prompt, ['image', Buffer.from('GIF89a-and-more')]], 'image'],
  ['a text for a mask', [model, prompt, image, ['mask', Buffer.from('no')]], 'mask'],
  ['two masks', [model, prompt, image, ['mask', png()], ['mask', png()]], 'mask'],
  ['two markups', [model, prompt, image, ['markup', png()], ['markup', png()]], 'markup'],
  ['a file of another name', [model, prompt, image, ['photo', png()]], 'photo'],
  ['a file of a long name', [model, prompt, image, ['p'.repeat(90), png()]], 'p'.repeat(80)],
  ['two prompts', [model, prompt, prompt, image], 'prompt'],
  ['n that is no number', [model, prompt, image, ['n', 'two']], 'n'],
  ['a stream of links', [model, prompt, image, ['stream', 'true'], ['response_format', 'url']], 'response_format'],
  ['17 pictures', [model, prompt, ...Array.from({ length: 17 }, () => image)], 'image'],
  ['a mask for who takes none', [['model', 'banana'], prompt, image, ['mask', png()]], 'mask'],
  ['markup for who takes none', [['model', 'banana'], prompt, image, ['markup', png()]], 'markup'],
  ['4 pictures for who takes 3', [['model', 'banana'], prompt, image, image, image, image], 'image'],
  ['a model that changes no pictures', [['model', 'flux'], prompt, image], 'model'],
] as const satisfies readonly (readonly [string, readonly Part[], string])[]) {
  test(`design §6: an edit with ${what} is a 400 that names ${param}, asks nobody and leaves no file`, async () => {
    clear();
    const response = await edit(parts);
    const { error } = (await response.json()) as ErrorBody;
    assert.deepEqual([response.status, error.param], [400, param], error.message);
    assert.equal(first.calls.length + second.calls.length, 0);
    await nothingLeft();
  });
}

test('design §6: a form above the limit is a 413, text instead of a form a 415', async () => {
  const large = await edit([model, prompt, ['image', png(0, randomBytes(6 * 1024 * 1024))]]);
  assert.equal(large.status, 413);
  await large.arrayBuffer();
  const json = await gateway.fetch(editsPath, { method: 'POST', body: 'prompt=x' });
  assert.equal(json.status, 415);
  await json.arrayBuffer();
});

test('an Idempotency-Key changes a picture once, and is refused for another picture', async () => {
  clear();
  const headers = { 'idempotency-key': 'edit-once' };
  const [one, again] = [await edit([model, prompt, image], headers), await edit([model, prompt, image], headers)];
  assert.deepEqual(await one.json(), await again.json());
  assert.equal(first.calls.length + second.calls.length, 1);
  assert.equal((await edit([model, prompt, ['image', png(9)]], headers)).status, 409);
});

test('the openai SDK changes pictures, one or several', async () => {
  clear();
  const client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` });
  const file = () => toFile(png(1), 'a.png', { type: 'image/png' });
  const one = await client.images.edit({ model: 'pic', prompt: 'A hat', image: await file(), mask: await file() });
  assert.equal((await fetch(one.data![0]!.url!)).status, 200);
  const several = await client.images.edit({
    model: 'pic',
    prompt: 'A hat',
    image: [await file(), await file()],
    n: 1,
  });
  assert.equal(several.data!.length, 1);
});
