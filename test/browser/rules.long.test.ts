import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { RouteReply } from '../../src/admin/entries/routes.ts';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertLooksRight, openPage } from './open-page.ts';

test('a rule is made by mouse, sends a request elsewhere, is changed to a ladder and to a refusal, and removed', {
  skip: chromiumMissing,
}, async (t) => {
  const upstream = await startUpstream();
  after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
    models: { smart: { targets: ['up/mock/ok'] }, cheap: { targets: ['up/mock/tokens=3'] } },
  });
  const rule = async (name: string) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const answer = await fetch(`${gateway.url}/admin/v1/routes/${name}`, { headers });
    return { status: answer.status, ...((await answer.json()) as RouteReply) };
  };
  const ask = async () => {
    const json = { model: 'smart', messages: [{ role: 'user', content: 'Hello' }] };
    const answer = await gateway.fetch('/v1/chat/completions', { json });
    const text = await answer.text();
    return { status: answer.status, text, model: answer.headers.get('x-culvert-model') };
  };
  const page = await openPage(t, gateway, '/dashboard/routes');
  await page.getByText('There are no rules yet.').waitFor();
  await page.getByText('culvert routes set free-and-long').waitFor();
  await page.getByRole('button', { name: 'Add rule' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('saving');
  await dialog.getByLabel('Condition').fill('model == "smart" &&');
  await dialog.getByRole('button', { name: 'Add rule' }).click();
  await dialog.getByRole('alert').first().waitFor();
  await dialog.getByLabel('Condition').fill('model == "smart"');
  await dialog.getByLabel('Who answers').selectOption('Another model');
  await dialog.getByLabel('Model', { exact: true }).fill('cheap');
  await dialog.getByLabel('Tag', { exact: true }).fill('saved');
  await dialog.getByLabel('Temperature').fill('warm');
  await dialog.getByRole('button', { name: 'Add rule' }).click();
  await dialog.locator('[name="parameters.temperature"][aria-invalid="true"]').waitFor();
  await dialog.getByLabel('Temperature').fill('0,5');
  await assertLooksRight(page, 'rule-form');
  await page.setViewportSize({ width: 1280, height: 800 });
  await dialog.getByRole('button', { name: 'Add rule' }).click();
  await page.waitForURL(/dashboard\/routes\/saving/);
  await page.getByText('model == "smart"').waitFor();
  const effects = { model: 'cheap', parameters: { temperature: 0.5 }, tag: 'saved' };
  assert.deepEqual((await rule('saving')).definition, { when: 'model == "smart"', ...effects });
  assert.equal((await ask()).model, 'mock/tokens=3');

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Who answers').selectOption('One of several models, by budget or size');
  await dialog.getByLabel('Choose by', { exact: true }).selectOption('Input tokens');
  await dialog.getByLabel('At most, step 1').fill('100');
  await dialog.getByLabel('Model, step 1').fill('cheap');
  await dialog.getByRole('button', { name: 'Add step' }).click();
  await dialog.getByLabel('Model, step 2').fill('smart');
  await dialog.getByLabel('Tag', { exact: true }).fill('');
  await dialog.getByLabel('Temperature').fill('');
  await assertLooksRight(page, 'rule-ladder');
  await page.setViewportSize({ width: 1280, height: 800 });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('≤ 100: cheap').waitFor();
  const steps = [{ at_most: 100, model: 'cheap' }, { model: 'smart' }];
  assert.deepEqual((await rule('saving')).definition, { when: 'model == "smart"', ladder: { by: 'tokens', steps } });

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Who answers').selectOption('One of several models, by examples');
  await dialog.getByLabel('Embedding model').fill('culvert-lexical-1024');
  await dialog.getByLabel('Model, class 1').fill('cheap');
  await dialog.getByLabel('Examples, class 1').fill('Say hello\nWrite a greeting');
  await dialog.getByLabel('Model, class 2').fill('smart');
  await dialog.getByLabel('Examples, class 2').fill('Prove the theorem');
  await assertLooksRight(page, 'rule-classes');
  await page.setViewportSize({ width: 1280, height: 800 });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('cheap: 2 examples').waitFor();
  assert.equal((await ask()).model, 'mock/tokens=3', 'Hello is nearest to a greeting');
  await page.getByRole('button', { name: 'Edit' }).click();
  assert.equal(await dialog.getByLabel('Examples, class 1').inputValue(), 'Say hello\nWrite a greeting');
  await page.keyboard.press('Escape');
  // An example of several lines, which only the API makes, stays one.
  const classified = async () => {
    const { definition } = await rule('saving');
    return { ...definition }.classify as { classes: { model: string; examples: string[] }[] };
  };
  const { classes, ...classify } = await classified();
  const examples = ['Say hello\nto all', 'Write a greeting'];
  const patch = { classify: { ...classify, classes: [{ ...classes[0], examples }, classes[1]] } };
  await fetch(`${gateway.url}/admin/v1/routes/saving`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(patch),
  });
  await page.reload();
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Tag', { exact: true }).fill('saved');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('saved', { exact: true }).waitFor();
  assert.deepEqual((await classified()).classes[0]?.examples, examples);
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Tag', { exact: true }).fill('');
  await dialog.getByLabel('Who answers').selectOption('Nobody: the request is refused');
  await dialog.getByLabel('Message').fill('Not today.');
  await dialog.getByLabel('Status').fill('451');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('451 “Not today.”').waitFor();
  const refused = await ask();
  assert.equal(refused.status, 451);
  assert.match(refused.text, /Not today\./);

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByRole('switch', { name: 'In force' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('It is turned off').waitFor();
  assert.equal((await ask()).model, 'mock/ok');
  const changed = { error: { message: 'Read `current` and change that.' }, current: await rule('saving') };
  await page.route('**/routes/saving?version=*', (route) => route.fulfill({ status: 409, json: changed }), {
    times: 1,
  });
  await page.getByRole('button', { name: 'Remove' }).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await dialog.getByText('Another person has changed this, and nothing was done.').waitFor();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('There are no rules yet.').waitFor();
  assert.equal((await rule('saving')).status, 404);
});
