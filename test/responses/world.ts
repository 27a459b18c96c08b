import type { TestContext } from 'node:test';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/** A gateway whose models are served by providers that keep no responses, but for `native`. */
export interface ResponsesWorld {
  gateway: TestGateway;
  upstream: Upstream;
  client: OpenAI;
  /** The same with another account's key. */
  stranger: OpenAI;
  /** Bodies that providers were sent since the last call, the oldest first. */
  sent(): JsonObject[];
}

/**
 * Aliases `chat` and `claude` answer in other formats, `native` in Responses, `both` in chat first and then in Responses.
 * `model`: what their upstream does, as `culvert mock` names it.
 */
export async function openWorld(
  t: Pick<TestContext, 'after'>,
  config: Record<string, unknown> = {},
  model = 'mock/ok',
): Promise<ResponsesWorld> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: {
      chat: { type: 'openai', ...at },
      claude: { type: 'anthropic', ...at },
      native: { type: 'openai', ...at, dialects: ['openai-chat', 'openai-responses'] },
    },
    models: {
      chat: { targets: [`chat/${model}`] },
      claude: { targets: [`claude/${model}`] },
      native: { targets: [`native/${model}`] },
      both: {
        targets: [
          { provider: 'native', model, priority: 1 },
          { provider: 'chat', model, priority: 2 },
        ],
      },
    },
    ...config,
  });
  const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  return {
    gateway,
    upstream,
    client: clientOf(testKey),
    stranger: clientOf(otherKey),
    sent() {
      const bodies = upstream.requests().filter(({ method }) => method === 'POST');
      upstream.clear();
      return bodies.map(({ body }) => body as JsonObject);
    },
  };
}
