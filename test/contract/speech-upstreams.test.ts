import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { missingTool, probeBytes } from '../sound.ts';
import { startGateway } from '../start-gateway.ts';
import type { ErrorBody } from './served.ts';
import {
  type Answer,
  answerJson,
  type SpeakingUpstream,
  speechPath,
  speechWorld,
  startSpeaking,
  tone,
  toneWav,
} from './speech-world.ts';

const noFfmpeg = missingTool('ffmpeg', 'ffprobe');
const noEspeak = missingTool('espeak-ng', 'ffmpeg', 'ffprobe');
const env = { PATH: process.env.PATH };
/** ffprobe's name of each. */
const codecs = { mp3: 'mp3', opus: 'opus', flac: 'flac', aac: 'aac' } as const;

/** Alias `s` over one service, whose answers the test writes. */
async function over(
  t: Parameters<typeof startGateway>[0],
  provider: Record<string, unknown>,
  model: string,
  tools: 'installed' | 'missing' = 'installed',
) {
  const upstream = await startSpeaking(t);
  const gateway = await startGateway(
    t,
    {
      providers: { up: { api_key: 'upstream-secret', ...provider, base_url: upstream.url } },
      models: { s: { type: 'speech', targets: [`up/${model}`] } },
    },
    { env: tools === 'installed' ? env : {} },
  );
  const say = (json: Record<string, unknown>) =>
    gateway.fetch(speechPath, { json: { model: 's', voice: 'alloy', input: 'Hello there.', ...json } });
  return { gateway, upstream, say };
}

/** Calls itself a wav file and holds none. */
const broken = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEnone', 'latin1'), Buffer.alloc(4_000, 0x80)]);

async function soundOf(response: Response): Promise<Buffer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.equal(response.status, 200, bytes.toString('utf8', 0, 500));
  return bytes;
}

const inWav: Answer = (_, response) => response.writeHead(200, { 'content-type': 'audio/wav' }).end(toneWav);

for (const [format, codec] of Object.entries(codecs)) {
  test(`§4.5 design §6: a service that has wav alone is heard as ${format} too`, { skip: noFfmpeg }, async (t) => {
    const { upstream, say } = await over(t, { type: 'groq' }, 'orpheus-v1');
    upstream.next(inWav);
    const sound = probeBytes(await soundOf(await say({ response_format: format })));
    assert.equal(upstream.calls[0]!.body.response_format, 'wav');
    assert.equal(sound.codec, codec);
    // A frame more or less, which encoders add, and 2 %.
    assert.ok(Math.abs(sound.durationMs - 1_000) <= 20 + 60, `${sound.durationMs} ms`);
  });
}

test('§4.5: pcm is 24 kHz s16le mono: of a wav that is what stands in it', async (t) => {
  const { upstream, say } = await over(t, { type: 'groq' }, 'orpheus-v1', 'missing');
  upstream.next(inWav);
  assert.deepEqual(await soundOf(await say({ response_format: 'pcm' })), tone);
});

test('§4.5 F58: without ffmpeg wav and pcm are spoken, and a format that needs it is a 501 that names the fix', async (t) => {
  const { upstream, say } = await over(t, { type: 'groq' }, 'orpheus-v1', 'missing');
  upstream.next(inWav);
  assert.deepEqual(await soundOf(await say({ response_format: 'wav' })), toneWav);
  const response = await say({ response_format: 'mp3' });
  const { error } = (await response.json()) as ErrorBody;
  assert.deepEqual([response.status, error.type], [501, 'unsupported_error']);
  assert.match(error.message, /apt install ffmpeg/);
  assert.equal(upstream.calls.length, 1);
});

test('§4.5 F58: without ffmpeg sound that comes in another format than was asked for is a 501 that names the fix', async (t) => {
  const { upstream, say } = await over(t, { type: 'openai' }, 'tts-1', 'missing');
  upstream.next(...Array<Answer>(10).fill(inWav));
  const response = await say({ response_format: 'mp3' });
  const { error } = (await response.json()) as ErrorBody;
  assert.deepEqual([response.status, error.type], [501, 'unsupported_error']);
  assert.match(error.message, /apt install ffmpeg/);
});

