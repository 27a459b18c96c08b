import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { png } from '../contract/image-world.ts';
import { toneWav } from '../contract/speech-world.ts';
import { listening } from '../listening.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';

/*
 * Services that take a job and answer later: AssemblyAI and Black Forest Labs, whose every answer a test says. Deepgram is
 * beside AssemblyAI where both have the same hints.
 */

type Reply = { status?: number; body: unknown } | 'hang';

interface Asked {
  method: string;
  path: string;
  body: Buffer;
  closed: Promise<unknown>;
}

async function world(t: TestContext, script: (asked: Asked, origin: string) => Reply) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    const closed = once(request.socket, 'close');
    for await (const piece of request) pieces.push(piece as Buffer);
    const one = { method: request.method!, path: request.url!, body: Buffer.concat(pieces), closed };
    if (one.path === '/picture.png') return response.writeHead(200, { 'content-type': 'image/png' }).end(png());
    // Deepgram's list is looked at by the start.
    if (one.path === '/v1/models') return response.writeHead(404).end();
    asked.push(one);
    const reply = script(one, `http://${request.headers.host}`);
    if (reply === 'hang') return;
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
  });
  const url = await listening(t, server);
  const gateway = await startGateway(t, {
    providers: {
      flux: { type: 'bfl', base_url: `${url}/v1`, api_key: 'k' },
      heard: { type: 'assemblyai', base_url: `${url}/v2`, api_key: 'k' },
      deepgram: { type: 'deepgram', base_url: `${url}/v1`, api_key: 'k' },
    },
    models: {
      draw: { type: 'image', targets: ['flux/flux-2-pro'], attempts: 1 },
      write: {
        type: 'transcription',
        targets: [{ provider: 'heard', model: 'universal-3-pro', price: { minute: 60 } }],
        attempts: 1,
      },
      'nova-3': { type: 'transcription', targets: ['deepgram/nova-3'], attempts: 1 },
      'nova-2': { type: 'transcription', targets: ['deepgram/nova-2-general'], attempts: 1 },
    },
  });
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
  return { asked, client, url: gateway.url };
}

const draw = (client: OpenAI, options?: { signal: AbortSignal }) =>
  client.images.generate(
    { model: 'draw', prompt: 'A culvert', size: '1024x1024', response_format: 'b64_json' },
    options,
  );
const refused = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof OpenAI.APIError, String(error));
  assert.equal(error.status, status, error.message);
  assert.match(error.message, message);
  return true;
};

test('a picture is waited for, through answers that fail', async (t) => {
  const states = [{ body: { status: 'Pending' } }, { status: 503, body: {} }, { status: 429, body: {} }];
  const { client, asked } = await world(t, ({ method }, origin) => {
    if (method === 'POST') return { body: { id: '1', polling_url: `${origin}/v1/get_result?id=1` } };
    return states.shift() ?? { body: { status: 'Ready', result: { sample: `${origin}/picture.png` } } };
  });
  const { data } = await draw(client);
  assert.match(data![0]!.b64_json!, /^iVBOR/);
  const [begun] = asked;
  assert.deepEqual(JSON.parse(begun!.body.toString()), { prompt: 'A culvert', width: 1_024, height: 1_024 });
  assert.deepEqual(
    asked.map(({ method, path }) => `${method} ${path}`),
    ['POST /v1/flux-2-pro', ...Array(4).fill('GET /v1/get_result?id=1')],
  );
});

test('a refused picture is the caller’s fault, a lost task the provider’s', async (t) => {
  for (const [status, expected] of [
    ['Content Moderated', refused(400, /refused the request for its content \(Content Moderated\)/)],
    ['Task not found', refused(502, /the task ended: Task not found/)],
  ] as const) {
    const { client } = await world(t, ({ method }, origin) =>
      method === 'POST' ? { body: { id: '1', polling_url: `${origin}/v1/get_result?id=1` } } : { body: { status } },
    );
    await assert.rejects(draw(client), expected);
  }
});

test('no key goes to a place that a service has no business with', async (t) => {
  const { client, asked } = await world(t, () => ({
    body: { id: '1', polling_url: 'https://bfl.ai.evil.example/v1/get_result?id=1' },
  }));
  await assert.rejects(draw(client), refused(502, /holds no picture/));
  assert.equal(asked.length, 1);
});

test('who leaves is waited for no longer', async (t) => {
  const leaving = new AbortController();
  const { client, asked } = await world(t, ({ method }, origin) => {
    if (method === 'POST') return { body: { id: '1', polling_url: `${origin}/v1/get_result?id=1` } };
    setImmediate(() => leaving.abort());
    return 'hang';
  });
  await assert.rejects(draw(client, { signal: leaving.signal }));
  await asked.at(-1)!.closed;
});

/** A transcript after one look, unless `state` says otherwise. */
function transcribing(state: object, orders: Record<string, unknown>[] = []) {
  let looks = 0;
  return ({ method, path, body }: Asked): Reply => {
    if (path === '/v2/upload') return { body: { upload_url: 'https://cdn.example/1' } };
    if (method === 'POST') {
      orders.push(JSON.parse(body.toString()) as Record<string, unknown>);
      return { body: { id: 't1', status: 'queued' } };
    }
    looks += 1;
    return { body: looks === 1 ? { status: 'processing' } : { id: 't1', status: 'completed', ...state } };
  };
}

