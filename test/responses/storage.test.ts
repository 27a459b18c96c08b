import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { openWorld } from './world.ts';

const allowed = 1024 * 1024;
const plans = { default: { windows: 'off', rpm: 'off', storage: allowed } };

async function keepsWithinThePlan(t: TestContext, storage: Record<string, unknown>): Promise<void> {
  const started = () => openWorld(t, { plans, storage });
  const stored = async ({ gateway }: Awaited<ReturnType<typeof started>>) => {
    const usage = (await (await gateway.fetch('/v1/usage')).json()) as { storage: { responses: number } };
    return usage.storage.responses;
  };
  const first = await started();
  let kept = 0;
  // Random text, since what is kept may be compressed.
  const input = () => Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString('base64');
  for (; kept < 40; kept++) {
    const response = await first.client.responses.create({ model: 'chat', input: input() });
    if ((response as { store?: boolean }).store === false) break;
  }
  assert.ok(kept > 5 && kept < 40, `${kept} were kept`);
  // One more did not fit.
  const isNearlyFull = (bytes: number) => bytes <= allowed && bytes > allowed - 200_000;
  assert.ok(isNearlyFull(await stored(first)));
  await first.gateway.close(0);
  // What a server knows of those before it, it has read from the database.
  assert.ok(isNearlyFull(await stored(await started())));
}

test('responses count in the storage of the plan', (t) => keepsWithinThePlan(t, { data_dir: temporaryFolder(t) }));

test('responses in PostgreSQL count too', { skip: postgresMissing }, async (t) => {
  const url = (await startPostgres(t)).newDatabase();
  await keepsWithinThePlan(t, { data_dir: temporaryFolder(t), database: url });
});
