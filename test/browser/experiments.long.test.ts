import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ResultsReply } from '../../src/admin/usage/results.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { assertLooksRight, openPage } from './open-page.ts';

const skip = chromiumMissing;

test('the page of a model compares its variants, and exports them', { skip }, async (t) => {
  const upstream = await startUpstream();
  after(() => upstream.close());
  const target = { provider: 'up', model: 'mock/ok', price: { input: 1_000, output: 1_000 } };
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
    models: {
      smart: { targets: [target], sticky: 'user', variants: { a: { weight: 1 }, b: { weight: 1 } } },
      plain: { targets: [target] },
    },
  });
  for (let user = 0; user < 12; user += 1) {
    const json = { model: 'smart', user: `user-${user}`, messages: [{ role: 'user', content: 'Hello' }] };
    const answer = await gateway.fetch('/v1/chat/completions', { json });
    await answer.text();
    const id = answer.headers.get('x-culvert-request-id');
    const rated = { metric: 'helpful', value: answer.headers.get('x-culvert-variant') === 'a' };
    assert.equal((await gateway.fetch(`/v1/requests/${id}/feedback`, { json: rated })).status, 200);
  }
  const results = async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await fetch(`${gateway.url}/admin/v1/models/smart/results`, { headers });
    return ((await answer.json()) as ResultsReply).variants;
  };
  await until('the ledger has them all', async () => {
    const all = await results();
    return all.reduce((sum, { metrics }) => sum + (metrics[0]?.n ?? 0), 0) === 12;
  });
  const page = await openPage(t, gateway, '/dashboard/models/smart');
  const table = page.getByRole('region', { name: 'Results by variant' });
  const a = table.getByRole('row', { name: /^a / });
  await a.getByText('100% of').waitFor();
  await table.getByRole('row', { name: /^b / }).getByText('0% of').waitFor();
  assert.ok((await a.allInnerTexts()).join().includes('share 1'));
  await assertLooksRight(page, 'model-variants');
  await page.setViewportSize({ width: 1280, height: 800 });
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), 'variants-of-smart.csv');
  const message = 'The database cannot be used now.';
  await page.route('**/results.csv*', (route) => route.fulfill({ status: 503, json: { error: { message } } }));
  await page.getByRole('button', { name: 'CSV' }).click();
  await page.getByText(message).waitFor();
  assert.match(readFileSync(await file.path(), 'utf8'), /^variant,weight[^\n]*\n(a|b),/);
  await page.goto('/dashboard/models/plain');
  await page.getByRole('region', { name: 'Targets' }).waitFor();
  assert.equal(await page.getByText('Results by variant').count(), 0);
});

test('the record of a request says what its guards, its cache and its variant did', { skip }, async (t) => {
  const upstream = await startUpstream();
  after(() => upstream.close());
  const target = { provider: 'up', model: 'mock/ok', price: { input: 1_000, output: 1_000 } };
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
    guards: {
      pii: { check: 'personal-data', action: 'mask' },
      names: { check: 'words', words: ['Falcon'], action: 'block', mode: 'observe' },
      keys: { check: 'secrets', action: 'block' },
    },
    models: {
      smart: {
        targets: [target],
        cache: { ttl: '1h' },
        guards: ['pii', 'names', 'keys'],
        variants: { only: { weight: 1 } },
      },
    },
  });
  const ask = async () => {
    const content = 'Write to anna.berg@example.org about Falcon.';
    const json = { model: 'smart', messages: [{ role: 'user', content }] };
    const answer = await gateway.fetch('/v1/chat/completions', { json });
    assert.equal(answer.status, 200, await answer.text());
    return { id: answer.headers.get('x-culvert-request-id'), cache: answer.headers.get('x-culvert-cache') };
  };
  await ask();
  let hit = await ask();
  await until('the answer comes from the cache', async () => {
    hit = await ask();
    return hit.cache?.startsWith('hit') === true;
  });
  const written = async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    return (await fetch(`${gateway.url}/admin/v1/requests/${hit.id}`, { headers })).status === 200;
  };
  await until('the record is written', written);
  const page = await openPage(t, gateway, `/dashboard/requests/${hit.id}`);
  const verdicts = page.getByRole('list', { name: 'Guards' }).getByRole('listitem');
  await verdicts.first().waitFor();
  assert.deepEqual(await verdicts.allTextContents(), ['piimasked × 1', 'nameswould-be-blocked × 2', 'keyspass']);
  await page.getByText('They read 100% of the texts.').waitFor();
  await page.getByText('hit: served from the cache').waitFor();
  await page.getByText('Saved by a cache').waitFor();
  await page.getByRole('link', { name: 'only', exact: true }).waitFor();
  await assertLooksRight(page, 'request-guarded');
  await page.goto('/dashboard');
  await page.getByText(/Caches saved \$/).waitFor();
});

test('a variant that was taken out takes part again by a click', { skip }, async (t) => {
  const upstream = await startUpstream();
  const folder = mkdtempSync(join(tmpdir(), 'culvert-taken-out-'));
  after(async () => {
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  });
  upstream.script('/bad/v1/chat/completions', ['always status=422;message=No.']);
  const config = {
    storage: { data_dir: folder },
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' },
      bad: { type: 'openai', base_url: `${upstream.url}/bad/v1`, api_key: 'x' },
    },
    models: {
      smart: {
        targets: ['up/mock/ok'],
        sticky: 'user',
        rollback: 'auto',
        variants: { a: { weight: 1 }, b: { weight: 1, targets: ['bad/mock/ok'] } },
      },
    },
  };
  const first = await startGateway(t, config);
  for (let user = 0; user < 180; user += 1) {
    const json = { model: 'smart', user: `user-${user}`, messages: [{ role: 'user', content: 'Hello' }] };
    await (await first.fetch('/v1/chat/completions', { json })).text();
  }
  await first.close(0);
  // A start compares at once.
  const gateway = await startGateway(t, config);
  const page = await openPage(t, gateway, '/dashboard/models/smart');
  await until('it is out', async () => {
    await page.reload();
    await page.getByRole('region', { name: 'Results by variant' }).waitFor();
    return (await page.getByText('requests failed, against').count()) > 0;
  });
  await assertLooksRight(page, 'model-taken-out');
  await page.getByRole('button', { name: 'Restore it' }).click();
  await page.getByText('requests failed, against').waitFor({ state: 'detached' });
});
