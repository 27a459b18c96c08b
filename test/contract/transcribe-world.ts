import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type ScriptedTranscriber, startTranscriber, wavOf } from '../scripted-transcriber.ts';
import { spooledIn } from '../spooled.ts';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import type { ErrorBody } from './served.ts';

export const transcriptionsPath = '/v1/audio/transcriptions';
export const translationsPath = '/v1/audio/translations';

export interface TranscribeWorld {
  gateway: TestGateway;
  first: ScriptedTranscriber;
  second: ScriptedTranscriber;
  /** A form of these fields and, unless `file` is null, a file. */
  ask(fields: Fields, options?: AskOptions): Promise<Response>;
  refused(fields: Fields, options?: AskOptions): Promise<ErrorBody['error']>;
  record(response: Response): Promise<TranscriptRecord>;
  /** Resolves when nothing lies on disk for uploads: files are removed behind the answer. */
  emptied(): Promise<void>;
}

export type Fields = Record<string, string | readonly string[]>;

export interface AskOptions {
  path?: string;
  file?: Buffer | null;
  fileName?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface TranscriptRecord {
  status: number;
  class: string;
  units: number;
  cost_usd: number | null;
  usage: { audio_ms?: number; input_tokens: number; output_tokens: number; source: string };
  route: {
    losses: { field: string }[];
    attempts: { target: string; class: string; message: string | null }[];
  };
}

/** Alias `t` over two servers of OpenAI's format, the second after the first. */
export async function transcribeWorld(
  t: Pick<TestContext, 'after'>,
  config: Record<string, unknown> = {},
  env: Record<string, string | undefined> = {},
): Promise<TranscribeWorld> {
  const [first, second] = await Promise.all([startTranscriber(t), startTranscriber(t)]);
  const provider = ({ url }: ScriptedTranscriber) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'up-secret' });
  const price = { minute: 0.006 };
  const gateway = await startGateway(
    t,
    {
      ...config,
      providers: {
        one: provider(first),
        two: provider(second),
        claude: { type: 'anthropic', base_url: `${first.url}/v1`, api_key: 'up-secret' },
        ...(config.providers as object),
      },
      models: {
        t: {
          type: 'transcription',
          targets: [
            { provider: 'one', model: 'whisper-1', price },
            { provider: 'two', model: 'whisper-1', priority: 2, price },
          ],
        },
        live: { type: 'transcription', targets: ['one/gpt-transcribe'] },
        claude: { targets: ['claude/mock'] },
        ...(config.models as object),
      },
    },
    { env },
  );
  await gateway.modelsKnown;
  const ask = (fields: Fields, options: AskOptions = {}) => {
    const { path = transcriptionsPath, file = wavOf(1), fileName = 'speech.wav', headers = {}, signal } = options;
    const form = new FormData();
    if (file !== null) form.append('file', new Blob([new Uint8Array(file)]), fileName);
    for (const [name, value] of Object.entries(fields)) {
      for (const one of [value].flat()) form.append(name, one);
    }
    return gateway.fetch(path, { method: 'POST', body: form, headers, ...(signal && { signal }) });
  };
  return {
    gateway,
    first,
    second,
    ask,
    async refused(fields, options) {
      const response = await ask(fields, options);
      const body = (await response.json()) as ErrorBody;
      assert.equal(response.status, body.error.code);
      return body.error;
    },
    async record(response) {
      const id = response.headers.get('x-culvert-request-id');
      const found = await gateway.fetch(`/v1/requests/${id}`, { headers: { authorization: `Bearer ${testKey}` } });
      assert.equal(found.status, 200, await found.clone().text());
      return (await found.json()) as TranscriptRecord;
    },
    async emptied() {
      const left = () => spooledIn(gateway.dataDir);
      for (let looks = 0; looks < 5_000 && left().length > 0; looks++) {
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      assert.deepEqual(left(), []);
    },
  };
}
