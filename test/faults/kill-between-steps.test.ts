import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { overUpstreams } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, balanced } from './books-balance.ts';
import { type Death, dieEverywhere, dieStarting } from './die-everywhere.ts';
import { startGatewayProcess } from './gateway-process.ts';

const plans = { default: { windows: { '5h': 1_000, week: 1_000, month: 1_000 }, rpm: 1_000, concurrency: 100 } };
const stream = { body: { stream: true }, spec: 'tokens=3;interval=10ms' };
const crashed = { requests: 1, units: 1, as: ['crashed estimated'] };
const nothing = { requests: 0, units: 0, as: [] };

/** What holds of a death wherever it comes. */
function assertChargedRightly(deaths: readonly Death[]): void {
  for (const death of deaths) {
    const { dispatched, heard, charged } = death;
    const where = `killed before ${death.step}`;
    assert.ok(charged.requests <= 1, `${where}: in the books ${charged.requests} times`);
    if (dispatched || heard) assert.equal(charged.requests, 1, `${where}: an upstream was asked and nobody pays`);
    if (charged.requests === 1) assert.deepEqual(charged, crashed, where);
    else assert.deepEqual(charged, nothing, where);
  }
}

test('F38 kill -9 before every step of a stream over SQLite: charged once from its commit on, before it not at all', async (t) => {
  const storage = { data_dir: join(temporaryFolder(t), 'data') };
  const { deaths, survived } = await dieEverywhere(t, {
    ...stream,
    config: { plans, storage },
    settledBooks: balanced,
  });
  assertChargedRightly(deaths);
  assert.deepEqual(survived, { requests: 1, units: 1, as: ['ok upstream'] });
  const steps = deaths.map(({ step }) => step);
  t.diagnostic(steps.join(', '));
  // Hold and reservation, dispatch, first token, the end, the settlement: none was left out.
  const committed = steps.indexOf('COMMIT');
  assert.deepEqual(steps.slice(0, committed + 2), [
    'BEGIN IMMEDIATE',
    'INSERT INTO reservation',
    'COMMIT',
    'write upstream',
  ]);
  assert.deepEqual(steps.slice(-9), [
    'BEGIN IMMEDIATE',
    'DELETE FROM reservation',
    'INSERT INTO usage_event',
    ...Array(4).fill('INSERT INTO quota_bucket'),
    'INSERT INTO rollup',
    'COMMIT',
  ]);
  assert.ok(steps.filter((step) => step === 'write caller').length >= 2, 'before and after the first token');
  for (const [at, { charged }] of deaths.entries()) assert.equal(charged.requests, at <= committed ? 0 : 1, steps[at]);
});

test('F38 kill -9 before every step of the start that charges what is open: it is charged once', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const storage = { data_dir: join(temporaryFolder(t), 'data') };
  const config = { ...overUpstreams(upstream.url), plans, storage };
  const { url, process: gateway } = await startGatewayProcess(t, config);
  upstream.script('/v1/chat/completions', ['always tokens=1000;interval=1s']);
  const asked = Array.from({ length: 3 }, () => ask(url, { stream: true }));
  await upstream.when(() => upstream.requests().filter(({ method }) => method === 'POST').length === 3);
  gateway.kill('SIGKILL');
  await Promise.all(asked);
  const steps = await dieStarting(t, config);
  t.diagnostic(steps.join(', '));
  const { events } = await balanced((await startGatewayProcess(t, config)).url);
  assert.deepEqual(
    events.map((event) => [event.class, event.usage.source, event.units]),
    Array(3).fill(['crashed', 'estimated', 1]),
  );
});
