import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBackEndpoint } from '../../src/books/metering/give-back.ts';
import type { UsageEvent } from '../../src/books/metering/ledger.ts';
import { reservationRow, usageEvent } from '../stores/rows.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';

const configOf = (price?: object) => ({
  accounts: { dev: {}, other: {} },
  providers: { openai: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-x' } },
  models: { smart: { targets: [{ provider: 'openai', model: 'gpt-x', ...(price !== undefined && { price }) }] } },
});

/** A request of 1,000 tokens in and 100 out, which the target `openai/gpt-x` answered at the second attempt. */
async function settle(admin: OpenAdmin, over: Partial<UsageEvent>): Promise<UsageEvent> {
  admin.clock.advance(1_000);
  const atMs = admin.clock.wallMs();
  const row = reservationRow({ atMs, account: over.account ?? 'dev', alias: 'smart', inputTokensEstimate: 1_000 });
  await admin.ledger.open(row);
  const usage = { inputTokens: 1_000, outputTokens: 100 };
  const event = usageEvent(row, { settledMs: atMs, outputTokens: 100, costUsd: null, ...over });
  const [failed, answered] = event.route.attempts;
  const attempts = [failed!, { ...answered!, usage, costUsd: event.costUsd }];
  admin.ledger.close({ ...event, route: { ...event.route, attempts, ...over.route } });
  await admin.ledger.flush();
  return event;
}

test('a price that is set later is applied to past requests, after a preview, once', async (t) => {
  const admin = await openAdmin(t, configOf());
  const first = await settle(admin, {});
  await settle(admin, { account: 'other' });
  await settle(admin, { usageSource: 'none' });
  const without = await admin.ok('POST', '/usage/recalculate', {});
  assert.deepEqual([without.requests, without.still_unpriced, without.new_usd], [0, 2, 0]);
  admin.configure(configOf({ input: 2, output: 10 }));
  const preview = await admin.ok('POST', '/usage/recalculate', { account: 'dev' });
  assert.deepEqual(
    [preview.applied, preview.requests, preview.unpriced_requests, preview.old_usd, preview.new_usd],
    [false, 1, 1, 0, 0.003],
  );
  assert.deepEqual(preview.targets, [
    { model: 'smart', target: 'openai/gpt-x', requests: 1, unpriced_requests: 1, old_usd: 0, new_usd: 0.003 },
  ]);
  assert.equal((await admin.ok('GET', `/requests/${first.requestId}`)).cost_usd, null, 'a preview changes nothing');
  const applied = await admin.ok('POST', '/usage/recalculate', { apply: true });
  assert.deepEqual([applied.applied, applied.requests, applied.new_usd, applied.next_cursor], [true, 2, 0.006, null]);
  const shown = await admin.ok('GET', `/requests/${first.requestId}`);
  assert.deepEqual([shown.cost_usd, shown.route.attempts[1].costUsd], [0.003, 0.003]);
  const { data } = await admin.ok('GET', '/usage?group_by=model');
  assert.deepEqual([data[0].cost_usd, data[0].unpriced_requests], [0.006, 0]);
  const again = await admin.ok('POST', '/usage/recalculate', { apply: true, requests: 'all' });
  assert.deepEqual([again.requests, again.looked_at], [0, 3]);
  const audit = await admin.ok('GET', '/audit?action=usage.recalculate');
  assert.equal(audit.data.length, 1, 'what changed nothing is not written down');
  const { before, after } = audit.data[0];
  assert.deepEqual([before.cost_usd, before.unpriced_requests, after.cost_usd, after.changed], [0, 2, 0.006, 2]);
});

test('priced requests are recalculated only where it is asked for, and what stood beside the answer stays', async (t) => {
  const admin = await openAdmin(t, configOf({ input: 4, output: 10 }));
  await settle(admin, { costUsd: 0.003 });
  const batch = await settle(admin, { costUsd: 0.0015, route: { priceShare: 0.5, attempts: [] } });
  const several = await settle(admin, { costUsd: 0.01 });
  const answered = { ...several.route.attempts[1]!, costUsd: 0.004 };
  // Two calls made it: none of them used what the whole did.
  await settle(admin, { costUsd: 0.008, route: { attempts: [answered, answered] } });
  const unpriced = await admin.ok('POST', '/usage/recalculate', { apply: true });
  assert.equal(unpriced.requests, 0);
  const all = await admin.ok('POST', '/usage/recalculate', { apply: true, requests: 'all' });
  // 0.003 → 0.005, half of that for the batch, and 0.01 → 0.005.
  assert.deepEqual([all.requests, all.unclear, all.old_usd, all.new_usd], [3, 1, 0.0145, 0.0125]);
  assert.equal((await admin.ok('GET', `/requests/${batch.requestId}`)).cost_usd, 0.0025);
});

test('what was given back follows the request that had paid, however its price is made', async (t) => {
  const price = { input: 2, output: 10, request: 0.01, above: [{ input_tokens: 500, input: 4 }] };
  const admin = await openAdmin(t, configOf());
  const paid = await settle(admin, {});
  const back = { endpoint: giveBackEndpoint, inputTokens: -1_000, outputTokens: -100, costMilli: -paid.costMilli };
  await settle(admin, { ...back, route: { attempts: [], of: paid.requestId } });
  for (const input of [4, 8]) {
    admin.configure(configOf({ ...price, above: [{ input_tokens: 500, input }] }));
    const done = await admin.ok('POST', '/usage/recalculate', { apply: true, requests: 'all' });
    assert.deepEqual([done.requests, done.new_usd], [2, 0]);
    const { data } = await admin.ok('GET', '/usage?group_by=model');
    assert.deepEqual([data[0].cost_usd, data[0].unpriced_requests], [0, 0]);
  }
});

test('recalculations at the same time report and audit what each of them changed', async (t) => {
  const admin = await openAdmin(t, configOf());
  for (let count = 0; count < 3; count += 1) await settle(admin, {});
  admin.configure(configOf({ input: 2, output: 10 }));
  const apply = () => admin.ok('POST', '/usage/recalculate', { apply: true });
  const all = await Promise.all([apply(), apply(), apply()]);
  assert.deepEqual(all.map(({ requests, new_usd }) => [requests, new_usd]).toSorted(), [
    [0, 0],
    [0, 0],
    [3, 0.009],
  ]);
  const audit = await admin.ok('GET', '/audit?action=usage.recalculate');
  assert.equal(audit.data.length, 1);
});

test('a recalculation that fails half way audits what it has changed', async (t) => {
  const admin = await openAdmin(t, configOf());
  for (let count = 0; count < 3; count += 1) await settle(admin, {});
  admin.configure(configOf({ input: 2, output: 10 }));
  const list = admin.ledger.list.bind(admin.ledger);
  let pages = 0;
  t.mock.method(admin.ledger, 'list', async (query: Parameters<typeof list>[0]) => {
    pages += 1;
    if (pages === 3) throw new Error('the disk is gone');
    return list({ ...query, limit: 1 });
  });
  await assert.rejects(admin.call('POST', '/usage/recalculate', { apply: true }), /the disk is gone/);
  t.mock.restoreAll();
  const { data } = await admin.ok('GET', '/audit?action=usage.recalculate');
  assert.deepEqual([data[0]?.after.changed, data[0]?.after.cost_usd], [2, 0.006]);
});

test('a recalculation goes on where a call ended, and refuses a span that is turned round', async (t) => {
  const admin = await openAdmin(t, configOf({ input: 2, output: 10 }));
  for (let at = 0; at < 3; at += 1) await settle(admin, {});
  const [status, param] = await admin.refused('POST', '/usage/recalculate', { from: '2025-06-03', to: '2025-06-02' });
  assert.deepEqual([status, param], [400, 'from']);
  const to = new Date(admin.clock.wallMs() - 500).toISOString();
  const part = await admin.ok('POST', '/usage/recalculate', { apply: true, to });
  assert.deepEqual([part.requests, part.to], [2, to]);
  const { next_cursor: cursor } = await admin.ok('GET', '/requests?limit=1');
  const rest = await admin.ok('POST', '/usage/recalculate', { requests: 'all', cursor });
  assert.equal(rest.looked_at, 2, 'from there on alone');
});
