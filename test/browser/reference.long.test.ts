import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startGateway } from '../start-gateway.ts';
import { assertAccessible, assertFits, assertLooksRight, openPage, shoot } from './open-page.ts';

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
  await shoot(page, 'reference-tried-desktop-light');
});

test('operations are grouped by their subject', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/reference');
  const groups = page.getByRole('navigation', { name: 'Operations' }).locator('summary');
  await groups.first().waitFor();
  const names = (await groups.allInnerTexts()).map((text) => text.replace(/\s*\d+$/, ''));
  assert.deepEqual(names.slice(0, 3), ['Chat and text', 'Embeddings, ranking and moderation', 'Images and video']);
  for (const name of ['Vectors', 'Admin: keys']) assert.ok(names.includes(name), names.join());
  await groups.filter({ hasText: 'Files and batches' }).click();
  await page.getByRole('button', { name: 'POST /v1/messages/batches', exact: true }).waitFor();
});

test('it can be tried as the key that one speaks as, and as the operator', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?operation=POST+/v1/embeddings`);
  const answer = page.getByRole('region', { name: 'Response of the call' });
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText('200', { exact: true }).waitFor();
  assert.match(await answer.innerText(), /culvert-lexical-1024/);
  await page.getByRole('textbox', { name: 'Body' }).fill('{"model": 1}');
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText('400', { exact: true }).waitFor();
  await page.getByRole('textbox', { name: 'Body' }).fill('{');
  await page.getByText(/This is not valid JSON/).waitFor();
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
  await shoot(page, 'reference-tried-phone-light');
});

test('what changes something asks first, and what only asks does not', { skip }, async (t) => {
  await gateway.fetch('/v1/vectors/collections', { json: { name: 'gone', embedding_model: 'culvert-lexical-1024' } });
  const there = async () => (await gateway.fetch('/v1/vectors/collections/gone')).status;
  const page = await openPage(t, gateway, `${path}?operation=DELETE+/v1/vectors/collections/{collection}`);
  const answer = page.getByRole('region', { name: 'Response of the call' });
  await page.getByRole('textbox', { name: 'collection' }).fill('gone');
  await page.getByRole('button', { name: 'Send' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send this call?' });
  await dialog.getByText('DELETE /v1/vectors/collections/gone', { exact: true }).waitFor();
  await dialog.getByText('as the key test of dev').waitFor();
  await assertLooksRight(page, 'reference-confirm');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await there(), 200, 'nothing was sent');
  await page.getByRole('button', { name: 'Send' }).click();
  await dialog.getByRole('button', { name: 'Send DELETE' }).click();
  await answer.getByText('200', { exact: true }).waitFor();
  assert.equal(await there(), 404);
  for (const [operation, asks] of [
    ['POST /v1/vectors/collections', true],
    ['POST /v1/vectors/collections/{collection}/points', true],
    ['POST /v1/vectors/collections/{collection}/points/search/batch', false],
    ['POST /v1/tools/batch/scrape', true],
    ['POST /v1/tools/search', false],
    ['POST /v1/messages/batches', true],
    ['POST /v1/responses/{id}/cancel', true],
    ['PATCH /admin/v1/accounts/{id}', true],
    ['POST /admin/v1/keys', true],
    ['POST /admin/v1/plans/{name}/preview', false],
    ['POST /admin/v1/explain', false],
  ] as const) {
    await page.goto(`${path}?operation=${encodeURIComponent(operation)}`);
    const form = page.getByRole('article', { name: operation });
    await form.waitFor();
    for (const field of await form.locator('input:not([type=file])').all()) await field.fill('nobody');
    await form.getByRole('button', { name: 'Send' }).click();
    const asked = page.getByRole('dialog', { name: 'Send this call?' });
    await asked.or(answer).first().waitFor();
    assert.equal(await asked.count(), asks ? 1 : 0, operation);
  }
});

test('a form is sent with its files, and sound that comes back can be saved', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?operation=POST+/v1/audio/speech`);
  const answer = page.getByRole('region', { name: 'Response of the call' });
  const body = { model: 'tts-1', voice: 'alloy', input: 'Hello.', response_format: 'wav' };
  await page.getByRole('textbox', { name: 'Body' }).fill(JSON.stringify(body));
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText(/audio\/wav · \d/).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    answer.getByRole('link', { name: 'Download' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'answer.wav');
  const sound = await download.path();
  await page.goto(`${path}?operation=POST+/v1/audio/transcriptions`);
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'a file and a model are missing');
  await page.locator('input[type=file]').setInputFiles(sound);
  await page.getByRole('textbox', { name: 'model', exact: true }).fill('stt-1');
  await page.getByRole('combobox', { name: 'response_format (optional)' }).selectOption('verbose_json');
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText('200', { exact: true }).waitFor();
  assert.match(await answer.innerText(), /"text": "[\s\S]*"segments"/);
  await assertLooksRight(page, 'reference-form');
  await page.goto(`${path}?operation=POST+/v1/images/edits`);
  const png = Buffer.from('not a picture');
  const image = page.getByLabel('image', { exact: true });
  await image.setInputFiles([1, 2].map((at) => ({ name: `${at}.png`, mimeType: 'image/png', buffer: png })));
  await page.getByRole('textbox', { name: 'model', exact: true }).fill('sim/image');
  await page.getByRole('textbox', { name: 'prompt', exact: true }).fill('A culvert.');
  await page.getByRole('button', { name: 'Send' }).click();
  await answer.getByText('400', { exact: true }).waitFor();
  assert.match(await answer.innerText(), /'image' is not a known picture/);
});

test('Back returns to the list of operations, and a parameter in the header is sent', { skip }, async (t) => {
  const page = await openPage(t, gateway, '/dashboard/replicas');
  await page.getByRole('link', { name: 'API reference' }).click();
  await page.getByRole('searchbox').fill('get files');
  await page.waitForURL(/text=get/);
  await page.getByRole('button', { name: 'GET /v1/files', exact: true }).click();
  await page.getByLabel('anthropic-version').fill('2023-06-01');
  const [request] = await Promise.all([
    page.waitForRequest((one) => new URL(one.url()).pathname === '/v1/files'),
    page.getByRole('button', { name: 'Send' }).click(),
  ]);
  assert.equal(request.headers()['anthropic-version'], '2023-06-01');
  await page.goBack();
  await page.getByText('Choose an operation').waitFor();
  assert.match(page.url(), /reference\?text=get/);
});

test('a call that takes long is stopped', { skip }, async (t) => {
  const page = await openPage(t, gateway, `${path}?operation=GET+/admin/v1/keys`);
  await page.route('**/admin/v1/keys', () => {});
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('You stopped the call.').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send' }).isEnabled());
});