test('§4.5 F58: without ffmpeg a target that has the format is asked, and not one that lacks it', async (t) => {
  const groq = await startSpeaking(t);
  const { say, first } = await speechWorld(t, {
    providers: { groq: { type: 'groq', base_url: groq.url, api_key: 'x' } },
    models: { mixed: { type: 'speech', targets: ['groq/orpheus-v1', { provider: 'one', model: 'm', priority: 2 }] } },
  });
  assert.equal((await say({ model: 'mixed' })).status, 200);
  assert.deepEqual([groq.calls.length, first.calls.length], [0, 1]);
});

/** PATH of a machine whose ffmpeg dies of a signal. */
function pathOfDyingFfmpeg(t: Parameters<typeof startGateway>[0]): string {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-dying-ffmpeg-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'ffmpeg'), '#!/bin/sh\nkill -KILL $$\n', { mode: 0o755 });
  return folder;
}

test('§4.5 F57: when our ffmpeg dies the next target is asked, and with none left it is no fault of the request', async (t) => {
  const groq = await startSpeaking(t);
  groq.next(...Array<Answer>(10).fill(inWav));
  const one = await startSpeaking(t);
  const gateway = await startGateway(
    t,
    {
      providers: {
        groq: { type: 'groq', base_url: groq.url, api_key: 'x' },
        one: { type: 'openai', base_url: one.url, api_key: 'x' },
      },
      models: {
        alone: { type: 'speech', targets: ['groq/orpheus-v1'] },
        both: { type: 'speech', targets: ['groq/orpheus-v1', { provider: 'one', model: 'm', priority: 2 }] },
      },
    },
    { env: { PATH: pathOfDyingFfmpeg(t) } },
  );
  const say = (model: string) => gateway.fetch(speechPath, { json: { model, voice: 'alloy', input: 'Hello there.' } });
  const served = await say('both');
  assert.deepEqual([served.status, served.headers.get('x-culvert-provider')], [200, 'one']);
  assert.equal((await say('alone')).status, 502);
  // Nothing was said against who sent good sound.
  assert.equal((await say('alone')).status, 502);
});

test('§4.5: a wav of one sample a second is refused, and not made into hours of sound', async (t) => {
  const { upstream, say } = await over(t, { type: 'groq' }, 'orpheus-v1', 'missing');
  const slow = Buffer.from(toneWav);
  slow.writeUInt32LE(1, 24);
  const answer: Answer = (_, response) => response.writeHead(200, { 'content-type': 'audio/wav' }).end(slow);
  upstream.next(...Array<Answer>(6).fill(answer));
  assert.equal((await say({ response_format: 'pcm' })).status, 502);
});

test('§4.5: a rate that Gemini cannot mean is not believed', async (t) => {
  const { upstream, say } = await over(t, { type: 'gemini' }, 'gemini-tts', 'missing');
  const part = { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=0000', data: tone.toString('base64') } };
  upstream.next(answerJson(200, { candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] }));
  assert.deepEqual(await soundOf(await say({ response_format: 'pcm' })), tone);
});

test('§4.5 design §6: a pace that a service does not know is made here', { skip: noFfmpeg }, async (t) => {
  const { upstream, say } = await over(t, { type: 'groq' }, 'orpheus-v1');
  upstream.next(inWav);
  const response = await say({ response_format: 'mp3', speed: 2 });
  const { durationMs } = probeBytes(await soundOf(response));
  assert.equal(upstream.calls[0]!.body.speed, undefined);
  assert.ok(Math.abs(durationMs - 500) <= 10 + 80, `${durationMs} ms`);
  assert.equal(response.headers.get('x-culvert-dropped'), null);
});

