import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { ApiError, GenerateVideosOperation, GoogleGenAI } from '@google/genai';
import { otherKey, startGateway } from '../start-gateway.ts';
import { clip, startVideos } from '../upstream-formats/start-videos.ts';

/*
 * Videos by Google's own SDK over OpenAI, Gemini and Vertex: operations and `files.download`. The call that begins
 * one is that of the SDK's versions before 3, which left it out for this API.
 */

const t = { after: after as TestContext['after'] };
const upstream = await startVideos(t);
const models = { film: 'sora/sora-2', veo: 'veo/veo-3.1', vertex: 'vertex/veo-3.1-fast' };
const gateway = await startGateway(t, {
  providers: {
    sora: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'key-a' },
    veo: { type: 'gemini', base_url: upstream.url, api_key: 'key-of-google' },
    vertex: { type: 'vertex', base_url: upstream.url, api_key: 'key-of-vertex', project: 'p1', region: 'global' },
    claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' },
  },
  models: {
    ...Object.fromEntries(Object.entries(models).map(([id, target]) => [id, { type: 'video', targets: [target] }])),
    talk: { targets: ['claude/claude-x'] },
  },
});
const folder = await mkdtemp(join(tmpdir(), 'videos-'));
after(() => rm(folder, { recursive: true }));
const options = { httpOptions: { baseUrl: gateway.url } };
const google = new GoogleGenAI({ apiKey: gateway.key, ...options });
const beta = new GoogleGenAI({ apiKey: gateway.key, apiVersion: 'v1beta', ...options });
const stranger = new GoogleGenAI({ apiKey: otherKey, ...options });
const hasStatus = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};
async function begin(model: string, instance: object, parameters: object = {}): Promise<GenerateVideosOperation> {
  const response = await gateway.fetch(`/v1beta/models/${model}:predictLongRunning`, {
    json: { instances: [instance], parameters },
  });
  assert.equal(response.status, 200, await response.clone().text());
  return Object.assign(new GenerateVideosOperation(), await response.json());
}
const sent = () => upstream.requests.findLast(({ method }) => method === 'POST')!.body;

for (const model of Object.keys(models)) {
  for (const client of [google, beta]) {
    test(`${model}: a video is begun, waited for and downloaded (${client === google ? 'v1' : 'v1beta'})`, async () => {
      const parameters = { aspectRatio: '9:16', resolution: '1080p', durationSeconds: 8 };
      let operation = await begin(model, { prompt: 'A cat' }, parameters);
      assert.ok(operation.name!.startsWith(`models/${model}/operations/`));
      assert.match(sent(), /A cat/);
      assert.match(sent(), model === 'film' ? /"1080x1920"/ : /"9:16".*"1080p"/);
      operation = await client.operations.getVideosOperation({ operation });
      assert.equal(operation.done, false);
      await assert.rejects(stranger.operations.getVideosOperation({ operation }), hasStatus(404, /NOT_FOUND/));
      upstream.finish();
      operation = await client.operations.getVideosOperation({ operation });
      assert.equal(operation.done, true);
      const [generated] = operation.response!.generatedVideos!;
      assert.equal(generated!.video!.mimeType, 'video/mp4');
      const downloadPath = join(folder, `${model}-${client === google}`);
      await client.files.download({ file: generated!, downloadPath });
      assert.deepEqual(await readFile(downloadPath), clip);
      // By its address, as people do with curl, and as a file.
      const { pathname, search } = new URL(generated!.video!.uri!);
      const response = await gateway.fetch(pathname + search);
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), clip);
      const name = `files/${/\/files\/([a-z0-9]+)/.exec(pathname)![1]}`;
      const file = await client.files.get({ name });
      assert.deepEqual([file.name, file.state, file.mimeType], [name, 'ACTIVE', 'video/mp4']);
      await assert.rejects(stranger.files.get({ name }), hasStatus(404, /NOT_FOUND/));
    });
  }
}

test('a picture begins a video, and Veo gets its own parameters', async () => {
  const bytesBase64Encoded = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64');
  const image = { bytesBase64Encoded, mimeType: 'image/png' };
  await begin('veo', { prompt: 'A cat', image }, { negativePrompt: 'dogs' });
  assert.match(sent(), /iVBORw0KGg/);
  assert.match(sent(), /"negativePrompt":"dogs"/);
  const response = await gateway.fetch('/v1beta/models/film:predictLongRunning', {
    json: { instances: [{ prompt: 'A cat', lastFrame: {} }], parameters: { negativePrompt: 'dogs' } },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-dropped'), 'instances.lastFrame, parameters.negativePrompt');
  assert.doesNotMatch(sent(), /dogs/);
});

test('a video that fails ends its operation with the reason', async () => {
  let operation = await begin('film', { prompt: 'A cat' });
  upstream.failAll();
  operation = await google.operations.getVideosOperation({ operation });
  assert.equal(operation.done, true);
  assert.equal(operation.error!.message, 'no');
});

test('bad requests for videos are 400 or 404, naming the field', async () => {
  const instances = [{ prompt: 'x' }];
  for (const [path, json, status, field] of [
    ['veo', {}, 400, /instances/],
    ['veo', { instances: [{ prompt: 5 }] }, 400, /instances/],
    ['veo', { instances: [{ prompt: 'x', image: 'y' }] }, 400, /instances\[0\]\.image/],
    ['veo', { instances, parameters: { aspectRatio: '1:1' } }, 400, /parameters\.aspectRatio/],
    ['veo', { instances, parameters: { durationSeconds: 'x' } }, 400, /parameters\.durationSeconds/],
    ['veo', { instances, parameters: { sampleCount: 2 } }, 400, /parameters\.sampleCount/],
    ['veo', { instances, parameters: { storageUri: 'gs://b/c' } }, 400, /parameters\.storageUri/],
    ['veo', { instances, parameters: { sample_count: 2 } }, 400, /sample_count/],
    ['talk', { instances }, 400, /talk/],
    ['nope', { instances }, 404, /nope/],
  ] as const) {
    const response = await gateway.fetch(`/v1beta/models/${path}:predictLongRunning`, { json });
    const text = await response.text();
    assert.equal(response.status, status, `${JSON.stringify(json)} ${text}`);
    assert.match(text, field);
  }
  const made_up = await gateway.fetch(`/v1beta/files/video${Buffer.from('video_9').toString('hex')}:download`);
  assert.equal(made_up.status, 404);
});
