import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { isObject, type JsonValue } from '../../src/kernel/json.ts';
import { png } from '../contract/image-world.ts';
import { bytesOf } from '../contract/speech-world.ts';

/** One request as it reached a service of sound or pictures. */
export interface MediaCall {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  /** JSON, or the fields of a form; null for a file by itself. */
  body: JsonValue;
  bytes: Buffer;
}

/** Null: this service refuses such a request. */
type Service = (call: MediaCall, url: URL) => { type: string; body: Buffer | string } | null;

const json = (body: unknown) => ({ type: 'application/json', body: JSON.stringify(body) });
const picture = png().toString('base64');
const said = 'Hello from the tests.';

/** Services that speak formats of their own, as their documentation has them; each looks for all that it needs. */
const services: Readonly<Record<string, Service>> = {
  deepgram({ method, body, headers, bytes }, { pathname, searchParams }) {
    if (method === 'GET') {
      return json({
        stt: [{ canonical_name: 'nova-3' }],
        tts: [{ architecture: 'aura-2' }, { architecture: 'aura-2' }],
      });
    }
    if (!/^Token ./.test(headers.authorization ?? '')) return null;
    if (pathname === '/v1/speak') {
      const fits = searchParams.get('model') === 'aura-2-thalia-en' && searchParams.get('encoding') === 'mp3';
      return fits && isObject(body) && typeof body.text === 'string' ? sound('mp3') : null;
    }
    if (pathname !== '/v1/listen' || bytes.length === 0 || !headers['content-type']?.startsWith('audio/')) return null;
    const words = [{ word: 'hello', punctuated_word: 'Hello', start: 0, end: 0.4, confidence: 0.9 }];
    const utterances = [{ start: 0, end: 1, transcript: said, speaker: 0, words }];
    return json({
      metadata: { duration: 1, model_info: {} },
      results: {
        channels: [{ alternatives: [{ transcript: said, confidence: 0.9, words }], detected_language: 'en' }],
        ...(searchParams.get('utterances') === 'true' && { utterances }),
      },
    });
  },
  cartesia({ body, headers }, { pathname }) {
    if (headers['cartesia-version'] === undefined || !isObject(body)) return null;
    if (pathname === '/stt') return body.file === undefined ? null : json({ text: said, language: 'en', duration: 1 });
    if (pathname !== '/tts/bytes' || !isObject(body.output_format) || !isObject(body.voice)) return null;
    return body.output_format.container === 'mp3' && body.voice.mode === 'id' && body.transcript ? sound('mp3') : null;
  },
  elevenlabs({ body, headers }, { pathname }) {
    if (headers['xi-api-key'] === undefined || !isObject(body)) return null;
    if (pathname.startsWith('/v1/text-to-speech/')) return body.text ? sound('mp3') : null;
    if (pathname !== '/v1/speech-to-text') return null;
    if (body.file === undefined || body.model_id !== 'scribe_v2' || body.tag_audio_events !== 'false') return null;
    const speaker_id = body.diarize === 'true' ? { speaker_id: 'speaker_0' } : {};
    const times = said.split(' ').map((text, i, all) => ({ text, start: i / all.length, end: (i + 1) / all.length }));
    const words = times.flatMap(({ text, start, end }, i) => [
      ...(i === 0 ? [] : [{ text: ' ', type: 'spacing', start, end: start, ...speaker_id }]),
      { text, type: 'word', start, end, ...speaker_id },
    ]);
    return json({
      language_code: 'eng',
      text: said,
      audio_duration_secs: 1,
      ...(body.timestamps_granularity === 'word' && { words }),
    });
  },
  fish({ body, headers }, { pathname }) {
    if (!isObject(body)) return null;
    if (pathname === '/v1/asr') {
      return body.audio === undefined
        ? null
        : json({ text: said, duration: 1, segments: [{ text: said, start: 0, end: 1 }], language_code: 'en' });
    }
    const fits =
      pathname === '/v1/tts' && headers.model === 's1' && body.format === 'mp3' && body.reference_id === undefined;
    return fits && body.text ? sound('mp3') : null;
  },
  fal({ body, headers }, { pathname }) {
    if (pathname !== '/fal-ai/flux/dev' || !/^Key ./.test(headers.authorization ?? '') || !isObject(body)) return null;
    if (!isObject(body.image_size) || body.num_images !== 1 || body.sync_mode !== true) return null;
    return json({ images: [{ url: `data:image/png;base64,${picture}`, content_type: 'image/png' }], seed: 1 });
  },
  replicate({ body, headers }, { pathname }) {
    const { input } = isObject(body) ? body : {};
    const fits = pathname === '/v1/models/black-forest-labs/flux-dev/predictions' && headers.prefer === 'wait';
    if (!fits || !isObject(input) || input.aspect_ratio !== '1:1') return null;
    return json({ id: 'p', status: 'succeeded', output: [`data:image/png;base64,${picture}`], error: null });
  },
  recraft({ body }, { pathname }) {
    const fits = pathname === '/v1/images/generations' && isObject(body) && body.response_format === 'b64_json';
    return fits ? json({ created: 1, data: [{ b64_json: picture }] }) : null;
  },
  bfl({ method, body, headers }, { pathname, searchParams }) {
    if (pathname === '/picture.png') return { type: 'image/png', body: png() };
    if (headers['x-key'] === undefined) return null;
    const origin = `http://${headers.host}/bfl`;
    if (method === 'GET' && pathname === '/v1/get_result') {
      const id = searchParams.get('id')!;
      return json({
        id,
        ...(lookedAt(id) ? { status: 'Ready', result: { sample: `${origin}/picture.png` } } : { status: 'Pending' }),
      });
    }
    const fits = pathname === '/v1/flux-2-pro' && isObject(body) && body.width === 1_024 && body.height === 1_024;
    const id = `task-${looks.size}`;
    return fits && body.prompt ? json({ id, polling_url: `${origin}/v1/get_result?id=${id}` }) : null;
  },
  assemblyai({ method, body, headers, bytes }, { pathname }) {
    if (headers.authorization === undefined || headers.authorization.includes(' ')) return null;
    if (pathname === '/v2/upload') {
      const fits = bytes.length > 0 && headers['content-type'] === 'application/octet-stream';
      return fits ? json({ upload_url: 'https://cdn.example/upload/1' }) : null;
    }
    if (method === 'POST') {
      const fits = pathname === '/v2/transcript' && isObject(body) && Array.isArray(body.speech_models);
      return fits && body.audio_url ? json({ id: `transcript-${looks.size}`, status: 'queued' }) : null;
    }
    const id = pathname.split('/').at(-1)!;
    if (!lookedAt(id)) return json({ id, status: 'processing' });
    const words = [{ text: 'Hello', start: 0, end: 400, confidence: 0.9, speaker: 'A' }];
    const utterances = [{ text: said, start: 0, end: 1_000, speaker: 'A', words }];
    return json({ id, status: 'completed', text: said, words, utterances, language_code: 'en', audio_duration: 1 });
  },
  // IBM Cloud's IAM, which watsonx needs.
  iam({ body }, { pathname }) {
    const form = new URLSearchParams(typeof body === 'string' ? body : '');
    const fits = pathname === '/identity/token' && form.get('grant_type') === 'urn:ibm:params:oauth:grant-type:apikey';
    return fits ? json({ access_token: tokenFor(form.get('apikey')!), expires_in: 3_600, token_type: 'Bearer' }) : null;
  },
  stability({ body, headers }, { pathname }) {
    if (pathname !== '/v2beta/stable-image/generate/core' || headers.accept !== 'application/json') return null;
    const fits = isObject(body) && body.aspect_ratio === '1:1' && typeof body.prompt === 'string';
    return fits ? json({ image: picture, finish_reason: 'SUCCESS', seed: 1 }) : null;
  },
};