const words = [{ text: 'Hello', start: 250, end: 500, speaker: 'A' }];
const done = {
  text: 'Hello',
  words,
  utterances: [{ text: 'Hello', start: 250, end: 500, speaker: 'A' }],
  language_code: 'en',
  audio_duration: 30,
};

test('a transcript is ordered for an uploaded file, with times, speakers and its price', async (t) => {
  const orders: Record<string, unknown>[] = [];
  const { client, asked, url } = await world(t, transcribing(done, orders));
  const file = await toFile(toneWav, 'tone.wav');
  const { data: answer, response } = await client.audio.transcriptions
    .create({
      model: 'write',
      file,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
      language: 'en',
    })
    .withResponse();
  assert.deepEqual([answer.text, answer.words], ['Hello', [{ word: 'Hello', start: 0.25, end: 0.5 }]]);
  assert.equal(response.headers.get('x-culvert-provider'), 'heard');
  assert.deepEqual(asked[0]!.body, Buffer.from(toneWav), 'the file as it is');
  assert.deepEqual(orders, [
    {
      audio_url: 'https://cdn.example/1',
      speech_models: ['universal-3-pro'],
      language_code: 'en',
      speaker_labels: true,
    },
  ]);
  const id = response.headers.get('x-culvert-request-id');
  const headers = { authorization: `Bearer ${adminKey}` };
  const row = (await (await fetch(`${url}/admin/v1/requests/${id}`, { headers })).json()) as { cost_usd: number };
  assert.equal(row.cost_usd, 30, 'half a minute at 60 USD, as the service counted');
});

const hints = { keywords: ['Culvert', 'Zoë Byrne'], languages: ['en', 'es'] };

test('AssemblyAI is told the words and the languages that may come', async (t) => {
  const orders: Record<string, unknown>[] = [];
  const { client } = await world(t, transcribing(done, orders));
  const ask = async (fields: object) => {
    const file = await toFile(toneWav, 'tone.wav');
    const { response } = await client.audio.transcriptions.create({ model: 'write', file, ...fields }).withResponse();
    const { audio_url: _, speech_models: __, ...told } = orders.at(-1)!;
    return { told, dropped: response.headers.get('x-culvert-dropped') };
  };
  const detected = {
    language_detection: true,
    language_detection_options: { expected_languages: ['en', 'es'] },
  };
  assert.deepEqual(await ask(hints), { told: { ...detected, keyterms_prompt: hints.keywords }, dropped: null });
  assert.deepEqual(await ask({ ...hints, prompt: 'A talk' }), {
    told: { ...detected, prompt: 'A talk\n\nContext: Culvert, Zoë Byrne' },
    dropped: null,
  });
  const { told, dropped } = await ask({ languages: ['en', 'es'], language: 'en' });
  assert.deepEqual(told, { language_code: 'en' });
  assert.match(dropped!, /languages/);
});

test('Deepgram is told the words and the languages that may come, by the name that its model knows', async (t) => {
  const spoken = { results: { channels: [{ alternatives: [{ transcript: 'Hello' }] }] } };
  const { client, asked } = await world(t, () => ({ body: spoken }));
  for (const [model, field] of [
    ['nova-3', 'keyterm'],
    ['nova-2', 'keywords'],
  ] as const) {
    const file = await toFile(toneWav, 'tone.wav');
    const { response } = await client.audio.transcriptions.create({ model, file, ...hints }).withResponse();
    const { searchParams } = new URL(asked.at(-1)!.path, 'http://there');
    assert.deepEqual(searchParams.getAll(field), hints.keywords);
    assert.deepEqual(searchParams.getAll('detect_language'), hints.languages);
    assert.equal(response.headers.get('x-culvert-dropped'), null);
  }
});

test('a streamed transcript comes as events once it is there', async (t) => {
  const { client } = await world(t, transcribing(done));
  const file = await toFile(toneWav, 'tone.wav');
  const stream = await client.audio.transcriptions.create({ model: 'write', file, stream: true });
  let text = '';
  for await (const event of stream) if (event.type === 'transcript.text.done') text = event.text;
  assert.equal(text, 'Hello');
});

test('what a service says of the file or the key reaches whom it concerns', async (t) => {
  const file = await toFile(toneWav, 'tone.wav');
  const ask = (client: OpenAI) => client.audio.transcriptions.create({ model: 'write', file });
  const broken = await world(t, transcribing({ status: 'error', error: 'Audio duration is too short.' }));
  await assert.rejects(ask(broken.client), refused(400, /Audio duration is too short/));
  const unpaid = await world(t, ({ path }) =>
    path === '/v2/upload'
      ? { body: { upload_url: 'https://cdn.example/1' } }
      : { status: 401, body: { error: 'Authentication error' } },
  );
  await assert.rejects(ask(unpaid.client), refused(502, /answered 401/));
});
