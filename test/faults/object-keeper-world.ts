import type { TestContext } from 'node:test';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { type ObjectKeeper, startObjectKeeper } from './object-keeper.ts';

interface World {
  gateway: TestGateway;
  keeper: ObjectKeeper;
}

/** One credential, all four formats. `over`: members of the configuration of one test. */
export async function openKeeperWorld(
  t: Pick<TestContext, 'after'>,
  over: Record<string, unknown> = {},
  shared: readonly string[] = [],
): Promise<World> {
  const keeper = await startObjectKeeper(t);
  const provider = (type: string, path: string, dialects: readonly string[]) => ({
    type,
    base_url: keeper.url + path,
    api_key: 'org-1',
    dialects,
    shared_objects: shared,
  });
  const gateway = await startGateway(t, {
    providers: {
      oa: provider('openai', '/v1', ['openai-chat', 'openai-responses']),
      an: provider('anthropic', '/v1', ['anthropic-messages']),
      go: provider('gemini', '/v1beta', ['gemini']),
    },
    models: {
      gpt: { targets: [{ provider: 'oa', model: 'gpt-5' }] },
      claude: { targets: [{ provider: 'an', model: 'claude-5' }] },
      gemini: { targets: [{ provider: 'go', model: 'gemini-3' }] },
    },
    ...over,
  });
  return { gateway, keeper };
}