/** Jobs that have been looked at once: they end at the second look. */
const looks = new Set<string>();

function lookedAt(id: string): boolean {
  const before = looks.has(id);
  looks.add(id);
  return before;
}

/** What IAM gives for a key. */
export function tokenFor(apiKey: string): string {
  return `token-${Buffer.from(apiKey).toString('hex')}`;
}

/** Each one's name of the model that a test asks for. */
export const ownModels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  deepgram: { speech: 'aura-2', transcription: 'nova-3' },
  cartesia: { speech: 'sonic-2', transcription: 'ink-whisper' },
  elevenlabs: { speech: 'eleven_v3', transcription: 'scribe_v2' },
  fish: { speech: 's1', transcription: 'asr' },
  fal: { image: 'fal-ai/flux/dev' },
  replicate: { image: 'black-forest-labs/flux-dev' },
  recraft: { image: 'recraftv3' },
  stability: { image: 'stable-image-core' },
  bfl: { image: 'flux-2-pro' },
  assemblyai: { transcription: 'universal-3-pro' },
};

function sound(format: string) {
  return { type: 'audio/mpeg', body: bytesOf[format]! };
}

export interface MediaServices {
  url: string;
  calls: MediaCall[];
}

/** All of them in one server, each below a path of its name. */
export async function startMediaServices(t: Pick<TestContext, 'after'>): Promise<MediaServices> {
  const calls: MediaCall[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const { headers, method = '' } = request;
    const path = request.url!;
    const call = { path, method, headers, body: await bodyOf(headers['content-type'] ?? '', bytes), bytes };
    if (method !== 'GET' && !path.startsWith('/iam/')) calls.push(call);
    const [, name = ''] = path.split('/');
    const url = new URL(path.slice(name.length + 1) || '/', 'http://service');
    const answer = services[name]?.(call, url) ?? null;
    const { type, body } =
      answer ?? json({ message: `${name} does not take ${method} ${path} ${bytes.subarray(0, 300)}` });
    response.writeHead(answer === null ? 422 : 200, { 'content-type': type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

async function bodyOf(type: string, bytes: Buffer): Promise<JsonValue> {
  if (type.startsWith('application/json')) return JSON.parse(bytes.toString()) as JsonValue;
  if (type === 'application/x-www-form-urlencoded') return bytes.toString();
  if (!type.startsWith('multipart/form-data')) return null;
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
  return Object.fromEntries(
    [...form].map(([name, value]) => [name, typeof value === 'string' ? value : { bytes: value.size }]),
  );
}
