import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { runCommand, startProcess, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { openPage, shoot } from './open-page.ts';

const skip = chromiumMissing;

const go = (page: Page, title: string) => page.getByRole('link', { name: title, exact: true }).first().click();

async function choose(page: Page, name: RegExp | string, option: string) {
  await page.getByRole('button', { name }).first().click();
  await page.getByRole('option', { name: option }).first().click();
}

async function ask(page: Page, text: string) {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(`Mock answer to: ${text}`).waitFor();
}

test('from an empty folder to a colleague’s key, its cost and documents that are found, by mouse', {
  skip,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  const server = await startProcess(t, { cwd });
  const link = JSON.parse((await runCommand(['dashboard', '--json'], { cwd })).stdout) as { url: string };
  const page = await openPage(t, server, link.url.slice(server.url.length), {
    login: null,
    record: 'first-visit',
  });

  await page.getByRole('heading', { name: 'Welcome to Culvert' }).waitFor();
  await page.getByLabel('Key').fill('sk-proj-a-key-of-a-provider');
  await page.getByLabel('Base URL').fill(`${upstream.url}/v1`);
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByLabel('Model').selectOption('openai/mock/ok');
  await page.getByRole('link', { name: 'Try it in the playground' }).click();
  await ask(page, 'Are you there?');

  await go(page, 'Models');
  await page.getByRole('button', { name: 'Add model' }).click();
  await page.getByLabel('Name').fill('smart');
  await page.getByLabel('Target', { exact: true }).fill('openai/mock/ok');
  await page.getByLabel('USD in').fill('300');
  await page.getByLabel('USD out').fill('1500');
  await page.getByRole('dialog').getByRole('button', { name: 'Add model' }).click();
  await page.getByText('smart can be called.').waitFor();

  await go(page, 'Plans');
  await page.getByRole('button', { name: 'New plan' }).click();
  await page.getByLabel('Name').fill('team');
  await page.getByRole('button', { name: 'Continue' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Units in 7 days' }).inputValue(), '', 'nobody chose a limit');
  await page.getByRole('textbox', { name: 'Units in 5 hours' }).fill('4');
  await page.getByRole('button', { name: 'Create plan' }).click();
  await page.getByText(/^Saved\./).waitFor();

  await go(page, 'Accounts');
  await page.getByRole('button', { name: 'New account' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Northwind');
  await page.getByRole('textbox', { name: 'Id' }).fill('northwind');
  await page.getByRole('combobox', { name: 'Plan' }).selectOption('team');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('laptop');
  await page.getByRole('button', { name: 'Create key' }).click();
  const secret = await page.getByRole('dialog').locator('pre').innerText();
  assert.match(secret, /^sk-cv-/);
  await page.getByRole('button', { name: 'I have copied it' }).click();

  await go(page, 'Playground');
  await choose(page, /^Key to use/, 'northwind · laptop');
  await choose(page, /^Model:/, 'smart');
  await ask(page, 'What does bread cost?');

  await go(page, 'Accounts');
  await page.getByRole('link', { name: /Northwind/ }).click();
  // One of four units.
  await page.locator('[role=meter][aria-label="Units in 5 hours"][aria-valuenow="25"]').waitFor();
  await shoot(page, 'first-visit-account');

  await go(page, 'Requests');
  await page.getByRole('row', { name: /smart/ }).first().getByRole('link').first().click();
  await page.getByRole('heading', { name: 'Route' }).waitFor();
  await page.getByText('openai/mock/ok').first().waitFor();
  await page
    .getByText(/^\$0\.0\d+$/)
    .first()
    .waitFor();
  await shoot(page, 'first-visit-request');

  await go(page, 'Vectors');
  await page.getByRole('button', { name: 'New collection' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('notes');
  await page.getByRole('button', { name: 'Create collection' }).click();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const texts = ['Rye bread needs sourdough.', 'The central bank raised its rates.'];
  await page.getByRole('textbox', { name: 'Texts, or points as JSON' }).fill(texts.join('\n'));
  await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('2 points added.').waitFor();
  await page.getByRole('searchbox').fill('how bread is baked');
  const first = page.getByRole('region', { name: 'Points' }).getByRole('row').nth(1);
  await first.getByRole('cell', { name: /^0\.\d{3}$/ }).waitFor();
  assert.match(await first.innerText(), /Rye bread/);
  await shoot(page, 'first-visit-vectors');
});
