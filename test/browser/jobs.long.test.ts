import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertLooksRight, openPage } from './open-page.ts';

const skip = chromiumMissing;
const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway({ after: after as never }, overUpstreams(upstream.url));

const line = (custom_id: string, content: string) =>
  JSON.stringify({
    custom_id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'chat', messages: [{ role: 'user', content }] },
  });

async function begin(page: Page, text: string): Promise<void> {
  await page.getByRole('button', { name: 'New batch' }).click();
  const file = { name: 'questions.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(text) };
  await page.getByRole('dialog').getByLabel('Requests').setInputFiles(file);
  await page.getByRole('dialog').getByRole('button', { name: 'Begin' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

async function saved(page: Page, button: string): Promise<string> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: button }).first().click();
  return readFileSync(await (await download).path(), 'utf8');
}

test('a batch is begun with a file, followed to its end, and its answers are saved', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/jobs');
  await page.getByText('This key has no batches.').waitFor();
  await begin(page, `${line('a', 'One?')}\n${line('b', 'Two?')}\n`);
  await page.getByRole('row').filter({ hasText: 'Done' }).getByText('2 of 2').waitFor();
  const answers = (await saved(page, 'Answers')).trim().split('\n');
  assert.deepEqual(answers.map((text) => JSON.parse(text).custom_id).toSorted(), ['a', 'b']);
  await assertLooksRight(page, 'jobs-batches');
  await page.setViewportSize({ width: 1280, height: 800 });

  await page.getByRole('tab', { name: 'Files' }).click();
  const input = page.getByRole('row').filter({ hasText: 'questions.jsonl' });
  await input.waitFor();
  assert.equal(await page.locator('tbody tr').count(), 2, 'the questions and the answers');
  await assertLooksRight(page, 'jobs-files-some');
  await page.setViewportSize({ width: 1280, height: 800 });
  await input.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete file' }).click();
  await page.getByText('The file was deleted.').waitFor();
  await input.waitFor({ state: 'detached' });
});

test('what is wrong with a batch is said in its row, and with its lines in a file', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/jobs');
  await begin(page, '\n');
  await page.getByRole('row').filter({ hasText: 'Failed' }).getByText('The input file has no lines.').waitFor();
  await begin(page, `${JSON.stringify({ custom_id: 'wrong' })}\n`);
  await page.getByRole('row').filter({ hasText: '0 of 1' }).getByRole('button', { name: 'Errors' }).waitFor();
  assert.match(await saved(page, 'Errors'), /"custom_id":"wrong"/);
});

test('a batch that cannot begin is tried again without another upload, and one that is cancelled never begins', {
  skip,
}, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/jobs');
  const dialog = page.getByRole('dialog');
  const uploads: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/v1/files')) uploads.push(request.url());
  });
  const file = { name: 'again.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(`${line('a', 'One?')}\n`) };
  const fill = async () => {
    await page.getByRole('button', { name: 'New batch' }).click();
    await dialog.getByLabel('Requests').setInputFiles(file);
  };
  await fill();
  const named = dialog.getByLabel('Endpoint').locator('option');
  await named.filter({ hasText: '/v1/moderations' }).waitFor({ state: 'attached' });
  await named.filter({ hasText: '/v1/messages' }).waitFor({ state: 'attached' });
  await page.route('**/v1/batches', (route) => route.fulfill({ status: 500, json: { error: { message: 'Full.' } } }), {
    times: 1,
  });
  const begun = dialog.getByRole('button', { name: 'Begin' });
  await begun.click();
  await dialog.getByText('Full.').waitFor();
  await begun.click();
  await page.getByText('The batch has begun.').waitFor();
  assert.equal(uploads.length, 1);

  const refused = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/files'));
  // Nobody answers this one.
  await page.route('**/v1/files', () => {}, { times: 1 });
  await fill();
  await begun.click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await refused;
});

test('the key that an address names is used, and any other is found by typing, of more than a list holds', {
  skip,
}, async (t) => {
  const count = 1_010;
  const accountOf = (at: number) => `team-${String(at).padStart(4, '0')}`;
  const keys = Array.from({ length: count }, (_, at) => ({
    key: `sk-cv-many-keys-${accountOf(at)}`,
    account: accountOf(at),
    name: 'k',
  }));
  const many = await startGateway(t, { ...overUpstreams(upstream.url), keys });
  const id = (at: number) => `sk-cv-declared:${accountOf(at)}/k`;
  const page = await openPage(t, many, `/dashboard/jobs?key=${encodeURIComponent(id(count - 1))}`);
  const picker = page.getByRole('button', { name: /^Key to use: / });
  await page.getByText('This key has no batches.').waitFor();
  assert.equal(await picker.innerText(), `${accountOf(count - 1)} · k`);
  await picker.click();
  await page.keyboard.type(accountOf(count - 3));
  await page.getByRole('option', { name: accountOf(count - 3) }).click();
  await page.getByRole('button', { name: `Key to use: ${accountOf(count - 3)} · k` }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('key'), id(count - 3));
  await page.goto('/dashboard/jobs');
  await page.getByText('This key has no batches.').waitFor();
  assert.equal(await picker.innerText(), `${accountOf(count - 3)} · k`, 'the last choice');
  // Not about jobs: a list of so many keys is here.
  await page.goto('/dashboard/keys');
  const turn = (to: string) => page.getByRole('button', { name: `${to} page` }).click();
  await turn('Next');
  await page.getByText('Page 2', { exact: true }).waitFor();
  const cursor = new URL(page.url()).searchParams.get('pages');
  await page.goto(`/dashboard/keys?pages=${Array(40).fill(cursor).join('+')}`);
  for (const [to, number] of [
    ['Next', 42],
    ['Next', 43],
    ['Previous', 42],
  ] as const) {
    await turn(to);
    await page.getByText(`Page ${number}`, { exact: true }).waitFor();
  }
  await page.goto('/dashboard/jobs?key=revoked');
  await page.getByText('The key revoked is not active, or you may not use it.').waitFor();
  assert.equal(await page.getByText('This key has').count(), 0, 'the batches of another key');
  await picker.click();
  await page.getByRole('option').first().click();
  await page.getByText('This key has no batches.').waitFor();
  const none = { data: [], next_cursor: null };
  await page.route('**/admin/v1/keys?status=active*', (route) => route.fulfill({ json: none }));
  await page.goto('/dashboard/jobs?key=revoked');
  await page.getByText('There are no keys yet.').waitFor();
});
