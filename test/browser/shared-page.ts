import { after, before } from 'node:test';
import type { Page } from 'playwright-core';
import { openPage } from './open-page.ts';
import { startSeededGateway } from './seeded-gateway.ts';

/** One page of a small seeded gateway for all tests of the suite that calls this: closed after the last one. */
export function sharedPage(path: string, onOpen: (page: Page) => void): void {
  const ends: (() => Promise<void>)[] = [];
  const hooks = { after: (done: () => Promise<void>) => void ends.unshift(done) } as never;
  before(async () => onOpen(await openPage(hooks, await startSeededGateway(hooks, { days: 3, perDay: 60 }), path)));
  after(async () => {
    for (const end of ends) await end();
  });
}
