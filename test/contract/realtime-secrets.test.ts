import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { adminKey, otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { realtimeUsage, startRealtime } from '../upstream-formats/start-realtime.ts';

/* Keys for browsers, and WebRTC's signalling. */

const upstream = await startRealtime({ after });
const config = {
  server: { trusted_proxies: ['127.0.0.1'] },
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
  models: {
    voice: { targets: ['up/gpt-realtime'] },
    other: { targets: ['up/gpt-realtime-mini'] },
    hears: { type: 'transcription', targets: ['up/gpt-4o-transcribe'] },
  },
  plans: { default: { windows: 'off', rpm: 'off' }, one: { windows: { '5h': 1 }, rpm: 'off' } },
  accounts: { other: { plan: 'one' } },
};
const gateway = await startGateway({ after: after as never }, config);
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey });
const session = { type: 'realtime', model: 'voice', instructions: 'Be brief.' } as const;
const issued = async () => (await client.realtime.clientSecrets.create({ session })).value;

function ask(secret: string, query = '', to: TestGateway = gateway): WebSocket {
  const socket = new WebSocket(`${to.url.replace('http', 'ws')}/v1/realtime${query}`, [
    'realtime',
    `openai-insecure-api-key.${secret}`,
  ]);
  socket.on('error', () => undefined);
  return socket;
}

async function statusOf(socket: WebSocket): Promise<number> {
  const opened = once(socket, 'open').then(() => socket.close());
  const [, response] = (await Promise.race([opened, once(socket, 'unexpected-response')])) ?? [];
  response?.resume();
  return response?.statusCode ?? 101;
}

test('a client secret opens sessions with its model and its settings, and nothing else', async () => {
  const made = await client.realtime.clientSecrets.create({
    session,
    expires_after: { anchor: 'created_at', seconds: 60 },
  });
  assert.match(made.value, /^ek_/);
  assert.ok(Math.abs(made.expires_at - Date.now() / 1_000 - 60) < 10);
  assert.equal((made.session as { instructions?: string }).instructions, 'Be brief.');
  const opening = upstream.next();
  const socket = ask(made.value);
  await once(socket, 'open');
  const opened = await opening;
  assert.equal(opened.path, '/v1/realtime?model=gpt-realtime');
  const done = new Promise<void>((resolve) =>
    socket.on('message', (data) => {
      if (JSON.parse(String(data)).type === 'response.done') resolve();
    }),
  );
  socket.send(JSON.stringify({ type: 'response.create' }));
  await done;
  // Its settings come before whatever the caller sends.
  assert.deepEqual(opened.events[0], {
    type: 'session.update',
    session: { type: 'realtime', instructions: 'Be brief.' },
  });
  socket.close();
  assert.equal(await statusOf(ask(made.value, '?model=other')), 400);
  const inQuery = (query: string) => {
    const another = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?key=${made.value}${query}`);
    another.on('error', () => undefined);
    return another;
  };
  assert.equal(await statusOf(inQuery('&model=other')), 400, 'in the query');
  const own = inQuery('');
  await once(own, 'open');
  own.close();
  for (const path of ['/v1/models', '/v1/usage', '/admin/v1/accounts']) {
    const answer = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${made.value}` } });
    assert.equal(answer.status, 401, path);
  }
});

test('a client secret of a run opens sessions where nobody has seen the run, while its key works', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-secrets-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const stored = { ...config, storage: { data_dir: folder } };
  const first = await startGateway(t, stored);
  const made = await first.fetch('/v1/keys/ephemeral', { json: { models: ['voice'] } });
  const { key } = (await made.json()) as { key: string };
  const ofRun = new OpenAI({ baseURL: `${first.url}/v1`, apiKey: key });
  const { value } = await ofRun.realtime.clientSecrets.create({ session });
  await first.close(0);
  const next = await startGateway(t, stored);
  const socket = ask(value, '', next);
  await once(socket, 'open');
  socket.close();
  await next.reload({ ...stored, keys: [{ key: otherKey, account: 'other', name: 'test' }] });
  assert.equal(await statusOf(ask(value, '', next)), 401);
});

test('a client secret that is changed, expired or of a revoked key is a 401', async (t) => {
  const secret = await issued();
  const changed = secret.slice(0, -3) + (secret.endsWith('AAA') ? 'BBB' : 'AAA');
  assert.equal(await statusOf(ask(changed)), 401);
  assert.equal(await statusOf(ask('ek_')), 401);
  const own = await startGateway(t, config);
  assert.equal(await statusOf(ask(secret, '', own)), 401, 'it is of another server');
  const keyed = new OpenAI({ baseURL: `${own.url}/v1`, apiKey: testKey });
  const { value } = await keyed.realtime.clientSecrets.create({ session });
  const socket = ask(value, '', own);
  await once(socket, 'open');
  socket.close();
  await own.reload({ ...config, keys: [{ key: otherKey, account: 'other', name: 'test' }] });
  assert.equal(await statusOf(ask(value, '', own)), 401);
});

