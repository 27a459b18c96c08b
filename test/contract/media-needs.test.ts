import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* A target that cannot read pictures or sound is passed over by requests that hold some, and by no others. */

const t = { after: after as TestContext['after'] };
const upstream = await startUpstream();
after(() => upstream.close());
const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
const target = (name: string, priority: number) => ({ provider: name, model: 'mock/ok', priority });
const gateway = await startGateway(t, {
  providers: { reads: provider, hears: provider, sees: provider, able: provider },
  models: {
    chat: {
      targets: [
        { ...target('reads', 1), capabilities: { vision: false, audio_in: false } },
        { ...target('hears', 2), capabilities: { vision: false } },
        { ...target('sees', 3), capabilities: { audio_in: false } },
        target('able', 4),
      ],
    },
  },
});

/** One pixel, and a tenth of a second of silence. */
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const wav = Buffer.concat([
  ...['RIFF', 1_636, 'WAVEfmt ', 16, [1, 1], 8_000, 16_000, [2, 16], 'data', 1_600].map((field) => {
    if (typeof field === 'string') return Buffer.from(field);
    const bytes = Buffer.alloc(4);
    if (typeof field === 'number') bytes.writeUInt32LE(field);
    else field.forEach((half, at) => void bytes.writeUInt16LE(half, at * 2));
    return bytes;
  }),
  Buffer.alloc(1_600),
]).toString('base64');

type Part = 'text' | 'picture' | 'sound';

interface Caller {
  path: string;
  headers?: Record<string, string>;
  part(kind: Part): unknown;
  body(parts: unknown[]): object;
  /** The format has no parts for sound. */
  silent?: true;
}

const turn = (content: unknown) => ({ role: 'user', content });
const callers: Readonly<Record<string, Caller>> = {
  chat: {
    path: '/v1/chat/completions',
    part: (kind) =>
      kind === 'text'
        ? { type: 'text', text: 'hello' }
        : kind === 'picture'
          ? { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }
          : { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
    body: (parts) => ({ model: 'chat', messages: [turn(parts)] }),
  },
  messages: {
    path: '/v1/messages',
    part: (kind) =>
      kind === 'text'
        ? { type: 'text', text: 'hello' }
        : { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
    body: (parts) => ({ model: 'chat', max_tokens: 50, messages: [turn(parts)] }),
    silent: true,
  },
  responses: {
    path: '/v1/responses',
    part: (kind) =>
      kind === 'text'
        ? { type: 'input_text', text: 'hello' }
        : kind === 'picture'
          ? { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${picture}` }
          : { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
    body: (parts) => ({ model: 'chat', input: [turn(parts)] }),
  },
  gemini: {
    path: '/v1beta/models/chat:generateContent',
    part: (kind) =>
      kind === 'text'
        ? { text: 'hello' }
        : {
            inlineData:
              kind === 'picture' ? { mimeType: 'image/png', data: picture } : { mimeType: 'audio/wav', data: wav },
          },
    body: (parts) => ({ contents: [{ role: 'user', parts }] }),
  },
  converse: {
    path: '/model/chat/converse',
    part: (kind) =>
      kind === 'text'
        ? { text: 'hello' }
        : kind === 'picture'
          ? { image: { format: 'png', source: { bytes: picture } } }
          : { audio: { format: 'wav', source: { bytes: wav } } },
    body: (content) => ({ messages: [turn(content)] }),
  },
  'AI SDK': {
    path: '/v1/ai/language-model',
    headers: { 'ai-language-model-id': 'chat', 'ai-language-model-specification-version': '3' },
    part: (kind) =>
      kind === 'text'
        ? { type: 'text', text: 'hello' }
        : kind === 'picture'
          ? { type: 'file', mediaType: 'image/png', data: picture }
          : { type: 'file', mediaType: 'audio/wav', data: wav },
    body: (content) => ({ prompt: [turn(content)] }),
  },
};

const cases: readonly { parts: Part[]; by: string }[] = [
  { parts: ['text'], by: 'reads' },
  { parts: ['text', 'sound'], by: 'hears' },
  { parts: ['picture', 'text'], by: 'sees' },
  { parts: ['picture', 'sound', 'text'], by: 'able' },
];

for (const [name, { path, headers = {}, part, body, silent }] of Object.entries(callers)) {
  for (const { parts, by } of cases) {
    if (silent && parts.includes('sound')) continue;
    test(`${name}: a request with ${parts.join(', ')} goes to the first target that takes it`, async () => {
      const answer = await gateway.fetch(path, { method: 'POST', headers, json: body(parts.map(part)) });
      assert.equal(answer.status, 200, await answer.clone().text());
      assert.equal(answer.headers.get('x-culvert-provider'), by);
      await answer.body?.cancel();
    });
  }
}
