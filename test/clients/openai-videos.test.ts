import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI from 'openai';
import { listening } from '../listening.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { clip, startVideos } from '../upstream-formats/start-videos.ts';

/* OpenAI's SDK and its videos over OpenAI, Azure, Gemini and Vertex. */

async function world(t: TestContext, more: Record<string, unknown> = {}) {
  const upstream = await startVideos(t);
  const gateway = await startGateway(t, {
    providers: {
      sora: {
        type: 'openai',
        base_url: `${upstream.url}/v1`,
        credentials: [
          { id: 'a', api_key: 'key-a' },
          { id: 'b', api_key: 'key-b' },
        ],
      },
      veo: { type: 'gemini', base_url: upstream.url, api_key: 'key-of-google' },
      vertex: { type: 'vertex', base_url: upstream.url, api_key: 'key-of-vertex', project: 'p1', region: 'global' },
      azure: { type: 'azure-openai', base_url: upstream.url, api_key: 'key-of-azure' },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' },
    },
    models: {
      film: { type: 'video', targets: [{ provider: 'sora', model: 'sora-2', price: { video_second: 0.1 } }] },
      veo: { type: 'video', targets: [{ provider: 'veo', model: 'veo-3.1', price: { video_second: 0.4 } }] },
      vertex: { type: 'video', targets: ['vertex/veo-3.1-fast'] },
      azure: { type: 'video', targets: ['azure/my-sora'] },
      both: { type: 'video', targets: ['sora/sora-2', { provider: 'veo', model: 'veo-3.1', priority: 2 }] },
      talk: { targets: ['claude/claude-x'] },
    },
    ...more,
  });
  const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  const ledger = async (id: string) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await fetch(`${gateway.url}/admin/v1/requests/${id}`, { headers });
    return (await answer.json()) as {
      usage?: Record<string, unknown>;
      endpoint: string;
      cost_usd: number;
      units: number;
    };
  };
  return { upstream, gateway, client: clientOf(testKey), other: clientOf(otherKey), ledger };
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const status = (expected: number) => (error: unknown) => {
  assert.ok(error instanceof OpenAI.APIError, String(error));
  assert.equal(error.status, expected, error.message);
  return true;
};

test('openai: videos.create, retrieve, list, downloadContent, remix and delete', async (t) => {
  const { client, upstream } = await world(t);
  const video = await client.videos.create({ model: 'film', prompt: 'A cat', seconds: '8', size: '1280x720' });
  assert.deepEqual([video.object, video.status, video.seconds, video.size], ['video', 'queued', '8', '1280x720']);
  const [sent] = upstream.requests;
  assert.deepEqual(JSON.parse(sent!.body), { model: 'sora-2', prompt: 'A cat', seconds: '8', size: '1280x720' });
  await assert.rejects(client.videos.downloadContent(video.id), status(404));
  upstream.finish();
  assert.equal((await client.videos.retrieve(video.id)).status, 'completed');
  assert.deepEqual(await bytesOf(await client.videos.downloadContent(video.id)), clip);
  const remix = await client.videos.remix(video.id, { prompt: 'A dog' });
  assert.equal(remix.remixed_from_video_id, video.id);
  // Both live under the credential that made the first one.
  assert.equal(new Set(upstream.requests.map(({ key }) => key)).size, 1);
  const listed: string[] = [];
  for await (const one of client.videos.list({ limit: 1 })) listed.push(one.id);
  assert.deepEqual(listed, [remix.id, video.id]);
  await assert.rejects(client.videos.list({ after: 'video_made_up' }), /'after' names nothing of this list/);
  assert.deepEqual(await client.videos.delete(video.id), { id: video.id, object: 'video.deleted', deleted: true });
  await assert.rejects(client.videos.retrieve(video.id), status(404));
  // One that its provider has removed is in no list, so nobody knows what comes behind it.
  for (const key of ['key-a', 'key-b']) {
    const headers = { authorization: `Bearer ${key}` };
    await fetch(`${upstream.url}/v1/videos/${remix.id}`, { method: 'DELETE', headers });
  }
  await assert.rejects(client.videos.list({ after: remix.id }), /'after' names nothing of this list/);
});

