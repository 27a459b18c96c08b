import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { listening } from '../listening.ts';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';

/* OpenAI's JSON body of /v1/images/edits: pictures by URL, as data and by the id of an uploaded file. */

const t = { after: after as TestContext['after'] };
const base64 = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const png = Buffer.from(base64, 'base64');
const forms: FormData[] = [];
const url = await listening(
  t,
  createServer(async (request, response) => {
    if (request.url === '/a.png') return response.end(png);
    if (request.method !== 'POST') return response.writeHead(404).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = { 'content-type': request.headers['content-type']! };
    forms.push(await new Response(Buffer.concat(chunks), { headers }).formData());
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ created: 1, data: [{ b64_json: base64 }] }));
  }),
);
const gateway = await startGateway(t, {
  providers: { draws: { type: 'openai', base_url: `${url}/v1`, api_key: 'k' } },
  models: {
    draw: { type: 'image', targets: ['draws/gpt-image-1'] },
    flux: { type: 'image', targets: ['draws/gpt-image-1'] },
  },
  fetch: { allow_private: [new URL(url).host] },
});
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
const edit = (json: object) => gateway.fetch('/v1/images/edits', { json: { model: 'draw', prompt: 'Bluer', ...json } });
const data = { image_url: `data:image/png;base64,${base64}` };

test('pictures as data, by URL and by file id reach the provider as files, with the fields beside them', async () => {
  const { id: file_id } = await client.files.create({ file: await toFile(png, 'a.png'), purpose: 'vision' });
  const images = [data, { image_url: `${url}/a.png` }, { file_id }];
  const response = await edit({ images, mask: { file_id }, n: 1, quality: 'high', response_format: 'b64_json' });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.equal((JSON.parse(text) as { data: { b64_json: string }[] }).data[0]!.b64_json, base64);
  const form = forms.at(-1)!;
  const files = [...form.entries()].filter(([, value]) => typeof value !== 'string') as [string, File][];
  assert.deepEqual(
    files.map(([name]) => name.replace('[]', '')),
    ['image', 'image', 'image', 'mask'],
  );
  for (const [, file] of files) assert.ok(Buffer.from(await file.arrayBuffer()).equals(png));
  assert.deepEqual([form.get('prompt'), form.get('quality')], ['Bluer', 'high']);
});

test("OpenAI's SDK sends a JSON body, and reads its answer", async () => {
  const body = { model: 'draw', prompt: 'Bluer', images: [data], response_format: 'b64_json' };
  const answer = await client.post<OpenAI.ImagesResponse>('/images/edits', { body });
  assert.deepEqual((answer as OpenAI.ImagesResponse).data?.[0]?.b64_json, base64);
});

test("xAI's clients name a picture by its url, and a single one as image", async () => {
  const picture = { url: data.image_url, type: 'image_url' };
  for (const [named, count] of [
    [{ image: picture }, 1],
    [{ images: [picture, picture] }, 2],
  ] as const) {
    const response = await edit({ ...named, response_format: 'b64_json' });
    assert.equal(response.status, 200, await response.text());
    assert.equal([...forms.at(-1)!.entries()].filter(([, value]) => typeof value !== 'string').length, count);
  }
});

test("the AI SDK's forms get pictures as base64, where they name no format", async () => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'flux', prompt: 'Bluer' })) form.append(name, value);
  form.append('image', new Blob([png]), 'a.png');
  const send = (agent: string) =>
    gateway.fetch('/v1/openai/images/edits', { method: 'POST', body: form, headers: { 'user-agent': agent } });
  const pictures = async (agent: string) => ((await (await send(agent)).json()) as { data: object[] }).data;
  assert.deepEqual(await pictures('ai/7.0.173 ai-sdk/provider-utils/5.0.49'), [{ b64_json: base64 }]);
  assert.deepEqual(Object.keys((await pictures('curl/8'))[0]!), ['url']);
});

test('a wrong picture is refused with its field, and no provider is asked', async () => {
  const other = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: otherKey, maxRetries: 0 });
  const { id } = await other.files.create({ file: await toFile(png, 'a.png'), purpose: 'vision' });
  const { id: text } = await client.files.create({
    file: await toFile(Buffer.from('no picture'), 'a.png'),
    purpose: 'vision',
  });
  const before = forms.length;
  for (const [json, status, param] of [
    [{}, 400, 'images'],
    [{ images: [] }, 400, 'images'],
    [{ images: Array(17).fill(data) }, 400, 'images'],
    [{ images: ['x'] }, 400, 'images[0]'],
    [{ images: [data, { ...data, file_id: id }] }, 400, 'images[1]'],
    [{ images: [{ image_url: 'file:///etc/passwd' }] }, 400, 'images[0].image_url'],
    [{ images: [{ image_url: 'http://169.254.169.254/a.png' }] }, 400, 'images[0].image_url'],
    [{ images: [{ image_url: `${url}/none.png` }] }, 400, 'images[0].image_url'],
    [{ images: [{ image_url: 'data:image/png;base64,AAAA' }] }, 400, 'images[0].image_url'],
    [{ images: [data, { file_id: text }] }, 400, 'images[1].file_id'],
    [{ images: [data], mask: { image_url: 'data:image/png;base64,' } }, 400, 'mask.image_url'],
    [{ images: [{ file_id: id }] }, 404, 'images[0].file_id'],
    [{ images: [data], mask: 7 }, 400, 'mask'],
    [{ images: [data], image: 'x' }, 400, 'image'],
    [{ images: [data], n: 99 }, 400, 'n'],
  ] as const) {
    const response = await edit(json);
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.deepEqual([response.status, error.param], [status, param], error.message);
  }
  assert.equal(forms.length, before);
});
