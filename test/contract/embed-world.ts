import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { asked } from './served.ts';

export const embeddingsPath = '/v1/embeddings';

export interface Embedded {
  object: string;
  model: string;
  data: { object: string; index: number; embedding: number[] | string }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

export interface EmbedWorld {
  gateway: TestGateway;
  first: Upstream;
  second: Upstream;
  ask(json: unknown, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
  /** The answer of a request that succeeds. */
  embed(json: unknown): Promise<Embedded>;
  record(response: Response): Promise<RequestRecord>;
}

export interface RequestRecord {
  status: number;
  class: string;
  units: number;
  cost_usd: number | null;
  usage: { input_tokens: number; source: string };
  user: string | null;
  route: {
    verdicts: { target: string; verdict: string }[];
    losses: { field: string }[];
    attempts: {
      target: string;
      class: string;
      usage: { inputTokens: number } | null;
      costUsd: number | null;
      message: string | null;
    }[];
  };
}

/** Alias `e` over two servers of OpenAI's format, the second after the first, in one vector space. */
export async function embedWorld(
  t: Pick<TestContext, 'after'>,
  config: Record<string, unknown> = {},
): Promise<EmbedWorld> {
  const [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  t.after(() => Promise.all([first.close(), second.close()]));
  const provider = ({ url }: Upstream) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' });
  const gateway = await startGateway(t, {
    ...config,
    providers: {
      one: provider(first),
      two: provider(second),
      claude: { type: 'anthropic', base_url: `${first.url}/v1`, api_key: 'upstream-secret' },
      ...(config.providers as object),
    },
    models: {
      e: {
        type: 'embedding',
        space: 'mock',
        targets: [
          { provider: 'one', model: 'mock/ok', batch: 2 },
          { provider: 'two', model: 'mock/ok', priority: 2, batch: 3 },
        ],
      },
      claude: { targets: ['claude/mock/ok'] },
      ...(config.models as object),
    },
  });
  await gateway.modelsKnown;
  const ask = (json: unknown, headers = {}, signal?: AbortSignal) =>
    gateway.fetch(embeddingsPath, { json, headers, ...(signal !== undefined && { signal }) });
  return {
    gateway,
    first,
    second,
    ask,
    async embed(json) {
      const response = await ask(json);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return JSON.parse(text) as Embedded;
    },
    async record(response) {
      const id = response.headers.get('x-culvert-request-id');
      const found = await gateway.fetch(`/v1/requests/${id}`);
      assert.equal(found.status, 200);
      return (await found.json()) as RequestRecord;
    },
  };
}

/** The inputs of each call that an upstream got, in the order in which they came. */
export function inputsOf(upstream: Upstream): unknown[] {
  return asked(upstream).map(({ body }) => (body as { input: unknown }).input);
}

export function vectorOf(embedding: number[] | string): number[] {
  if (typeof embedding !== 'string') return embedding;
  const bytes = Buffer.from(embedding, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}

/** Equal within what float32 keeps of a number. */
export function assertNear(got: readonly number[], wanted: readonly number[], what = ''): void {
  assert.equal(got.length, wanted.length, what);
  for (const [i, number] of got.entries()) assert.ok(Math.abs(number - wanted[i]!) < 1e-6, `${what} at ${i}`);
}