test('§4.5 design §6: … and without ffmpeg it is told as dropped, like instructions that nobody takes', async (t) => {
  const { upstream, say } = await over(t, { type: 'groq' }, 'orpheus-v1', 'missing');
  upstream.next(inWav);
  const response = await say({ response_format: 'wav', speed: 2, instructions: 'Softly.' });
  assert.deepEqual(await soundOf(response), toneWav);
  assert.equal(response.headers.get('x-culvert-dropped'), 'speed, instructions');
});

test('§4.5: a server that answers in the one format it has is believed', { skip: noFfmpeg }, async (t) => {
  const { upstream, say } = await over(t, { type: 'openai' }, 'any');
  upstream.next(inWav);
  assert.equal(probeBytes(await soundOf(await say({ response_format: 'mp3' }))).codec, 'mp3');
  assert.equal(upstream.calls[0]!.body.response_format, 'mp3');
});

test('§4.5 F: sound that cannot be decoded is malformed, and the next target speaks', { skip: noFfmpeg }, async (t) => {
  const groq = await startSpeaking(t);
  const { say, record } = await speechWorld(
    t,
    {
      providers: { groq: { type: 'groq', base_url: groq.url, api_key: 'x' } },
      models: { mixed: { type: 'speech', targets: ['groq/orpheus-v1', { provider: 'one', model: 'm', priority: 2 }] } },
    },
    env,
  );
  groq.next((_, response) => response.writeHead(200, { 'content-type': 'audio/wav' }).end(broken));
  const response = await say({ model: 'mixed' });
  await soundOf(response);
  const { attempts } = (await record(response)).route;
  assert.deepEqual(
    attempts.map(({ target, class: ended }) => [target, ended]),
    [
      ['groq/orpheus-v1', 'malformed'],
      ['one/m', 'ok'],
    ],
  );
});

for (const wanted of ['wav', 'flac'] as const) {
  test(`§4.5 F: … nor is it begun as a ${wanted} whose header alone is there`, { skip: noFfmpeg }, async (t) => {
    const { upstream, say } = await over(t, { type: 'groq' }, 'orpheus-v1');
    const answer: Answer = (_, response) => response.writeHead(200, { 'content-type': 'audio/wav' }).end(broken);
    upstream.next(answer, answer, answer, answer, answer, answer);
    assert.equal((await say({ response_format: wanted, speed: 1.5 })).status, 502);
  });
}

function eventsOf(upstream: SpeakingUpstream, pieces: readonly Buffer[], last: object = {}): void {
  upstream.next((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [i, piece] of pieces.entries()) {
      const data = { mimeType: 'audio/L16;codec=pcm;rate=24000', data: piece.toString('base64') };
      const done = i === pieces.length - 1 ? { finishReason: 'STOP' } : {};
      const event = { candidates: [{ content: { parts: [{ inlineData: data }] }, ...done }], ...(done && last) };
      response.write(`data: ${JSON.stringify(event)}\r\n\r\n`);
    }
    response.end();
  });
}

test('Gemini is asked for sound in its own words, and heard as pcm; its count of tokens is kept', async (t) => {
  const { gateway, upstream, say } = await over(t, { type: 'gemini' }, 'gemini-tts', 'missing');
  eventsOf(upstream, [tone.subarray(0, 20_001), tone.subarray(20_001)], {
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 250 },
  });
  const response = await say({ response_format: 'pcm', instructions: 'Say it cheerfully' });
  assert.deepEqual(await soundOf(response), tone);
  const [call] = upstream.calls;
  assert.equal(call!.path, '/v1beta/models/gemini-tts:streamGenerateContent?alt=sse');
  assert.deepEqual(call!.body, {
    contents: [{ role: 'user', parts: [{ text: 'Say it cheerfully:\nHello there.' }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    },
  });
  const id = response.headers.get('x-culvert-request-id');
  const { usage } = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as { usage: Record<string, unknown> };
  assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.characters, usage.source], [9, 250, 12, 'upstream']);
});