test('openai: a picture goes along as a file of the form', async (t) => {
  const { client, upstream } = await world(t);
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
  const file = await OpenAI.toFile(png, 'cat.png', { type: 'image/png' });
  await client.videos.create({ model: 'film', prompt: 'It moves', input_reference: file });
  const { contentType, body } = upstream.requests.at(-1)!;
  assert.match(contentType, /^multipart\/form-data/);
  assert.match(body, /name="input_reference"; filename="picture\.png"\r\nContent-Type: image\/png/i);
  assert.match(body, /name="seconds"\r\n\r\n4\r\n/);
  await client.videos.create({ model: 'veo', prompt: 'It moves', input_reference: file });
  const { instances } = JSON.parse(upstream.requests.at(-1)!.body) as { instances: { image: unknown }[] };
  assert.deepEqual(instances[0]!.image, { bytesBase64Encoded: png.toString('base64'), mimeType: 'image/png' });
  const wrong = await OpenAI.toFile(Buffer.from('no picture'), 'cat.png');
  await assert.rejects(client.videos.create({ model: 'film', prompt: 'x', input_reference: wrong }), status(400));
});

test('openai: a picture by URL reaches the provider as one, and ids of files do not', async (t) => {
  const { client, gateway, upstream } = await world(t);
  const image_url = 'https://example.org/cat.png';
  await client.videos.create({ model: 'film', prompt: 'It moves', input_reference: { image_url } });
  const { body } = upstream.requests.at(-1)!;
  const wanted = { model: 'sora-2', prompt: 'It moves', seconds: '4', input_reference: { image_url } };
  assert.deepEqual(JSON.parse(body), wanted);
  const file_id = 'file-of-another-caller';
  await assert.rejects(
    client.videos.create({ model: 'film', prompt: 'x', input_reference: { file_id } }),
    (error) => status(404)(error) && /input_reference\.file_id/.test(String(error)),
  );
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
  for (const [field, expected] of [
    ['input_reference[file_id]', 404],
    ['more[0][file_id]', 404],
    ['input_reference[image_url]', 400],
    ['more[tags][]', 200],
  ] as const) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'film', prompt: 'x', [field]: image_url }))
      form.set(name, value);
    form.set('input_reference', new Blob([png], { type: 'image/png' }), 'cat.png');
    const answer = await gateway.fetch('/v1/videos', { method: 'POST', body: form });
    assert.equal(answer.status, expected, `${field} ${await answer.text()}`);
  }
  assert.match(upstream.requests.at(-1)!.body, /name="more\[tags\]\[\]"\r\n\r\nhttps/);
  assert.equal(upstream.requests.length, 2);
});

test('openai: a first picture as a data URL reaches the provider whole', async (t) => {
  const { client, upstream } = await world(t);
  const image_url = `data:image/png;base64,${Buffer.alloc(1_000_000, 1).toString('base64')}`;
  await client.videos.create({ model: 'film', prompt: 'It moves', input_reference: { image_url } });
  const { input_reference } = JSON.parse(upstream.requests.at(-1)!.body) as { input_reference: unknown };
  assert.deepEqual(input_reference, { image_url });
});

test('parameters of Veo’s cannot make more than is charged, or choose a bucket', async (t) => {
  const { gateway, upstream } = await world(t);
  for (const more of [{ durationSeconds: 8 }, { sampleCount: 4 }, { sample_count: 4 }, { storageUri: 'gs://b/c' }]) {
    const [field = ''] = Object.keys(more);
    const answer = await gateway.fetch('/v1/videos', { json: { model: 'vertex', prompt: 'x', ...more } });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), new RegExp(`"param":"${field}"`));
  }
  assert.equal(upstream.requests.length, 0);
});

