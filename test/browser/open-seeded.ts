import type { TestContext } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { buildDashboard, openBrowser, type TestBrowser } from './open-browser.ts';
import { type SeededGateway, startSeededGateway } from './seeded-gateway.ts';

/** The built dashboard, a gateway with a past and a browser, for all tests of a file; nothing where they are skipped. */
export async function openSeeded(
  t: Pick<TestContext, 'after'>,
  seed: Parameters<typeof startSeededGateway>[1] = {},
): Promise<{ gateway: SeededGateway; browser: TestBrowser }> {
  if (chromiumMissing !== false) return {} as never;
  buildDashboard();
  const gateway = await startSeededGateway(t, seed);
  const browser = await openBrowser(gateway.url);
  t.after(() => browser.close());
  return { gateway, browser };
}
