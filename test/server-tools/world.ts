import type { TestContext } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { adminKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { type EngineSays, searxngSays, startEngine, type TestEngine } from '../tools/start-engine.ts';

/** A gateway that searches the web for models of providers that run no tools. */
export interface ToolsWorld {
  gateway: TestGateway;
  /** As the gateway was started with. */
  config: Record<string, unknown>;
  upstream: Upstream;
  engine: TestEngine;
  openai: OpenAI;
  anthropic: Anthropic;
  /** Bodies that providers were sent since the last call, the oldest first. */
  sent(): JsonObject[];
  /** Rows of the ledger, the oldest first. */
  rows(): Promise<JsonObject[]>;
}

/** What the engine finds, unless a test says otherwise. */
export const found: EngineSays = searxngSays('https://a.example/one', 'https://b.example/two');

/**
 * Aliases `chat`, `claude` and `google` are asked in these formats at an upstream that calls what the user names ("call
 * web_search"), `native` in Responses too at a provider that runs no tools. `twice` has two targets.
 */
export async function openToolsWorld(
  t: Pick<TestContext, 'after'>,
  config: Record<string, unknown> = {},
): Promise<ToolsWorld> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const engine = await startEngine(t, () => found);
  const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
  const aliases = ['chat', 'claude', 'google', 'native'];
  const whole = {
    providers: {
      chat: { type: 'openai', ...at },
      claude: { type: 'anthropic', ...at, server_tools: [] },
      google: { type: 'gemini', ...at, base_url: upstream.url },
      native: { type: 'openai', ...at, dialects: ['openai-chat', 'openai-responses'], server_tools: [] },
    },
    models: {
      ...Object.fromEntries(aliases.map((alias) => [alias, { targets: [`${alias}/mock/ok`] }])),
      blind: { targets: [{ provider: 'chat', model: 'mock/ok', capabilities: { vision: false } }] },
      twice: { targets: ['chat/mock/ok', 'chat/mock/twin'] },
    },
    tools: { search: { providers: [{ type: 'searxng', base_url: engine.url }] } },
    ...config,
  };
  const gateway = await startGateway(t, whole);
  return {
    gateway,
    config: whole,
    upstream,
    engine,
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 }),
    sent() {
      const bodies = upstream.requests().filter(({ method }) => method === 'POST');
      upstream.clear();
      return bodies.map(({ body }) => body as JsonObject);
    },
    async rows() {
      const headers = { authorization: `Bearer ${adminKey}` };
      const response = await fetch(`${gateway.url}/admin/v1/requests?limit=500`, { headers });
      const body: unknown = await response.json();
      const { data } = body as { data: JsonObject[] };
      return data.filter(isObject).toReversed();
    },
  };
}
