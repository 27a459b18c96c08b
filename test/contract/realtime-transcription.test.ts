import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { adminKey, otherKey, startGateway, testKey, testProcesses } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';
import { SocketCaller } from './heard-events.ts';

/* Sessions of `/v1/realtime` that only transcribe, at a provider that holds them and by calls of a model. */

const upstream = await startRealtime({ after });
const plain = await startUpstream();
after(() => plain.close());
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' },
      azure: { type: 'azure-openai', base_url: upstream.url, api_key: 'upstream-secret-2' },
      whisper: { type: 'openai', base_url: `${plain.url}/v1`, api_key: 'upstream-secret-4' },
      plain: { type: 'groq', base_url: `${plain.url}/v1`, api_key: 'upstream-secret-3' },
    },
    models: {
      hears: {
        type: 'transcription',
        targets: [{ provider: 'up', model: 'gpt-4o-transcribe', price: { minute: 0.006 } }],
      },
      'azure-hears': { type: 'transcription', targets: ['azure/my-deployment'] },
      'own-whisper': { type: 'transcription', targets: ['whisper/whisper-1'] },
      notes: { type: 'transcription', targets: ['plain/whisper-large-v3'] },
      chat: { targets: ['plain/llama'] },
    },
    plans: { default: { windows: 'off', rpm: 'off' }, one: { windows: { '5h': 1 }, rpm: 'off' } },
    accounts: { other: { plan: 'one' } },
  },
);

/** By OpenAI's SDK, which names no model before the session stands. */
function bySdk(apiKey = testKey): SocketCaller {
  const { hostname, port } = new URL(gateway.url);
  const createConnection = () => connect(Number(port), hostname);
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey });
  const realtime = new OpenAIRealtimeWS({ intent: 'transcription', options: { createConnection } as never }, client);
  realtime.on('error', () => undefined);
  return new SocketCaller(realtime.socket as unknown as WebSocket);
}

const update = (model: string, input: JsonObject = {}): JsonObject => ({
  session: { type: 'transcription', audio: { input: { transcription: { model }, ...input } } },
});