test('the older format has the settings as its body, and the secret within the session', async () => {
  const answer = await gateway.fetch('/v1/realtime/sessions', { json: { model: 'voice', voice: 'verse' } });
  const body = (await answer.json()) as { client_secret: { value: string; expires_at: number }; voice: string };
  assert.equal(body.voice, 'verse');
  const opening = upstream.next();
  const socket = ask(body.client_secret.value, '?model=voice');
  await once(socket, 'open');
  const opened = await opening;
  socket.close();
  await opened.closed;
  assert.deepEqual(opened.events[0], { type: 'session.update', session: { voice: 'verse' } });
});

test('the older format of sessions that transcribe names its model and sound as OpenAI’s SDK does', async () => {
  const made = await client.beta.realtime.transcriptionSessions.create({
    input_audio_format: 'g711_ulaw',
    input_audio_transcription: { model: 'hears' as 'whisper-1', language: 'de' },
    turn_detection: { type: 'server_vad', silence_duration_ms: 300 },
    client_secret: { expires_at: { anchor: 'created_at', seconds: 60 } },
  });
  assert.equal(made.input_audio_format, 'g711_ulaw');
  assert.ok(Math.abs(made.client_secret.expires_at - Date.now() / 1_000 - 60) < 10);
  const opening = upstream.next();
  const socket = ask(made.client_secret.value, '?intent=transcription');
  await once(socket, 'open');
  const opened = await opening;
  socket.close();
  await opened.closed;
  assert.equal(opened.path, '/v1/realtime?intent=transcription');
  const input = {
    format: { type: 'audio/pcmu' },
    transcription: { model: 'gpt-4o-transcribe', language: 'de' },
    turn_detection: { type: 'server_vad', silence_duration_ms: 300 },
  };
  assert.deepEqual(opened.events[0], {
    type: 'session.update',
    session: { type: 'transcription', audio: { input } },
  });
  const wrong: [JsonObject, RegExp][] = [
    [{}, /input_audio_transcription\.model must name a model/],
    [{ input_audio_transcription: { model: 'voice' } }, /'voice' does not transcribe/],
    [{ input_audio_transcription: { model: 'hears' }, input_audio_format: 'mp3' }, /must be one of pcm16, g711_ulaw/],
    [
      { input_audio_transcription: { model: 'hears' }, client_secret: { expires_at: { seconds: 1 } } },
      /client_secret\.expires_at\.seconds must be a whole number/,
    ],
  ];
  for (const [json, words] of wrong) {
    const answer = await gateway.fetch('/v1/realtime/transcription_sessions', { json });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), words);
  }
});

test('a wrong request for a client secret names the field', async () => {
  const cases: [JsonObject, RegExp, number][] = [
    [{}, /session must be an object/, 400],
    [{ session: { type: 'realtime' } }, /session\.model must name a model/, 400],
    [
      { session: { type: 'transcription', model: 'voice' } },
      /audio\.input\.transcription\.model must name a model/,
      400,
    ],
    [{ session: { type: 'translation', model: 'voice' } }, /must be 'realtime' or 'transcription'/, 400],
    [{ session: { model: 'nobody' } }, /does not exist/, 404],
    [{ session: { model: 'voice' }, expires_after: { seconds: 1 } }, /from 10 to 7200/, 400],
    [
      {
        session: {
          model: 'voice',
          instructions: Buffer.from(crypto.getRandomValues(new Uint8Array(12_000))).toString('hex'),
        },
      },
      /too long/,
      400,
    ],
  ];
  for (const [json, words, status] of cases) {
    const answer = await gateway.fetch('/v1/realtime/client_secrets', { json });
    const { error } = (await answer.json()) as { error: { message: string } };
    assert.equal(answer.status, status);
    assert.match(error.message, words);
  }
});

