import { type TestContext, test } from 'node:test';
import { otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

export interface ClientWorld {
  gateway: TestGateway;
  upstream: Upstream;
  /** What the client is given as base URL: with `/v1`. */
  baseURL: string;
  /** Upstreams whose answers the gateway must convert into chat completions. */
  format: 'openai' | 'anthropic';
}

/** A key that may use the alias `limited` alone. */
export const limitedKey = otherKey;

/**
 * The test over an upstream that speaks the caller's format, and over one whose answers must be converted. Aliases:
 * `chat`, `slow` (a stream of 2 s), `thinks` (aloud), `org/chat` (a slash in its id), `limited`.
 */
export function overBothFormats(name: string, run: (world: ClientWorld, t: TestContext) => Promise<void>): void {
  for (const format of ['openai', 'anthropic'] as const) {
    test(`${name} (${format} upstream)`, async (t) => {
      const upstream = await startUpstream();
      t.after(() => upstream.close());
      const target = (model: string) => ({ targets: [{ provider: 'up', model: `mock/${model}` }] });
      const gateway = await startGateway(t, {
        providers: { up: { type: format, base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
        models: {
          chat: target('ok'),
          slow: target('tokens=200;interval=10ms'),
          thinks: target('slow-reasoning=20ms'),
          'org/chat': target('ok'),
          limited: target('text=limited'),
        },
        keys: [
          { key: testKey, account: 'dev', name: 'test' },
          { key: limitedKey, account: 'dev', name: 'limited', models: ['limited'] },
        ],
      });
      await run({ gateway, upstream, baseURL: `${gateway.url}/v1`, format }, t);
    });
  }
}

/** Path of the upstream's chats, for its scripts. */
export function chatPathOf(world: ClientWorld): string {
  return world.format === 'openai' ? '/v1/chat/completions' : '/v1/messages';
}

/** The bodies that reached the upstream, oldest first. */
export function chatsOf(world: ClientWorld): Record<string, unknown>[] {
  return world.upstream
    .requests()
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => body as Record<string, unknown>);
}
