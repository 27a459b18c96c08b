import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoredParts } from './stored-parts.ts';

type Run = ConstructorParameters<typeof StoredParts>[0];
type Part = StoredParts['all'][number];

const place = { provider: 'p', alias: 'm', tier: null } as never;
const content = { id: 'file', bytes: 1, fileBytes: 1 };
const expected = { tokens: 0, usdNano: 0 };

test('a part that came back is noted as such before anybody goes on: another process asks its provider no more', async () => {
  const noted: string[] = [];
  let written = Promise.withResolvers<boolean>();
  const run = {
    batch: { id: 'batch', parts: [], aheadSucceeded: 0, errors: [] },
    lease: {},
    sealer: { seal: (text: Buffer) => text },
    store: {
      releaseLines: async () => true,
      note: async () => ({}),
      away: (_: unknown, { facts }: { facts: Buffer }) => {
        noted.push((JSON.parse(facts.toString()) as { parts: Part[] }).parts[0]!.at);
        return written.promise;
      },
    },
  } as never as Run;
  written.resolve(true);
  const parts = new StoredParts(run);
  const part = await parts.add(
    { place, lines: 1, costMilli: 0, expected, content, sinceMs: 0, upstream: null, succeeded: 0 },
    { release() {} } as never,
    [],
  );
  assert.deepEqual(noted, ['noting', 'ready']);
  written = Promise.withResolvers<boolean>();
  let state = 'waits';
  const back = parts.takenBack(part).then(() => {
    state = 'goes on';
  });
  await new Promise(setImmediate);
  assert.deepEqual([noted.at(-1), state], ['returned', 'waits']);
  written.resolve(true);
  await back;
});