test('Gemini’s sound is heard as wav, and when it comes whole', async (t) => {
  const { upstream, say } = await over(t, { type: 'gemini' }, 'gemini-tts', 'missing');
  const part = { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: tone.toString('base64') } };
  upstream.next(answerJson(200, { candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] }));
  const wav = await soundOf(await say({ response_format: 'wav' }));
  assert.equal(wav.toString('latin1', 0, 4), 'RIFF');
  assert.equal(wav.readUInt32LE(24), 24_000);
  assert.deepEqual(wav.subarray(44), tone);
});

for (const [what, answer] of Object.entries({
  'that says something instead': answerJson(200, {
    candidates: [{ content: { parts: [{ text: 'I cannot speak.' }] }, finishReason: 'OTHER' }],
  }),
  'that ends before it is done': ((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ candidates: [{ content: { parts: [] } }] })}\n\n`);
  }) as Answer,
})) {
  test(`F: an answer of Gemini's ${what} is no speech`, async (t) => {
    const { upstream, say } = await over(t, { type: 'gemini' }, 'gemini-tts', 'missing');
    upstream.next(answer, answer, answer, answer);
    const response = await say({ response_format: 'wav' });
    assert.equal(response.status, 502);
  });
}

test('a text that Gemini refuses is the caller’s to change', async (t) => {
  const { upstream, say } = await over(t, { type: 'gemini' }, 'gemini-tts', 'missing');
  upstream.next(answerJson(200, { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }));
  const response = await say({ response_format: 'wav' });
  assert.equal(response.status, 400);
  assert.match(((await response.json()) as ErrorBody).error.message, /PROHIBITED_CONTENT/);
});

test('ElevenLabs has voice and format in the path, and nothing of a caller’s climbs out of it', async (t) => {
  const { upstream, say } = await over(t, { type: 'elevenlabs' }, 'eleven_v3', 'missing');
  const sound = Buffer.concat([Buffer.from('ID3\x04'), Buffer.alloc(500, 1)]);
  upstream.next((_, response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound));
  const response = await say({ voice: 'alloy', speed: 3 });
  assert.deepEqual(await soundOf(response), sound);
  const [call] = upstream.calls;
  assert.equal(call!.path, '/text-to-speech/EXAVITQu4vr4xnSDxMaL/stream?output_format=mp3_44100_128');
  assert.equal(call!.headers['xi-api-key'], 'upstream-secret');
  assert.deepEqual(call!.body, { text: 'Hello there.', model_id: 'eleven_v3', voice_settings: { speed: 1.2 } });
  assert.equal(response.headers.get('x-culvert-dropped'), 'speed');
  assert.equal((await say({ voice: '../../user' })).status, 400);
});

for (const [type, model, voice, status, body, words] of [
  [
    ...(['elevenlabs', 'eleven_v3', 'a'.repeat(20), 404] as const),
    { detail: { status: 'voice_not_found', message: 'A voice with the voice_id a was not found.' } },
    /404: A voice with the voice_id a was not found/,
  ],
  [
    ...(['deepgram', 'aura-2', 'nobody-en', 403] as const),
    { err_code: 'INSUFFICIENT_PERMISSIONS', err_msg: 'Project does not have access to the requested model.' },
    /403: Project does not have access to the requested model/,
  ],
] as const) {
  test(`a voice that ${type} lacks is its caller’s to change, and rests neither key nor model`, async (t) => {
    const { upstream, say, gateway } = await over(t, { type }, model, 'missing');
    upstream.next(answerJson(status, body));
    const refused = await say({ voice });
    // A 403 would say that the caller's own account may not.
    assert.equal(refused.status, status === 403 ? 400 : status);
    assert.match(((await refused.json()) as ErrorBody).error.message, words);
    const sound = Buffer.concat([Buffer.from('ID3\x04'), Buffer.alloc(500, 1)]);
    upstream.next((_, response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound));
    const next = await say({});
    await soundOf(next);
    const explained = await gateway.fetch(`/v1/requests/${next.headers.get('x-culvert-request-id')}`, {});
    assert.doesNotMatch(await explained.text(), /rest|unavailable|credential_/);
  });
}