async function rowsOf(account: string): Promise<Record<string, never>[]> {
  const answer = await gateway.fetch(`/admin/v1/requests?account=${account}`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  return ((await answer.json()) as { data: never[] }).data;
}

/** A tone, as loud as speech, or silence. */
function sound(ms: number, level: number): string {
  const samples = Buffer.alloc(ms * 24 * 2);
  for (let at = 0; at < samples.length / 2; at += 1)
    samples.writeInt16LE(Math.round(Math.sin(at / 10) * level * 32_767), at * 2);
  return samples.toString('base64');
}

test('the OpenAI SDK names the model in its first update; each commit is a row with its seconds and their price', async () => {
  const opening = upstream.next();
  const caller = bySdk();
  const { session } = (await caller.heard('session.created')) as unknown as { session: JsonObject };
  assert.equal(session.type, 'transcription');
  // What comes before the provider is reached reaches it too, and in order.
  caller.send('session.update', update('hears', { turn_detection: null }));
  caller.send('input_audio_buffer.append', { audio: sound(100, 0.3) });
  caller.send('input_audio_buffer.commit');
  const heard = await caller.heard('conversation.item.input_audio_transcription.completed');
  assert.equal(heard.transcript, 'Hello.');
  const there = await opening;
  assert.equal(there.path, '/v1/realtime?intent=transcription');
  assert.equal(there.headers.authorization, 'Bearer upstream-secret-1');
  assert.deepEqual(
    there.events.map(({ type }) => type),
    ['session.update', 'input_audio_buffer.append', 'input_audio_buffer.commit'],
  );
  assert.deepEqual(there.events[0], {
    type: 'session.update',
    session: {
      type: 'transcription',
      audio: { input: { transcription: { model: 'gpt-4o-transcribe' }, turn_detection: null } },
    },
  });
  assert.equal(caller.events.filter(({ type }) => type === 'session.created').length, 1);
  const from = caller.events.length;
  caller.send('session.update', update('notes'));
  assert.match(JSON.stringify(await caller.heard('error', from)), /transcribes with the model 'hears'/);
  caller.send('input_audio_buffer.commit');
  await caller.heard('conversation.item.input_audio_transcription.completed', from);
  await caller.close();
  assert.equal(await there.closed, 1005);
  for (;;) {
    const rows = await rowsOf('dev');
    if (rows.length < 2) continue;
    for (const row of rows as unknown as { cost_usd: number; target: string; usage: JsonObject; endpoint: string }[]) {
      assert.deepEqual(
        [row.endpoint, row.target, row.usage.audio_ms, row.cost_usd],
        ['realtime', 'up/gpt-4o-transcribe', 3_000, 0.0003],
      );
    }
    break;
  }
});

test('a session keeps its model, however an update that names another one is written', async () => {
  const opening = upstream.next();
  const caller = bySdk();
  await caller.heard('session.created');
  caller.send('session.update', update('hears'));
  await caller.heard('session.updated');
  const there = await opening;
  const other = update('gpt-4o-mini-transcribe').session as JsonObject;
  const earlier = { input_audio_transcription: { model: 'gpt-4o-mini-transcribe' } };
  const frames = [
    JSON.stringify({ type: 'session.update', session: other }).replace('session.update', 'session.\\u0075pdate'),
    JSON.stringify({ type: 'session.update', session: { ...other, junk: Array.from({ length: 9_000 }, () => ({})) } }),
    JSON.stringify({ type: 'transcription_session.update', session: earlier }),
  ];
  for (const frame of frames) {
    const from = caller.events.length;
    caller.socket.send(frame);
    assert.match(JSON.stringify(await caller.heard('error', from)), /transcribes with the model 'hears'|is no event/);
  }
  caller.send('transcription_session.update', { session: { input_audio_transcription: { model: 'hears' } } });
  const from = caller.events.length;
  caller.send('session.update', update('hears'));
  await caller.heard('session.updated', from);
  const named = there.events.map(({ session }) => JSON.stringify(session).match(/"model":"([^"]+)"/)?.[1]);
  assert.deepEqual(named, ['gpt-4o-transcribe', 'gpt-4o-transcribe', 'gpt-4o-transcribe']);
  await caller.close();
});

test('a used-up plan ends a session whose provider finds the ends of speech itself', async () => {
  const opening = upstream.next();
  const caller = bySdk(otherKey);
  await caller.heard('session.created');
  caller.send('session.update', update('hears'));
  await caller.heard('session.updated');
  const there = await opening;
  there.send({ type: 'input_audio_buffer.committed', item_id: 'item_a' });
  const usage = { type: 'tokens', input_tokens: 14, output_tokens: 5, input_token_details: { audio_tokens: 14 } };
  const type = 'conversation.item.input_audio_transcription.completed';
  there.send({ type, item_id: 'item_a', content_index: 0, transcript: 'One.', usage });
  await caller.heard(type);
  there.send({ type: 'input_audio_buffer.committed', item_id: 'item_b' });
  assert.match(JSON.stringify(await caller.heard('error')), /quota_exceeded/);
  assert.equal((await caller.closed).code, 1008);
  for (;;) {
    const [row] = (await rowsOf('other')) as unknown as { usage: JsonObject; units: number }[];
    if (row === undefined) continue;
    assert.deepEqual([row.usage.input_tokens, row.usage.output_tokens, row.units], [14, 5, 1]);
    break;
  }
});

test('a client secret, or the address, may name the model; Azure is asked by its v1 API', async () => {
  const url = `${gateway.url.replace('http', 'ws')}/v1/realtime`;
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey });
  const { value } = await client.realtime.clientSecrets.create({
    session: {
      type: 'transcription',
      audio: { input: { transcription: { model: 'hears' as never, language: 'de' } } },
    },
  });
  for (const [socket, path, transcription] of [
    [
      () => new WebSocket(url, ['realtime', `openai-insecure-api-key.${value}`]),
      '/v1/realtime?intent=transcription',
      { model: 'gpt-4o-transcribe', language: 'de' },
    ],
    [
      () =>
        new WebSocket(`${url}?intent=transcription&model=azure-hears`, {
          headers: { authorization: `Bearer ${testKey}` },
        }),
      '/openai/v1/realtime?intent=transcription',
      { model: 'my-deployment' },
    ],
  ] as const) {
    const opening = upstream.next();
    const caller = new SocketCaller(socket());
    await caller.heard('session.updated');
    const there = await opening;
    assert.equal(there.path, path);
    assert.deepEqual(there.events[0]?.session, { type: 'transcription', audio: { input: { transcription } } });
    assert.equal(caller.events.filter(({ type }) => type === 'session.created').length, 1);
    await caller.close();
  }
});