for (const { model, key, begun, asked } of [
  {
    model: 'veo',
    key: 'key-of-google',
    begun: '/v1beta/models/veo-3.1:predictLongRunning',
    asked: /^\/v1beta\/models\/veo-3\.1\/operations\/video_1$/,
  },
  {
    model: 'vertex',
    key: 'key-of-vertex',
    begun: '/v1/projects/p1/locations/global/publishers/google/models/veo-3.1-fast:predictLongRunning',
    asked: /\/publishers\/google\/models\/veo-3\.1-fast:fetchPredictOperation$/,
  },
]) {
  test(`openai: a video of Google’s, over ${model}, in the same format`, async (t) => {
    const { client, upstream } = await world(t);
    const video = await client.videos.create({ model, prompt: 'A cat', seconds: '8', size: '720x1280' });
    assert.deepEqual([video.object, video.status, video.seconds], ['video', 'queued', '8']);
    const [sent] = upstream.requests;
    assert.deepEqual([sent!.path, sent!.key], [begun, key]);
    assert.deepEqual(JSON.parse(sent!.body), {
      instances: [{ prompt: 'A cat' }],
      parameters: { durationSeconds: 8, aspectRatio: '9:16', resolution: '720p' },
    });
    // The id shows nothing of the operator's place.
    assert.doesNotMatch(Buffer.from(video.id.slice(9), 'base64url').toString('latin1'), /operations|projects/);
    assert.equal((await client.videos.retrieve(video.id)).status, 'in_progress');
    assert.match(upstream.requests.at(-1)!.path, asked);
    await assert.rejects(client.videos.downloadContent(video.id), status(400));
    upstream.finish();
    const done = await client.videos.retrieve(video.id);
    assert.deepEqual([done.status, done.progress, done.size], ['completed', 100, '720x1280']);
    assert.deepEqual(await bytesOf(await client.videos.downloadContent(video.id)), clip);
    await assert.rejects(client.videos.remix(video.id, { prompt: 'x' }), status(400));
    await assert.rejects(client.videos.delete(video.id), status(400));
    await assert.rejects(client.videos.downloadContent(video.id, { variant: 'thumbnail' }), status(400));
  });
}

test('openai: a video of Azure’s, by its v1 API', async (t) => {
  const { client, upstream } = await world(t);
  await client.videos.create({ model: 'azure', prompt: 'A cat' }).catch(() => undefined);
  const { path, key } = upstream.requests[0]!;
  assert.deepEqual([path, key], ['/openai/v1/videos', 'key-of-azure']);
});

test('a link of Google’s that leads elsewhere is not followed', async (t) => {
  const { client, upstream } = await world(t);
  const { id } = await client.videos.create({ model: 'veo', prompt: 'A cat' });
  upstream.finish();
  for (const url of [
    'http://127.0.0.1:9/secret',
    'https://storage.googleapis.com.evil.example/x',
    'file:///etc/passwd',
  ]) {
    upstream.leadTo(url);
    await assert.rejects(client.videos.downloadContent(id), status(503));
  }
});

test('a failed video of Google’s says why', async (t) => {
  const { client, upstream } = await world(t);
  const video = await client.videos.create({ model: 'veo', prompt: 'A cat' });
  upstream.failAll();
  const failed = await client.videos.retrieve(video.id);
  assert.deepEqual([failed.status, failed.error], ['failed', { code: '3', message: 'no' }]);
  await assert.rejects(client.videos.downloadContent(video.id), /no content\. It failed/);
});

