import { after, type TestContext } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** A model over a provider of each dialect, by its alias. */
export const models = { chat: 'openai/mock/ok', claude: 'claude/claude-sonnet-4-5', google: 'google/gemini-3-pro' };

/**
 * A gateway for all tests of a file, in which a client of another vendor meets a provider of each dialect. `more`: further
 * models; `others`: further providers.
 */
export async function openThreeProviders(
  more: Record<string, unknown> = {},
  others: (upstreamUrl: string) => Record<string, unknown> = () => ({}),
  sections: Record<string, unknown> = {},
) {
  const t = { after: after as TestContext['after'] };
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: {
      openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a', dialects: ['openai-chat'] },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'b' },
      google: { type: 'gemini', base_url: upstream.url, api_key: 'c' },
      ...others(upstream.url),
    },
    models: {
      ...Object.fromEntries(Object.entries(models).map(([alias, target]) => [alias, { targets: [target] }])),
      'mock/*': { targets: ['openai/mock/*'] },
      ...more,
    },
    ...sections,
  });
  /** What a provider was sent last. */
  const lastBody = () => upstream.requests().findLast(({ body }) => body !== null)!.body as JsonObject;
  return { upstream, gateway, lastBody };
}