test('a model whose provider holds no sessions: the ends of speech are found here, and each is a call of its own', async () => {
  const caller = bySdk();
  await caller.heard('session.created');
  const detection = { turn_detection: { type: 'server_vad', silence_duration_ms: 200 } };
  caller.send('session.update', {
    session: {
      type: 'transcription',
      audio: { input: { transcription: { model: 'notes', language: 'de' }, ...detection } },
    },
  });
  const { session } = (await caller.heard('session.updated')) as unknown as { session: { audio: JsonObject } };
  assert.deepEqual((session.audio.input as JsonObject).transcription, { model: 'notes' });
  for (const piece of [sound(500, 0), sound(600, 0.3), sound(500, 0.0005)])
    caller.send('input_audio_buffer.append', { audio: piece });
  const { item_id } = await caller.heard('input_audio_buffer.committed');
  const heard = await caller.heard('conversation.item.input_audio_transcription.completed');
  assert.equal(heard.item_id, item_id);
  assert.ok(String(heard.transcript).length > 0);
  const { type, seconds } = heard.usage as { type: string; seconds: number };
  assert.ok(type === 'duration' && seconds > 0.6 && seconds < 1.6, String(seconds));
  const form = JSON.stringify(plain.requests().findLast(({ path }) => path === '/v1/audio/transcriptions')?.body);
  assert.match(form, /whisper-large-v3/);
  assert.match(form, /"de"|language[^a-z]*de/);
  const from = caller.events.length;
  caller.send('response.create');
  assert.match(JSON.stringify(await caller.heard('error', from)), /does not take events of type 'response.create'/);
  assert.equal(caller.events.filter((event) => event.type === 'session.created').length, 1);
  await caller.close();
  assert.equal((await rowsOf('dev'))[0]!.endpoint, 'transcription');
});

test("an update of OpenAI's beta names the model, and sets the session that calls it", async () => {
  const caller = bySdk();
  await caller.heard('session.created');
  const turn_detection = { type: 'server_vad', silence_duration_ms: 200 };
  const session = { input_audio_format: 'pcm16', input_audio_transcription: { model: 'notes' }, turn_detection };
  caller.send('transcription_session.update', { session });
  await caller.heard('transcription_session.updated');
  for (const piece of [sound(600, 0.3), sound(300, 0)]) caller.send('input_audio_buffer.append', { audio: piece });
  await caller.heard('conversation.item.input_audio_transcription.completed');
  await caller.close();
});

test('a silence of no time, or less, does not cut speech into calls', async () => {
  const caller = bySdk();
  await caller.heard('session.created');
  for (const silence_duration_ms of [0, -1]) {
    const from = caller.events.length;
    caller.send('session.update', update('notes', { turn_detection: { type: 'server_vad', silence_duration_ms } }));
    for (const piece of [sound(600, 0.3), sound(600, 0)]) caller.send('input_audio_buffer.append', { audio: piece });
    await caller.heard('conversation.item.input_audio_transcription.completed', from);
    const pieces = caller.events.slice(from).filter(({ type }) => type === 'input_audio_buffer.committed');
    assert.equal(pieces.length, 1);
  }
  await caller.close();
});