test('a voice that one account of ElevenLabs lacks is asked of the next one', async (t) => {
  const [lacking, having] = [await startSpeaking(t), await startSpeaking(t)];
  const account = ({ url }: SpeakingUpstream) => ({ type: 'elevenlabs', api_key: 'upstream-secret', base_url: url });
  const targets = ['lacking', 'having'].map((provider, at) => ({ provider, model: 'eleven_v3', priority: at + 1 }));
  const gateway = await startGateway(t, {
    providers: { lacking: account(lacking), having: account(having) },
    models: { s: { type: 'speech', targets } },
  });
  const say = () => gateway.fetch(speechPath, { json: { model: 's', voice: 'a'.repeat(20), input: 'Hello.' } });
  const none = answerJson(404, { detail: { status: 'voice_not_found', message: 'A voice was not found.' } });
  lacking.next(none);
  const sound = Buffer.concat([Buffer.from('ID3\x04'), Buffer.alloc(500, 1)]);
  having.next((_, response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound));
  await soundOf(await say());
  for (const upstream of [lacking, having]) upstream.next(none);
  const refused = await say();
  assert.equal(refused.status, 404);
  assert.match(((await refused.json()) as ErrorBody).error.message, /A voice was not found/);
});

test('Fish takes speeds from a half to two, and what lies outside is clamped', async (t) => {
  const { upstream, say } = await over(t, { type: 'fish' }, 's1', 'missing');
  const sound = Buffer.concat([Buffer.from('ID3\x04'), Buffer.alloc(500, 1)]);
  for (const [speed, taken, dropped] of [
    [0.25, 0.5, 'speed'],
    [0.5, 0.5, null],
    [2, 2, null],
    [3, 2, 'speed'],
  ]) {
    upstream.next((_, response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound));
    const response = await say({ speed });
    await soundOf(response);
    const { prosody } = upstream.calls.at(-1)!.body as { prosody: object };
    assert.deepEqual([prosody, response.headers.get('x-culvert-dropped')], [{ speed: taken }, dropped]);
  }
});

test('Azure’s deployment stands in the path', async (t) => {
  const { upstream, say } = await over(t, { type: 'azure-openai', api_version: '2026-05-01' }, 'my/tts', 'missing');
  await soundOf(await say({}));
  assert.equal(upstream.calls[0]!.path, '/openai/deployments/my%2Ftts/audio/speech?api-version=2026-05-01');
});

for (const format of ['mp3', 'wav', 'pcm'] as const) {
  test(`§4.5: espeak-ng, where it is installed, speaks without any key: ${format}`, { skip: noEspeak }, async (t) => {
    const gateway = await startGateway(
      t,
      { models: { s: { type: 'speech', targets: ['culvert/espeak-ng'] } } },
      { env },
    );
    const say = (input: string) =>
      gateway.fetch(speechPath, { json: { model: 's', voice: 'nova', input, response_format: format } });
    const bytes = await soundOf(await say('Hello there. This is a second sentence.'));
    if (format === 'pcm') return assert.ok(bytes.length > 48_000, `${bytes.length} bytes`);
    const sound = probeBytes(bytes);
    assert.equal(sound.codec, format === 'mp3' ? 'mp3' : 'pcm_s16le');
    assert.equal(sound.rateHz, 24_000);
    assert.ok(sound.durationMs > 1_000, `${sound.durationMs} ms`);
    const longer = probeBytes(await soundOf(await say('Hello there. This is a second sentence. '.repeat(3))));
    assert.ok(longer.durationMs > 2 * sound.durationMs);
  });
}