async function rowsOf(
  account: string,
): Promise<{ endpoint: string; units: number; usage: { input_tokens: number } }[]> {
  const answer = await gateway.fetch(`/admin/v1/requests?account=${account}`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  return ((await answer.json()) as { data: never[] }).data;
}

const offer = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=offer\r\n';

test('WebRTC: the offer goes to the provider with the settings, its responses are metered, and it is hung up', async () => {
  upstream.posts.length = 0;
  const watching = upstream.next();
  const answer = await fetch(`${gateway.url}/v1/realtime/calls`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await issued()}`,
      'content-type': 'application/sdp',
      'x-forwarded-prefix': '/culvert',
    },
    body: offer,
  });
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get('content-type'), 'application/sdp');
  assert.equal(answer.headers.get('location'), '/culvert/v1/realtime/calls/rtc_1');
  assert.equal(await answer.text(), 'v=0\r\ns=answer\r\n');
  const [posted] = upstream.posts;
  assert.equal(posted!.headers.authorization, 'Bearer upstream-secret-1');
  const form = await new Response(posted!.body, {
    headers: { 'content-type': posted!.headers['content-type']! },
  }).formData();
  assert.equal(form.get('sdp'), offer);
  const settings = JSON.parse(String(form.get('session')));
  assert.deepEqual(settings, { type: 'realtime', instructions: 'Be brief.', model: 'gpt-realtime' });
  const watched = await watching;
  assert.equal(watched.path, '/v1/realtime?call_id=rtc_1');
  const before = (await rowsOf('dev')).length;
  watched.send({ type: 'response.created', response: { id: 'resp_1' } });
  watched.send({ type: 'response.done', response: { id: 'resp_1', status: 'completed', usage: realtimeUsage } });
  while ((await rowsOf('dev')).length === before);
  assert.equal((await rowsOf('dev'))[0]!.usage.input_tokens, 132);
  watched.close(1000);
  await hungUp();
});

async function hungUp(): Promise<void> {
  while (!upstream.posts.some(({ path }) => path === '/v1/realtime/calls/rtc_1/hangup'))
    await new Promise(setImmediate);
}

test('a call whose plan is used up is hung up at its next response; the SDK sends its offer as a form', async () => {
  upstream.posts.length = 0;
  const own = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: otherKey });
  const watching = upstream.next();
  const answer = await own.realtime.calls.create({ sdp: offer, session });
  assert.equal(await answer.text(), 'v=0\r\ns=answer\r\n');
  const watched = await watching;
  for (const id of ['resp_1', 'resp_2']) {
    watched.send({ type: 'response.created', response: { id } });
    watched.send({ type: 'response.done', response: { id, status: 'completed', usage: realtimeUsage } });
  }
  await hungUp();
  assert.deepEqual(
    (await rowsOf('other')).map(({ units }) => units),
    [1],
  );
});

test('a wrong offer is a 400, and a call to a model without WebRTC too', async () => {
  const post = (body: string, type: string) =>
    gateway.fetch('/v1/realtime/calls?model=voice', { method: 'POST', body, headers: { 'content-type': type } });
  for (const [body, type, status] of [
    ['hello', 'application/sdp', 400],
    ['{}', 'application/json', 415],
  ] as const) {
    const answer = await post(body, type);
    await answer.text();
    assert.equal(answer.status, status);
  }
});

test('a model that holds no such sessions gets no client secret, and one that talks by a cascade no call', async (t) => {
  const own = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: {
      embed: { type: 'embedding', targets: ['up/m'] },
      talk: { targets: ['up/m'], realtime: { transcription: 'hears', speech: 'speaks' } },
      hears: { type: 'transcription', targets: ['up/m'] },
      speaks: { type: 'speech', targets: ['up/m'] },
    },
  });
  const transcribing = (model: string) => ({ type: 'transcription', audio: { input: { transcription: { model } } } });
  for (const [session, status] of [
    [{ model: 'embed' }, 400],
    [{ model: 'talk' }, 200],
    [transcribing('talk'), 400],
    [transcribing('hears'), 200],
  ] as const) {
    const answer = await own.fetch('/v1/realtime/client_secrets', { json: { session } });
    assert.equal(answer.status, status, await answer.text());
  }
  const posts = upstream.posts.length;
  const call = { method: 'POST', body: offer, headers: { 'content-type': 'application/sdp' } };
  const refused = await own.fetch('/v1/realtime/calls?model=talk', call);
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /'talk' takes no WebRTC\. Open a WebSocket/);
  assert.equal(upstream.posts.length, posts);
});

test('settings that nest too deeply, and a call that only transcribes, are a 400', async () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  for (const body of [
    `{"session":{"model":"voice","tools":${deep}}}`,
    `{"session":{"model":"voice"},"deep":${deep}}`,
  ]) {
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    assert.equal((await gateway.fetch('/v1/realtime/client_secrets', init)).status, 400);
  }
  for (const session of [`{"model":"voice","tools":${deep}}`, '{"model":"voice","type":"transcription"}', '[']) {
    const body = new FormData();
    body.append('sdp', 'v=0\r\n');
    body.append('session', session);
    const answer = await gateway.fetch('/v1/realtime/calls', { method: 'POST', body });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /"param":"session/);
  }
});