test('a video serves the key that began it: for others it is not there', async (t) => {
  const { client, other, upstream } = await world(t);
  for (const model of ['film', 'veo']) {
    const { id } = await client.videos.create({ model, prompt: 'A cat' });
    const before = upstream.requests.length;
    await assert.rejects(other.videos.retrieve(id), status(404));
    await assert.rejects(other.videos.delete(id), status(404));
    await assert.rejects(other.videos.downloadContent(id), status(404));
    await assert.rejects(other.videos.remix(id, { prompt: 'x' }), status(404));
    assert.equal(upstream.requests.length, before, 'nobody is asked');
  }
  const listed = await other.videos.list();
  assert.deepEqual(listed.data, []);
  assert.equal((await client.videos.list()).data.length, 1);
});

test('where only Google makes videos, a list is a 400 that says so', async (t) => {
  const upstream = await startVideos(t);
  const gateway = await startGateway(t, {
    providers: { veo: { type: 'gemini', base_url: upstream.url, api_key: 'k' } },
    models: { veo: { type: 'video', targets: ['veo/veo-3.1'] } },
    // A server that is started as a program has the simulator, which keeps a list.
    server: { processes: 1 },
  });
  const answer = await gateway.fetch('/v1/videos');
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /veo keeps no list of videos\. Keep the ids/);
});

test('a video that several providers list, since they share a key, is listed once', async (t) => {
  const upstream = await startVideos(t);
  const at = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'key-a' };
  const gateway = await startGateway(t, {
    providers: { sora: at, again: at },
    models: { film: { type: 'video', targets: ['sora/sora-2'] } },
  });
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
  const { id } = await client.videos.create({ model: 'film', prompt: 'A cat' });
  const { data } = await client.videos.list();
  assert.deepEqual(
    data.map((video) => video.id),
    [id],
  );
});

test('a provider that does not list its videos hides no others, and is named', async (t) => {
  const upstream = await startVideos(t);
  const failing = await listening(
    t,
    createServer((_, response) => void response.writeHead(500).end()),
  );
  const sora = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'key-a' };
  const film = { type: 'video', targets: ['sora/sora-2'] };
  const listOver = async (down: string) => {
    const providers = { sora, down: { type: 'openai', base_url: down, api_key: 'key-b' } };
    const gateway = await startGateway(t, { providers, models: { film } });
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
    const { id } = await client.videos.create({ model: 'film', prompt: 'A cat' });
    const list = (await client.get('/videos')) as { data: { id: string }[]; unlisted?: unknown };
    assert.deepEqual(
      list.data.map((video) => video.id),
      [id],
    );
    return list.unlisted;
  };
  const message = 'down did not list its videos: it answered 500. Retry it.';
  assert.deepEqual(await listOver(failing), [{ provider: 'down', message }]);
  assert.match(JSON.stringify(await listOver('http://127.0.0.1:9')), /down did not list its videos: it did not answer/);
  assert.equal(await listOver(`${upstream.url}/v1`), undefined);
  const alone = await startGateway(t, {
    providers: { down: { type: 'openai', base_url: failing, api_key: 'k' } },
    models: {},
    // As above, the simulator keeps a list.
    server: { processes: 1 },
  });
  const answer = await alone.fetch('/v1/videos');
  assert.equal(answer.status, 503);
  assert.match(await answer.text(), /down did not list its videos/);
});

test('a second of video is charged once, when it has begun', async (t) => {
  const { client, upstream, ledger } = await world(t, { costs: { video: 2 } });
  const { data: video, response } = await client.videos
    .create({ model: 'film', prompt: 'A cat', seconds: '12' })
    .withResponse();
  const id = response.headers.get('x-culvert-request-id')!;
  assert.equal(response.headers.get('x-culvert-cost-usd'), '1.2');
  const row = await ledger(id);
  assert.deepEqual([row.endpoint, row.cost_usd, row.units], ['video', 1.2, 24]);
  upstream.finish();
  for (let times = 0; times < 3; times += 1) await client.videos.retrieve(video.id);
  await client.videos.downloadContent(video.id);
  const { response: remixed } = await client.videos.remix(video.id, { prompt: 'x' }).withResponse();
  assert.equal(remixed.headers.get('x-culvert-cost-usd'), '1.2', 'as long as what it is made of');
  const usage = await client.get('/usage');
  assert.match(JSON.stringify(usage), /48/, 'two videos, and nothing for looking at them');
});

