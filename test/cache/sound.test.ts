import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { wavOf } from '../scripted-transcriber.ts';
import { answerKept, otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const upstream = await startUpstream();
after(upstream.close);
const target = (model: string) => ({ targets: [{ provider: 'up', model }], cache: { ttl: '1h' } });
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    voice: { type: 'speech', ...target('mock/ok') },
    cut: { type: 'speech', ...target('mock/cut=100') },
    ears: { type: 'transcription', ...target('mock/ok') },
  },
});

interface Answered {
  status: number;
  cache: string | null;
  type: string | null;
  bytes: Buffer;
}

async function answered(asking: Promise<Response>): Promise<Answered> {
  const sinceMs = Date.now();
  const response = await asking;
  const bytes = Buffer.from(await response.arrayBuffer());
  const cache = response.headers.get('x-culvert-cache')?.split(';')[0] ?? null;
  if (cache === 'miss') await answerKept(gateway, sinceMs);
  return { status: response.status, cache, type: response.headers.get('content-type'), bytes };
}

function speak(more: object = {}, key = gateway.key): Promise<Answered> {
  const json = { model: 'voice', voice: 'alloy', input: 'Hello there.', response_format: 'mp3', ...more };
  return answered(gateway.fetch('/v1/audio/speech', { json, headers: { authorization: `Bearer ${key}` } }));
}

function write(file: Buffer, fields: Record<string, string> = {}, path = '/v1/audio/transcriptions') {
  const body = new FormData();
  for (const [name, value] of Object.entries({ model: 'ears', ...fields })) body.set(name, value);
  body.set('file', new Blob([new Uint8Array(file)]), 'sound.wav');
  return answered(gateway.fetch(path, { method: 'POST', body, headers: { authorization: `Bearer ${gateway.key}` } }));
}

test('speech: the kept sound is the same bytes, and each change of the request makes another', async () => {
  const miss = await speak();
  assert.deepEqual([miss.status, miss.cache], [200, 'miss'], miss.bytes.toString());
  assert.ok(miss.bytes.length > 100);
  const hit = await speak({ user: 'another' });
  assert.deepEqual([hit.cache, hit.type], ['hit', miss.type]);
  assert.ok(hit.bytes.equals(miss.bytes));
  for (const more of [{ input: 'Hello, there.' }, { voice: 'echo' }, { speed: 1.5 }, { instructions: 'Whisper.' }]) {
    assert.equal((await speak(more)).cache, 'miss', JSON.stringify(more));
  }
  assert.equal((await speak({}, otherKey)).cache, 'miss');
});

test('speech as events is kept apart from its bytes', async () => {
  const events = { input: 'As events.', stream_format: 'sse' };
  const miss = await speak(events);
  assert.deepEqual([miss.status, miss.cache], [200, 'miss'], miss.bytes.toString());
  const hit = await speak(events);
  assert.deepEqual([hit.cache, hit.type], ['hit', miss.type]);
  assert.equal(hit.bytes.toString(), miss.bytes.toString());
  assert.equal((await speak({ input: 'As events.' })).cache, 'miss');
});

test('sound that breaks off is not kept', async () => {
  for (let n = 0; n < 2; n += 1) {
    const got = await speak({ model: 'cut' }).catch(() => null);
    assert.notEqual(got?.cache, 'hit');
  }
});

for (const format of ['json', 'text', 'verbose_json', 'srt']) {
  test(`transcription as ${format}: the content of the file is in the key`, async () => {
    const fields = { response_format: format };
    const miss = await write(wavOf(1), fields);
    assert.deepEqual([miss.status, miss.cache], [200, 'miss'], miss.bytes.toString());
    const hit = await write(wavOf(1), fields);
    assert.deepEqual([hit.cache, hit.type, hit.bytes.toString()], ['hit', miss.type, miss.bytes.toString()]);
    const changed = wavOf(1);
    changed[changed.length - 1] = 1;
    assert.equal((await write(changed, fields)).cache, 'miss');
    assert.equal((await write(wavOf(1), { ...fields, language: 'de' })).cache, 'miss');
    assert.equal((await write(wavOf(1), { ...fields, prompt: 'Culvert' })).cache, 'miss');
  });
}

test('a streamed transcript and a translation are kept apart', async () => {
  const streamed = { response_format: 'json', stream: 'true' };
  const sound = wavOf(2);
  const miss = await write(sound, streamed);
  assert.deepEqual([miss.status, miss.cache], [200, 'miss'], miss.bytes.toString());
  const hit = await write(sound, streamed);
  assert.deepEqual([hit.cache, hit.bytes.toString()], ['hit', miss.bytes.toString()]);
  assert.equal((await write(sound, { response_format: 'json' })).cache, 'miss');
  assert.equal((await write(sound, { response_format: 'json' }, '/v1/audio/translations')).cache, 'miss');
});
