import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { soundPieces } from '../../src/simulator/media/sound.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const whole = { after: after as TestContext['after'] };
const upstream = await startUpstream({ models: ['kokoro', 'whisper-large-v3', 'sd'] });
after(() => upstream.close());
const gateway = await startGateway(whole, {
  simulator: 'off',
  providers: {
    kokoro: { type: 'kokoro', base_url: `${upstream.url}/v1` },
    speaches: { type: 'speaches', base_url: upstream.url },
    localai: { type: 'localai', base_url: upstream.url, api_key: 'k' },
    web: { type: 'a1111', base_url: `${upstream.url}/sdapi/v1` },
    sd: { type: 'sd-server', base_url: upstream.url },
  },
  models: {
    voice: { type: 'speech', targets: ['kokoro/kokoro'] },
    ears: { type: 'transcription', targets: ['speaches/whisper-large-v3'] },
    local: { type: 'speech', targets: ['localai/tts'] },
    web: { type: 'image', targets: ['web/dreamshaper'] },
    sd: { type: 'image', targets: ['sd/default'] },
  },
});
const last = () =>
  upstream
    .requests()
    .filter(({ method }) => method === 'POST')
    .at(-1)!;

test('Kokoro-FastAPI is asked for its own voices, native ones as they are', async () => {
  for (const [voice, asked] of [
    ['alloy', 'af_alloy'],
    ['shimmer', 'af_bella'],
    ['bm_george', 'bm_george'],
    ['af_bella(2)+af_sky(1)', 'af_bella(2)+af_sky(1)'],
  ]) {
    const json = { model: 'voice', voice, input: 'Hello', response_format: 'wav' };
    const response = await gateway.fetch('/v1/audio/speech', { json });
    assert.equal(response.status, 200, await response.clone().text());
    await response.arrayBuffer();
    assert.equal((last().body as JsonObject).voice, asked);
    assert.equal(last().path, '/v1/audio/speech');
  }
});

test('speaches writes down speech, LocalAI speaks, each below its /v1', async () => {
  const form = new FormData();
  form.append('model', 'ears');
  form.append('file', new Blob([Buffer.concat([...soundPieces('wav', 1_000, 200)])]), 'a.wav');
  const heard = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form });
  assert.match(((await heard.json()) as { text: string }).text, /^Mock transcript .* 1\.0 seconds\.$/);
  assert.equal(last().path, '/v1/audio/transcriptions');
  const spoken = await gateway.fetch('/v1/audio/speech', { json: { model: 'local', voice: 'alloy', input: 'Hello' } });
  assert.equal(spoken.status, 200);
  await spoken.arrayBuffer();
  assert.equal(last().path, '/v1/audio/speech');
});

test('Stable Diffusion web UI is told which checkpoint, sd-server is not', async () => {
  for (const [model, checkpoint] of [
    ['web', { sd_model_checkpoint: 'dreamshaper' }],
    ['sd', undefined],
  ] as const) {
    const json = { model, prompt: 'a culvert', size: '128x64', response_format: 'b64_json' };
    const response = await gateway.fetch('/v1/images/generations', { json });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const png = Buffer.from((JSON.parse(text) as { data: { b64_json: string }[] }).data[0]!.b64_json, 'base64');
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [128, 64]);
    assert.equal(last().path, '/sdapi/v1/txt2img');
    assert.deepEqual((last().body as JsonObject).override_settings, checkpoint);
  }
});