for (const model of ['film', 'veo']) {
  test(`a video over ${model} that fails later is given back, once: units, USD and seconds`, async (t) => {
    const plans = { default: { windows: { '5h': 10 }, rpm: 'off', budget: { month: 5 } } };
    const { client, gateway, upstream, ledger } = await world(t, { plans });
    const begin = () => client.videos.create({ model, prompt: 'A cat', seconds: '8' }).withResponse();
    const { data: video, response } = await begin();
    const id = response.headers.get('x-culvert-request-id')!;
    assert.equal((await ledger(id)).usage!.video_seconds, 8);
    await assert.rejects(client.videos.create({ model, prompt: 'A cat', seconds: '4' }), status(429));
    upstream.failAll();
    const looks = Array.from({ length: 6 }, () => client.videos.retrieve(video.id));
    for (const { status: now } of await Promise.all(looks)) assert.equal(now, 'failed');
    await client.videos.list();
    type Rows = { data: { id: string; endpoint: string; units: number; cost_usd: number; usage: object }[] };
    const rows = async () => {
      const headers = { authorization: `Bearer ${adminKey}` };
      const listed = await fetch(`${gateway.url}/admin/v1/requests?endpoint=give-back`, { headers });
      return ((await listed.json()) as Rows).data;
    };
    const [row, ...more] = await rows();
    assert.deepEqual(more, []);
    const usd = model === 'film' ? 0.8 : 3.2;
    assert.deepEqual([row!.units, row!.cost_usd], [-8, -usd]);
    assert.deepEqual((row!.usage as { video_seconds: number }).video_seconds, -8);
    // Exactly as much as it had taken: the same again passes, and nothing beside it.
    const { data: second } = await begin();
    await assert.rejects(client.videos.create({ model, prompt: 'A cat', seconds: '4' }), status(429));
    const used = (await client.get('/usage')) as { windows: Record<string, { used: number }> };
    assert.equal(used.windows['5h']!.used, 8, JSON.stringify(used));
    upstream.finish();
    assert.equal((await client.videos.retrieve(second.id)).status, 'completed');
    assert.equal((await rows()).length, 1);
  });
}

test('a failed video that is deleted before anybody looked at it is given back', async (t) => {
  const plans = { default: { windows: { '5h': 8 }, rpm: 'off' } };
  const { client, upstream } = await world(t, { plans });
  const begin = () => client.videos.create({ model: 'film', prompt: 'A cat', seconds: '8' });
  const { id } = await begin();
  upstream.failAll();
  await client.videos.delete(id);
  await begin();
});

test('limits count the seconds, and what begins nothing costs nothing', async (t) => {
  const { client, upstream } = await world(t, { plans: { default: { windows: { '5h': 10 }, rpm: 'off' } } });
  upstream.refuse(400);
  await assert.rejects(client.videos.create({ model: 'film', prompt: 'A cat', seconds: '8' }), status(400));
  await client.videos.create({ model: 'film', prompt: 'A cat', seconds: '8' });
  await assert.rejects(client.videos.create({ model: 'film', prompt: 'A cat', seconds: '4' }), status(429));
});

test('where one provider fails, the next begins the video', async (t) => {
  const { client, upstream } = await world(t);
  upstream.refuse(503, 503, 503);
  const { id } = await client.videos.create({ model: 'both', prompt: 'A cat' });
  assert.match(id, /^video_cv_/);
  assert.match(upstream.requests.at(-1)!.path, /predictLongRunning$/);
});

