import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startGateway, workersKnow } from '../start-gateway.ts';
import { closedPort } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertLooksRight, openPage, settled } from './open-page.ts';
import { startSeededGateway } from './seeded-gateway.ts';

const skip = chromiumMissing;
const gateway = skip
  ? null!
  : await startSeededGateway({ after: after as never }, { days: 2, perDay: 300, requests: 60 });

suite('attempts', { skip }, () => {
  test('show the slowest provider of the last hour, one click from the overview', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await settled(page);
    await page.getByRole('link', { name: 'Slowest of the last hour' }).click();
    const table = page.getByRole('table').filter({ hasText: 'First token ≈' });
    await table.getByRole('columnheader', { name: 'p95', exact: true }).waitFor();
    const { data } = (await (await gateway.admin('/attempts?from=1h')).json()) as {
      data: { group: string; first_token_p95_ms: number | null }[];
    };
    const slowest = data.toSorted((a, b) => (b.first_token_p95_ms ?? -1) - (a.first_token_p95_ms ?? -1))[0]!;
    assert.notEqual(slowest.first_token_p95_ms, null);
    const names = await table.locator('tbody tr td:first-child').allInnerTexts();
    assert.equal(names[0], slowest.group);
    assert.ok(names.includes('local'), 'a provider that never answered is in the list');
    assert.equal(await table.locator('[aria-sort=descending]').innerText(), 'p95');
    await page.getByRole('img', { name: 'Time to first token over time' }).waitFor();
    await assertLooksRight(page, 'providers-attempts');
  });

  test('count the failures of a credential, and say when it is tried again', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    const lane = { model: 'qwen3-32b', why: 'unreachable', in_flight: 0, first_token_ms: null, success_share: 0.98 };
    const past = new Date(Date.now() - 60_000).toISOString();
    const lanes = [
      { ...lane, state: 'due', back_at: past, failed: 26, succeeded: 1 },
      { ...lane, state: 'open', back_at: new Date(Date.now() + 90_000).toISOString(), failed: 0, succeeded: 0 },
    ];
    await page.route('**/admin/v1/providers/local', async (route) => {
      const json = await (await route.fetch()).json();
      await route.fulfill({ json: { ...json, credentials: [{ ...json.credentials[0], lanes }] } });
    });
    await page.goto('/dashboard/providers/local');
    const [due, open] = await Promise.all(
      [0, 1].map((at) => page.getByText('qwen3-32b').nth(at).locator('..').innerText()),
    );
    assert.match(due!, /26 of 27 failed in the last minute/);
    assert.match(due!, /unreachable, the next request tries it again/);
    assert.match(open!, /no attempt in the last minute/);
    assert.match(open!, /unreachable, Culvert tries it again in 1 min/);
  });

  test('say of a dead provider how it failed, and which of its credentials did', async (t) => {
    const page = await openPage(t, gateway, '/dashboard');
    await settled(page);
    const providers = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Providers by attempts' }) });
    const line = providers.getByRole('listitem').filter({ hasText: 'local' });
    await line.getByText('100% failed').waitFor();
    await assertLooksRight(page, 'overview-attempts');
    await line.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'local' }).waitFor();
    await page.getByRole('button', { name: 'Outcome' }).click();
    await page.waitForURL(/by=class/);
    await page.getByRole('cell', { name: 'transient' }).waitFor();
    await page.getByRole('button', { name: 'Credential' }).click();
    await page.getByRole('cell', { name: 'local#0' }).waitFor();
  });

  test('a provider with few attempts is in the chart of failures, too', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
    const provider = (url: string) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' });
    const gone = provider(`http://127.0.0.1:${await closedPort()}`);
    const busy = await startGateway(t, {
      providers: { ...Object.fromEntries(names.map((name) => [name, provider(upstream.url)])), gone },
      models: Object.fromEntries([...names, 'gone'].map((name) => [name, { targets: [`${name}/mock/ok`] }])),
    });
    // One request to the provider that is gone makes several attempts.
    for (const model of [...Array.from({ length: 9 }, () => names).flat(), 'gone']) {
      const json = { model, messages: [{ role: 'user', content: 'Hello' }] };
      await (await busy.fetch('/v1/chat/completions', { json })).text();
    }
    await workersKnow();
    const page = await openPage(t, busy, '/dashboard/providers');
    await settled(page);
    const legend = page.locator('figure').filter({ has: page.getByRole('img', { name: 'Failed attempts over time' }) });
    await legend.getByText(/^3 others [1-9]/).waitFor();
  });

  test('a long name is cut in the legend, and its figure is not', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const long = `mock/${'long-'.repeat(40)}ok`;
    const named = await startGateway(t, {
      providers: { one: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
      models: { chat: { targets: [`one/${long}`] } },
    });
    const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
    await (await named.fetch('/v1/chat/completions', { json })).text();
    await workersKnow();
    const page = await openPage(t, named, '/dashboard/models/chat', { size: 'phone' });
    const figure = page.locator('figure').filter({ has: page.getByRole('img', { name: 'Failed attempts over time' }) });
    await figure.getByTitle(`one/${long}`).waitFor();
    const [around, value] = await Promise.all(
      [figure, figure.locator('figcaption .text-ink').first()].map((one) => one.boundingBox()),
    );
    assert.ok(value!.x + value!.width <= around!.x + around!.width, 'the figure is within the chart');
  });

  test('are on the pages of a model and of usage, and sort by their heads', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/models/smart?range=7d');
    await settled(page);
    const table = page.getByRole('table').filter({ hasText: 'First token ≈' });
    await table.getByRole('button', { name: 'Failed' }).click();
    await page.waitForURL(/sort=-failed/);
    const first = await table.locator('tbody tr td:first-child').first().innerText();
    await table.getByRole('button', { name: 'Failed' }).click();
    await page.waitForURL(/sort=failed/);
    assert.notEqual(await table.locator('tbody tr td:first-child').first().innerText(), first);
    await page.goto('/dashboard/usage?group_by=provider&range=7d');
    await settled(page);
    await page.getByRole('img', { name: 'Failed attempts over time' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Range:/ }).count(), 1, 'a page has one range');
  });
});
