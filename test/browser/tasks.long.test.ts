import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { AccountWindows } from '../../src/admin/entries/account-windows.ts';
import type { AccountReply } from '../../src/admin/entries/accounts.ts';
import type { PlanReply } from '../../src/admin/entries/plans.ts';
import type { Statement } from '../../src/admin/statements/statement-schema.ts';
import { chromiumMissing } from '../chromium.ts';
import { startGateway, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertFewClicks, countClicks } from './count-clicks.ts';
import { assertAccessible, changes, openPage, settled, shoot } from './open-page.ts';
import { startSeededGateway } from './seeded-gateway.ts';

const skip = chromiumMissing;
// With the whole of last month.
const gateway = skip ? null! : await startSeededGateway({ after: after as never }, { days: 62, perDay: 10 });

async function read<Reply>(path: string): Promise<Reply> {
  return (await (await gateway.admin(path)).json()) as Reply;
}

// A viewer is invited in teams.long.test.ts, a key's budget is raised in people.long.test.ts, and the slowest provider
// is one click away in attempts.long.test.ts.
suite('tasks of a week take four clicks each', { skip }, () => {
  test('a provider is added, and one of its models talks', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const page = await openPage(t, await startGateway(t, {}), '/dashboard');
    await page.getByRole('heading', { name: 'Welcome to Culvert' }).waitFor();
    await countClicks(page);
    await page.getByLabel('Key').fill('gsk_an-upstream-key');
    await page.getByLabel('Base URL').fill(`${upstream.url}/v1`);
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('Are you there?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Are you there?').nth(1).waitFor();
    assertFewClicks(page);
  });

  test('an account gets a plan of its own with a budget, and a key, in one go', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/accounts');
    await settled(page);
    await countClicks(page);
    await page.getByRole('button', { name: 'New account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Contoso');
    await dialog.getByLabel('Id').fill('contoso');
    await dialog.getByLabel('Plan', { exact: true }).selectOption('A new plan');
    await dialog.getByLabel('Name of the plan').fill('contoso');
    await dialog.getByLabel('USD in 30 days').fill('40');
    await dialog.getByLabel('First key').fill('production');
    await assertAccessible(page);
    await shoot(page, 'account-new-desktop-light');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    const secret = await dialog.locator('pre').innerText();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'Contoso' }).waitFor();
    assertFewClicks(page);
    const { definition } = await read<PlanReply>('/plans/contoso');
    assert.deepEqual(definition.budget, { month: 40 });
    const answer = await gateway.fetch('/v1/chat/completions', {
      headers: { authorization: `Bearer ${secret}` },
      json: { model: 'cheap', messages: [{ role: 'user', content: 'Hello' }] },
    });
    assert.equal(answer.status, 200);
  });

  test('a plan of that name stays as it is, and what was made before a refusal is not made again', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/accounts');
    await page.getByRole('button', { name: 'New account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Id').fill('atlas');
    await dialog.getByLabel('Plan', { exact: true }).selectOption('A new plan');
    await dialog.getByLabel('Name of the plan').fill('team');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await dialog.getByText("The plan 'team' already exists").waitFor();
    const wrong = dialog.locator('[aria-invalid=true]');
    await dialog.getByLabel('Name of the plan').fill('not a name');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await wrong.waitFor();
    assert.equal(await wrong.inputValue(), 'not a name');
    await dialog.getByLabel('Name of the plan').fill('fresh');
    await dialog.getByLabel('First key').fill('a, b');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await dialog.getByText("An account 'atlas' exists already.").waitFor();
    await dialog.getByLabel('Id').fill('atlas-two');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await dialog.getByText(/^Expected 1 to 64 letters/i).waitFor();
    assert.equal(await wrong.inputValue(), 'a, b');
    await dialog.getByLabel('First key').fill('');
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'atlas-two' }).waitFor();
    assert.equal((await read<AccountReply>('/accounts/atlas-two')).plan, 'fresh');
  });

  test('why a request was refused, and which targets were tried', async (t) => {
    const refused = await gateway.fetch('/v1/embeddings', {
      headers: { authorization: `Bearer ${gateway.keys['maria.jensen/laptop']}` },
      json: { model: 'embed', input: ['Hello'] },
    });
    assert.equal(refused.status, 403);
    const page = await openPage(t, gateway, '/dashboard/requests');
    await settled(page);
    await countClicks(page);
    await page.locator('tbody tr').filter({ hasText: 'embed' }).first().click();
    await page.getByRole('heading', { name: 'Why it was refused' }).waitFor();
    await page.getByText("'embed'").first().waitFor();
    assertFewClicks(page);

    await page.goto('/dashboard/requests?model=private&class=failed');
    await settled(page);
    await countClicks(page);
    await page.locator('tbody tr').first().click();
    await page.getByText('local/qwen3-32b').first().waitFor();
    await page.getByText('answered 503: out of memory').first().waitFor();
    assertFewClicks(page);
  });

  test('last month is shown by account', async (t) => {
    const page = await openPage(t, gateway, '/dashboard/usage');
    await settled(page);
    await countClicks(page);
    await page.getByRole('link', { name: 'Statements' }).click();
    const now = new Date();
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
    const { data } = await read<Statement>(`/statements?month=${month}&time_zone=UTC`);
    assert.ok(data.length > 2);
    await page.getByRole('row', { name: /atlas/ }).waitFor();
    assert.equal(await page.getByLabel('Month').inputValue(), month);
    assert.equal(await page.locator('tbody tr').count(), data.length);
    assertFewClicks(page);
  });

  test('a credential is replaced by another one', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const body = { name: 'rotated', type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-key-before' };
    assert.equal((await gateway.admin('/providers', { method: 'POST', body })).status, 201);
    const [before] = await credentials();
    const page = await openPage(t, gateway, '/dashboard/providers/rotated');
    await settled(page);
    await countClicks(page);
    await page.getByRole('button', { name: 'Add credential' }).click();
    await page.getByLabel('API key').fill('upstream-key-after-1234');
    await page.getByRole('dialog').getByRole('button', { name: 'Add credential' }).click();
    await page.getByText('The credential was added.').waitFor();
    await page.getByRole('button', { name: `Remove ${before}` }).click();
    await page.getByRole('button', { name: 'Remove credential' }).click();
    await page.getByText('The credential was removed.').waitFor();
    assertFewClicks(page);
    const [now, ...others] = await credentials();
    assert.deepEqual(others, []);
    assert.notEqual(now, before);
  });

  test('an end user, a tag or a model gets a budget within an account', async (t) => {
    await gateway.admin('/accounts', { method: 'POST', body: { id: 'parts', plan: 'team' } });
    const page = await openPage(t, gateway, '/dashboard/accounts/parts');
    await settled(page);
    await countClicks(page);
    await page.getByRole('button', { name: 'Edit budgets' }).click();
    await page.getByRole('button', { name: 'Add a budget' }).click();
    await page.getByLabel('USD of budget 1').fill('much');
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    await page.locator('[name="budgets[0]"][aria-invalid=true]').waitFor();
    await page.getByLabel('USD of budget 1').fill('2.5');
    await page.getByLabel('Time of budget 1').selectOption('per calendar month');
    await page.getByLabel('Time zone of budget 1').fill('Europe/Berlin');
    await assertAccessible(page);
    await shoot(page, 'account-budgets-desktop-light');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Each end user: $2.50 per calendar month (Europe/Berlin)').waitFor();
    assertFewClicks(page);
    const { budgets, version } = await read<AccountReply>('/accounts/parts');
    assert.deepEqual(budgets, [{ by: 'user', usd: 2.5, calendar: 'month', time_zone: 'Europe/Berlin' }]);
    await page.getByRole('button', { name: 'Edit budgets' }).click();
    await page.getByLabel('USD of budget 1').fill('3');
    const theirs = [...budgets, { tag: 'night', usd: 1, window: 'week' }];
    await gateway.admin('/accounts/parts', { method: 'PATCH', body: { budgets: theirs, version } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Another person has changed this.').waitFor();
    const [line] = await changes(page);
    assert.match(line!, /^budgets .*night.*\b3\b/);
    await page.getByRole('button', { name: 'Use theirs' }).click();
    await page.getByLabel('USD of budget 2').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual((await read<AccountReply>('/accounts/parts')).budgets, theirs);
  });

  test('a budget of the calendar says what it comes to, or when it is used up', async (t) => {
    const put = (month: number) =>
      gateway.admin('/plans/paced', { method: 'PUT', body: { calendar_budget: { month }, rpm: 'off' } });
    await put(100);
    await gateway.admin('/accounts', { method: 'POST', body: { id: 'paced', plan: 'paced' } });
    const made = await gateway.admin('/keys', { method: 'POST', body: { account: 'paced', name: 'laptop' } });
    const headers = { authorization: `Bearer ${((await made.json()) as { key: string }).key}` };
    const json = { model: 'smart', messages: [{ role: 'user', content: 'Hello' }] };
    await (await gateway.fetch('/v1/chat/completions', { headers, json })).text();
    await workersKnow();
    const { data } = await read<AccountWindows>('/accounts/paced/windows');
    const { used, frees_at } = data[0]!.windows.find(({ calendar }) => calendar !== null)!;
    const endMs = Date.parse(frees_at!);
    const beganMs = new Date(endMs).setUTCMonth(new Date(endMs).getUTCMonth() - 1);
    const page = await openPage(t, gateway, '/dashboard');
    await page.clock.setFixedTime((beganMs + endMs) / 2);
    await page.goto('/dashboard/accounts/paced');
    const text = await page.getByText(/at this pace/).innerText();
    const total = Number(/at this pace \$(\S+) is spent by then/.exec(text)?.[1]);
    assert.ok(Math.abs(total - 2 * used) < used / 10, `${text}; ${used} until now`);
    await put(used * 1.5);
    await page.reload();
    const full = new Date(beganMs + (endMs - beganMs) * 0.75);
    await page.getByText(new RegExp(`at this pace it is used up at ${full.getUTCDate()} `)).waitFor();
    await assertAccessible(page);
  });

  test('figures just below a unit are rounded to one of it', async (t) => {
    const definition = { rpm: 999_999, windows: { '5h': 999_499 }, tokens: { '5h': 999_999_999_999, week: 'off' } };
    await gateway.admin('/plans/round', { method: 'PUT', body: definition });
    await gateway.admin('/accounts', { method: 'POST', body: { id: 'round', plan: 'round' } });
    const page = await openPage(t, gateway, '/dashboard/accounts/round');
    await page.getByText('0 of 1M', { exact: true }).waitFor();
    await page.getByText('0 of 999k', { exact: true }).waitFor();
    await page.getByText('0 of 1T', { exact: true }).waitFor();
  });

  test('credit that was paid before is added, and left', async (t) => {
    await gateway.admin('/accounts', { method: 'POST', body: { id: 'prepaid', plan: 'team' } });
    const page = await openPage(t, gateway, '/dashboard/accounts/prepaid');
    await settled(page);
    await countClicks(page);
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByLabel('USD', { exact: true }).fill('120');
    await page.getByLabel('Note').fill('Invoice 7');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('$120.00 left').waitFor();
    await page.getByText(/by admin: Invoice 7/).waitFor();
    assertFewClicks(page);
  });
});

async function credentials(): Promise<string[]> {
  const provider = await read<{ credentials: { id: string }[] }>('/providers/rotated');
  return provider.credentials.map(({ id }) => id);
}