test('a remix passes the guards of its model, and one Idempotency-Key begins it once', async (t) => {
  const { client, upstream } = await world(t, {
    guards: { masks: { check: 'personal-data', kinds: ['email'], action: 'mask', on: ['input'] } },
    models: { film: { type: 'video', targets: ['sora/sora-2'], guards: ['masks'] } },
  });
  const { id } = await client.videos.create({ model: 'film', prompt: 'For jo.doe@example.org' });
  upstream.finish();
  const headers = { 'idempotency-key': 'once' };
  const remix = () => client.videos.remix(id, { prompt: 'A dog for jo.doe@example.org' }, { headers });
  assert.equal((await remix()).id, (await remix()).id);
  const sent = upstream.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);
  assert.equal(sent.length, 2);
  for (const body of sent) assert.ok(body.includes('<EMAIL_1>') && !body.includes('jo.doe'), body);
});

test('a provider that answers nothing any more is named, and the request may be repeated', async (t) => {
  const { client, upstream } = await world(t);
  const { id } = await client.videos.create({ model: 'film', prompt: 'A cat' });
  upstream.finish();
  upstream.leave();
  for (const [asked, says] of [
    [() => client.videos.retrieve(id), /sora, which has this video, did not answer\. Retry it/],
    [() => client.videos.downloadContent(id), /The provider of the video failed: the connection was .*Retry it/],
  ] as const) {
    await assert.rejects(asked, (error) => {
      assert.match(String(error), says);
      return status(503)(error);
    });
  }
});

test('what a provider refuses of a video is its refusal, and a busy one is named in lists', async (t) => {
  const { client, gateway, upstream } = await world(t);
  const { id } = await client.videos.create({ model: 'film', prompt: 'A cat' });
  upstream.refuseLooks(409);
  const refused = await gateway.fetch(`/v1/videos/${id}`, { method: 'DELETE' });
  const text = await refused.text();
  assert.equal(refused.status, 409, text);
  assert.match(text, /sora refused it \(409\): not now/);
  assert.doesNotMatch(text, /key-[ab]/);
  for (const busy of [401, 429, 500]) {
    upstream.refuseLooks(busy);
    assert.equal((await gateway.fetch(`/v1/videos/${id}`)).status, 503);
  }
  // Of both credentials of the provider.
  upstream.refuseLooks(429, 429);
  const { unlisted } = (await (await gateway.fetch('/v1/videos')).json()) as { unlisted: object[] };
  assert.deepEqual(unlisted, [
    { provider: 'sora', message: 'sora did not list its videos: it answered 429. Retry it.' },
  ]);
});

test('a video that was deleted is forgotten: no provider is asked for it', async (t) => {
  const { client, upstream } = await world(t);
  const { id } = await client.videos.create({ model: 'film', prompt: 'A cat' });
  await client.videos.delete(id);
  const before = upstream.requests.length;
  await assert.rejects(client.videos.retrieve(id), status(404));
  await assert.rejects(client.videos.downloadContent(id), status(404));
  assert.equal(upstream.requests.length, before);
});

for (const model of ['film', 'veo'])
  test(`a download over ${model} says its length, and goes on where it broke off`, async (t) => {
    const { client, gateway, upstream } = await world(t);
    upstream.leadTo(`${upstream.url}/storage`);
    const { id } = await client.videos.create({ model, prompt: 'A cat' });
    upstream.finish();
    const download = async (init: RequestInit) => {
      const answer = await gateway.fetch(`/v1/videos/${id}/content`, init);
      const told = ['content-length', 'content-range', 'accept-ranges'].map((name) => answer.headers.get(name));
      return { told: [answer.status, ...told], bytes: await bytesOf(answer) };
    };
    const whole = [200, String(clip.length), null, 'bytes'];
    assert.deepEqual(await download({}), { told: whole, bytes: clip });
    assert.deepEqual(await download({ method: 'HEAD' }), { told: whole, bytes: Buffer.alloc(0) });
    const last = `bytes 5-${clip.length - 1}/${clip.length}`;
    assert.deepEqual(await download({ headers: { range: 'bytes=5-' } }), {
      told: [206, String(clip.length - 5), last, 'bytes'],
      bytes: clip.subarray(5),
    });
    const beyond = await download({ headers: { range: 'bytes=500-' } });
    assert.deepEqual([beyond.told[0], beyond.told[2]], [416, `bytes */${clip.length}`]);
    assert.match(beyond.bytes.toString(), /no bytes in the place that the header 'Range' names/);
  });

