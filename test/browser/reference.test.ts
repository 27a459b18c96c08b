import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startGateway } from '../start-gateway.ts';
import { assertAccessible, assertFits, openPage, shoot } from './open-page.ts';

const hooks = { after: after as never };
const skip = chromiumMissing;
const gateway = await startGateway(hooks, {});
const path = '/dashboard/reference';

test('an operation is found by words, and shows what it takes and answers', { skip }, async (t) => {
  const page = await openPage(t, gateway, path);
  await page.getByRole('searchbox').fill('post admin keys');
  await page.getByRole('button', { name: 'POST /admin/v1/keys', exact: true }).click();
  const body = page.getByRole('list', { name: 'Body' });
  const account = body.getByRole('listitem').filter({ hasText: /^account/ });
  assert.match(await account.innerText(), /string[\s\S]*required/);
  assert.match(page.url(), /operation=/);
  await assertAccessible(page);
  await shoot(page, 'reference-desktop-light');
});

test('it can be tried as the key that one speaks as, and as the operator', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?operation=POST+/v1/embeddings`);
  const answer = page.getByRole('region', { name: 'Answer of the call' });
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText('200', { exact: true }).waitFor();
  assert.match(await answer.innerText(), /culvert-lexical-1024/);
  await page.getByRole('textbox', { name: 'Body' }).fill('{"model": 1}');
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText('400', { exact: true }).waitFor();
  await page.getByRole('textbox', { name: 'Body' }).fill('{');
  await page.getByText(/This is no JSON/).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
  await page.goto(`${path}?operation=GET+/admin/v1/keys`);
  await page.getByRole('textbox', { name: 'account (optional)' }).fill('other');
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText('200', { exact: true }).waitFor();
  assert.match(await answer.innerText(), /"account": "other"/);
  assert.doesNotMatch(await answer.innerText(), /"account": "dev"/);
  await page.setViewportSize({ width: 390, height: 844 });
  await assertFits(page);
  await assertAccessible(page);
  await shoot(page, 'reference-phone-light');
});
