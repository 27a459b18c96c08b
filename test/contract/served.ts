import { after, type TestContext } from 'node:test';
import { overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

export const chatPath = '/v1/chat/completions';
export const hello = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };

/** Models that exist without configuration, after the configured ones: mock upstreams list an embedding model. */
export const embeddingsAlwaysThere: readonly string[] = [
  'culvert-lexical-1024',
  'alpha-embedding-small',
  'Alpha-Embedding-0.6B',
  'alpha-embedding',
  'beta-embeddings-v5',
  'gamma-m3',
  'delta-embedqa-e5-v5',
];
export const alwaysThere: readonly string[] = [
  ...embeddingsAlwaysThere,
  'tts-1',
  'stt-large-v3-turbo',
  'stt-large-v3',
  'stt-1',
];

/** api.md §7's error body with design §6's additions. */
export interface ErrorBody {
  error: { message: string; type: string; code: number; param: string | null; request_id: string };
}

/**
 * One gateway over one mock upstream, for all tests of a file. `config`, or its result for the upstream's URL, is added
 * to alias `chat` over `up1`.
 */
export async function serve(
  given: Record<string, unknown> | ((url: string) => Record<string, unknown>) = {},
): Promise<{ gateway: TestGateway; upstream: Upstream }> {
  const upstream = await startUpstream();
  const base = overUpstreams(upstream.url);
  const config = typeof given === 'function' ? given(upstream.url) : given;
  const gateway = await startGateway(
    { after: after as TestContext['after'] },
    { ...base, ...config, models: { ...(base.models as object), ...(config.models as object) } },
  );
  after(() => upstream.close());
  await gateway.modelsKnown;
  return { gateway, upstream };
}

/** Requests for an answer that reached the upstream: its list of models does not count. */
export function asked(upstream: Upstream): ReturnType<Upstream['requests']> {
  return upstream.requests().filter((request) => request.method === 'POST');
}

/** The `data:` payloads of a stream, in order. */
export function dataLines(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice(6));
}