test('HEAD of a video leaves its bytes at the provider', async (t) => {
  const { client, gateway, upstream } = await world(t);
  const { id } = await client.videos.create({ model: 'film', prompt: 'A cat' });
  upstream.finish();
  upstream.sendForEver();
  const head = await gateway.fetch(`/v1/videos/${id}/content`, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'video/mp4']);
  await until('nothing more comes', async () => {
    const { pieces } = upstream;
    await pause(50);
    return upstream.pieces === pieces;
  });
});

test('bad requests are 400 and name the field', async (t) => {
  const { gateway, upstream } = await world(t);
  for (const [json, wanted] of [
    [{ model: 'film' }, /prompt/],
    [{ model: 'film', prompt: 'x', seconds: 'long' }, /seconds.*whole number of seconds, 1 to 60/],
    [{ model: 'film', prompt: 'x', size: 'big' }, /size.*1280x720/],
    [{ model: 'film', prompt: 'x', input_reference: { file_id: 'file-1' } }, /file_id/],
    [{ model: 'veo', prompt: 'x', size: '1000x1000' }, /size.*Veo draws 1280x720.*veo/],
    [
      { model: 'veo', prompt: 'x', input_reference: { image_url: 'https://a.example/x.png' } },
      /input_reference.*data: URL/,
    ],
    [{ model: 'talk', prompt: 'x' }, /No provider of the model 'talk' makes videos/],
  ] as const) {
    const answer = await gateway.fetch('/v1/videos', { json });
    const text = await answer.text();
    assert.ok([400, 404].includes(answer.status), text);
    assert.match(text, wanted);
  }
  for (const path of ['/v1/videos/video_nobodys', '/v1/videos/video_cv_AAAA/content']) {
    assert.equal((await gateway.fetch(path)).status, 404);
  }
  assert.equal((await gateway.fetch('/v1/videos?limit=x')).status, 400);
  assert.equal(upstream.requests.length, 0);
});

test('a video that has failed as soon as it was begun costs nothing, and the next provider is asked', async (t) => {
  let error = { code: 'internal', message: 'no, by key-of-failing' };
  const failing = createServer((request, response) => {
    const video = { id: 'video_f', object: 'video', status: 'failed', seconds: '4', error };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.method === 'POST' ? video : { data: [] }));
  });
  const base_url = `${await listening(t, failing)}/v1`;
  const upstream = await startVideos(t);
  const price = { video_second: 0.1 };
  const gateway = await startGateway(t, {
    providers: {
      failing: { type: 'openai', base_url, api_key: 'key-of-failing' },
      sora: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'key-a' },
    },
    models: {
      alone: { type: 'video', targets: [{ provider: 'failing', model: 'sora-2', price }] },
      both: { type: 'video', targets: ['failing/sora-2', { provider: 'sora', model: 'sora-2', priority: 2 }] },
    },
  });
  const begin = (model: string) => gateway.fetch('/v1/videos', { json: { model, prompt: 'A cat' } });
  assert.equal((await begin('both')).headers.get('x-culvert-provider'), 'sora');
  const failed = await begin('alone');
  const text = await failed.text();
  assert.deepEqual([failed.status, failed.headers.get('x-culvert-cost')], [502, '0'], text);
  assert.match(text, /the video failed at once: no, by/);
  assert.doesNotMatch(text, /key-of-failing/);
  error = { code: 'moderation_blocked', message: 'Blocked by our moderation.' };
  const blocked = await begin('alone');
  assert.equal(blocked.status, 400, await blocked.text());
});
