import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { otherKey, startGateway } from '../start-gateway.ts';
import { assertAccessible, assertFits, openPage, shoot } from './open-page.ts';

const hooks = { after: after as never };
const skip = chromiumMissing;
const gateway = await startGateway(hooks, {});
const path = '/dashboard/vectors';
const texts = [
  'Bread is made of flour, water and salt.',
  'The central bank raised its rates.',
  'Rye bread needs sourdough.',
];

async function filled(name: string) {
  const ok = async (where: string, json: unknown) => assert.equal((await gateway.fetch(where, { json })).status, 200);
  await ok('/v1/vectors/collections', { name, embedding_model: 'culvert-lexical-1024' });
  const points = texts.map((text, at) => ({
    id: at + 1,
    payload: { text, topic: at === 1 ? 'money' : 'food', page: at },
  }));
  await ok(`/v1/vectors/collections/${name}/points`, { points });
}

test('documents are added by paste and found by text', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await page.getByRole('button', { name: 'New collection' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('pasted');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('textbox', { name: 'Texts, or points as JSON' }).fill(texts.join('\n'));
  await page.getByRole('textbox', { name: 'Source' }).fill('notes');
  await assertAccessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('3 points added.').waitFor();
  await page.getByRole('searchbox').fill('how bread is baked');
  const first = page.getByRole('list', { name: 'Points' }).getByRole('listitem').first();
  await first
    .getByText(/^0\.\d{3}$/)
    .first()
    .waitFor();
  assert.match(await first.innerText(), /[Bb]read/);
  assert.match(page.url(), /collection=pasted.*text=how/);
  await assertAccessible(page);
});

test('a filter is made by clicking values, and turned round', { skip }, async (t) => {
  await filled('clicked');
  const page = await openPage(t, gateway, `${path}?collection=clicked`);
  await page.getByRole('button', { name: 'topic money' }).click();
  const points = page.getByRole('list', { name: 'Points' });
  await points.getByText(texts[0]!).waitFor({ state: 'detached' });
  await points.getByText(texts[1]!).waitFor();
  await page.getByRole('button', { name: 'topic is money' }).click();
  await points.getByText(texts[0]!).waitFor();
  assert.equal(await points.getByText(texts[1]!).count(), 0);
  await page.getByRole('button', { name: 'Remove the filter of topic' }).click();
  await points.getByText(texts[1]!).waitFor();
  await page.getByRole('searchbox').fill('[1, 2');
  await page
    .getByRole('alert')
    .getByText(/no vector/)
    .waitFor();
});

test('a map shows a sample, coloured by a field', { skip }, async (t) => {
  await filled('mapped');
  const page = await openPage(t, gateway, `${path}?collection=mapped&tab=map`);
  await page.getByRole('combobox', { name: 'Coloured by' }).selectOption('topic');
  const colours = page.getByRole('list', { name: 'Colours' });
  assert.deepEqual(await colours.getByRole('listitem').allInnerTexts(), ['food', 'money']);
  const fills = await page
    .getByRole('img', { name: 'Map of the points' })
    .locator('circle')
    .evaluateAll((all) => all.map((one) => (one as { getAttribute(name: string): string }).getAttribute('fill')));
  assert.deepEqual(fills.sort(), ['var(--series-1)', 'var(--series-1)', 'var(--series-2)']);
  await assertAccessible(page);
  await shoot(page, 'vectors-map-desktop-light');
});

test('what a payload holds is text, and another key has none of it', { skip }, async (t) => {
  await filled('hostile');
  const attack = '<img src=x onerror="document.title=1">';
  const points = [{ id: 9, payload: { text: attack, [attack]: attack } }];
  await gateway.fetch('/v1/vectors/collections/hostile/points', { json: { points } });
  const page = await openPage(t, gateway, `${path}?collection=hostile`, { size: 'phone', scheme: 'dark' });
  await page.getByText(attack).first().waitFor();
  assert.equal(await page.locator('#page img').count(), 0);
  await assertFits(page);
  await assertAccessible(page);
  await shoot(page, 'vectors-phone-dark');
  const other = await openPage(t, gateway, '/account', { login: { key: otherKey } });
  await other.goto(`/dashboard/vectors?collection=hostile`);
  await other.waitForURL('**/account');
});