test('a session that names no model, a wrong one or one that does not transcribe hears why', async () => {
  const caller = bySdk();
  await caller.heard('session.created');
  caller.send('input_audio_buffer.append', { audio: sound(100, 0) });
  assert.match(JSON.stringify(await caller.heard('error')), /Name the model first/);
  const from = caller.events.length;
  caller.send('session.update', update('nobody'));
  assert.match(JSON.stringify(await caller.heard('error', from)), /nobody/);
  assert.equal((await caller.closed).code, 1008);
  const other = bySdk();
  await other.heard('session.created');
  other.send('session.update', update('chat'));
  assert.match(JSON.stringify(await other.heard('error')), /does not transcribe/);
  assert.equal((await other.closed).code, 1008);
  const left = bySdk();
  await once(left.socket, 'open');
  await left.close();
});

test('a caller that names no model and reads no errors is not read either', async () => {
  const caller = bySdk();
  await caller.heard('session.created');
  caller.socket.pause();
  const sent = 60_000;
  const event = JSON.stringify({ type: 'input_audio_buffer.clear', event_id: 'x'.repeat(1_000) });
  for (let n = 0; n < sent; n += 1) caller.socket.send(event);
  // What the gateway does not take stays here.
  let before = -1;
  while (before !== caller.socket.bufferedAmount) {
    before = caller.socket.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.ok(before > 0, 'the gateway took all of it');
  caller.socket.resume();
  caller.send('session.update', update('hears'));
  await caller.heard('session.updated');
  assert.equal(caller.events.filter(({ type }) => type === 'error').length, sent);
  await caller.close();
});

test('a commit without sound is an error event, and asks nobody', async () => {
  const caller = bySdk();
  await caller.heard('session.created');
  const asked = () => plain.requests().filter(({ path }) => path === '/v1/audio/transcriptions').length;
  const before = asked();
  caller.send('session.update', update('notes', { turn_detection: null }));
  await caller.heard('session.updated');
  caller.send('input_audio_buffer.commit');
  assert.match(JSON.stringify(await caller.heard('error')), /no audio/);
  caller.send('input_audio_buffer.append', { audio: sound(200, 0.3) });
  caller.send('input_audio_buffer.commit');
  await caller.heard('conversation.item.input_audio_transcription.completed');
  assert.equal(asked() - before, 1);
  await caller.close();
});

test('a server of OpenAI’s format without sessions is asked by a call for each piece, and for a session once', async () => {
  const sessions = () => plain.requests().filter(({ path }) => path.startsWith('/v1/realtime')).length;
  const before = sessions();
  for (const by of ['address', 'update', 'address']) {
    const url = `${gateway.url.replace('http', 'ws')}/v1/realtime?intent=transcription&model=own-whisper`;
    const caller =
      by === 'update'
        ? bySdk()
        : new SocketCaller(new WebSocket(url, { headers: { authorization: `Bearer ${testKey}` } }));
    await caller.heard('session.created');
    caller.send('session.update', update('own-whisper', { turn_detection: null }));
    await caller.heard('session.updated');
    caller.send('input_audio_buffer.append', { audio: sound(600, 0.3) });
    caller.send('input_audio_buffer.commit');
    const heard = await caller.heard('conversation.item.input_audio_transcription.completed');
    assert.ok(String(heard.transcript).length > 0);
    await caller.close();
  }
  // Each process asks once.
  const asked = sessions() - before;
  assert.ok(asked >= 1 && asked <= testProcesses, `${asked} sessions`);
  const headers = { authorization: `Bearer ${adminKey}` };
  const listed = await gateway.fetch('/admin/v1/requests?model=own-whisper&limit=100', { headers });
  const { data } = (await listed.json()) as { data: { endpoint: string; status: number; class: string }[] };
  assert.ok(
    data.some(({ endpoint }) => endpoint === 'transcription'),
    JSON.stringify(data),
  );
  // The look for sessions failed nobody.
  assert.deepEqual(
    data.filter(({ status }) => status !== 200),
    [],
  );
});
