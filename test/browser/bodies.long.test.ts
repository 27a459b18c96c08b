import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumMissing } from '../chromium.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { assertLooksRight, openPage, settled } from './open-page.ts';

/* Issue 30 §4: bodies are switched on from a page, read as a conversation, and searched. */

const skip = chromiumMissing;
const gateway = skip ? null! : await start();

async function start(): Promise<TestGateway> {
  const upstream = await startUpstream();
  after(() => upstream.close());
  return startGateway(
    { after: after as never },
    {
      providers: {
        openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' },
        claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-2' },
      },
      models: {
        smart: { targets: ['claude/claude-sonnet-4-5'] },
        voice: { type: 'speech', targets: ['openai/tts'] },
      },
    },
  );
}

/** One pixel. */
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

async function ask(path: string, json: object): Promise<string> {
  const answer = await gateway.fetch(path, { json });
  await answer.arrayBuffer();
  assert.equal(answer.status, 200);
  return answer.headers.get('x-culvert-request-id') ?? '';
}

const question = {
  model: 'smart',
  seed: 7,
  tools: [
    {
      type: 'function',
      function: { name: 'find_order', description: 'Finds an order.', parameters: { type: 'object', properties: {} } },
    },
  ],
  messages: [
    { role: 'system', content: 'You help customers of a bakery.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Where is my **rye bread**? It looked like this.' },
        { type: 'image_url', image_url: { url: picture } },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find_order', arguments: '{"number":41}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '{"state":"baking"}' },
  ],
};

async function stopAll(): Promise<void> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const list = await (await gateway.fetch('/admin/v1/body-rules', { headers })).json();
  for (const { id } of (list as { data: { id: string }[] }).data)
    await gateway.fetch(`/admin/v1/body-rules/${id}`, { method: 'DELETE', headers });
}

async function keep(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.getByRole('button', { name: 'Keep for a while' }).click();
  await page.getByLabel('Reason').fill('A customer asked where the bread is');
  await page.getByRole('button', { name: 'Keep them' }).click();
  await page.getByText(/Kept until .*, by .*: A customer asked/).waitFor();
}

test('an operator keeps the bodies of an account, and reads a request as a conversation', { skip }, async (t) => {
  t.after(stopAll);
  const page = await openPage(t, gateway, '/dashboard/accounts/dev');
  await page.getByText('The texts of requests and answers are not kept.').waitFor();
  await keep(page, '/dashboard/accounts/dev');
  await assertLooksRight(page, 'account-keeps-bodies');
  await page.goto('/dashboard/keys?account=dev');
  await page.getByRole('link', { name: 'test' }).first().click();
  await page.getByText(/Those of the account dev:\s*Kept until .*, by .*: A customer asked/).waitFor();
  assert.equal(await page.getByText('The texts of requests and answers are not kept.').count(), 0);

  const id = await ask('/v1/chat/completions', question);
  await page.goto(`/dashboard/requests/${id}`);
  await settled(page);
  const turns = page.getByRole('list', { name: 'Conversation' }).getByRole('listitem');
  assert.equal(await turns.count(), 5);
  assert.equal(await turns.nth(1).locator('strong').innerText(), 'rye bread');
  await turns.nth(1).getByRole('img').waitFor();
  assert.match(await turns.nth(2).innerText(), /find_order[\s\S]*"number": 41/);
  assert.match(await turns.nth(3).innerText(), /Result of[\s\S]*"state": "baking"/);
  assert.match(await turns.nth(4).innerText(), /^Assistant\s*answer/);
  // Claude knows no seed: the setting says so, in its place.
  await page.getByText('Settings of the request').waitFor();
  const seed = page.locator('dl').filter({ hasText: 'seed' }).last();
  assert.match(await seed.innerText(), /seed\s*7\s*dropped/);
  await assertLooksRight(page, 'request-conversation');

  await page.getByRole('tab', { name: 'Raw' }).click();
  await page.getByText('"role": "system"').waitFor();
  assert.match(page.url(), /bodies=raw/);
  await page.reload();
  await page.getByText('"role": "system"').waitFor();
});

test('speech is played from its page, and a thought is folded', { skip }, async (t) => {
  t.after(stopAll);
  const page = await openPage(t, gateway, '/dashboard/models/voice');
  await keep(page, '/dashboard/models/voice');
  const id = await ask('/v1/audio/speech', { model: 'voice', input: 'The bread is ready.', voice: 'alloy' });
  await page.goto(`/dashboard/requests/${id}`);
  await page.getByText('The bread is ready.').waitFor();
  const sound = page.locator('audio');
  assert.match((await sound.getAttribute('src')) ?? '', /^blob:/);
  await assertLooksRight(page, 'request-speech');
});

test('kept requests are found by their words, on one page and in the address', { skip }, async (t) => {
  t.after(stopAll);
  const page = await openPage(t, gateway, '/dashboard/accounts/dev');
  await keep(page, '/dashboard/accounts/dev');
  for (const dish of ['poppy seed roll', 'almond croissant', 'sourdough loaf']) {
    await ask('/v1/chat/completions', {
      model: 'smart',
      messages: [{ role: 'user', content: `Do you have a ${dish}?` }],
    });
  }
  await page.goto('/dashboard/bodies');
  await page.getByRole('list', { name: 'Kept now' }).getByText('A customer asked').waitFor();
  const rows = page.locator('main tbody tr');
  await page.getByRole('searchbox', { name: 'Words in requests and answers' }).fill('CROISSANT');
  await page.locator('mark').first().waitFor();
  // Rows from before are marked, too, until the answer is here.
  await rows.nth(1).waitFor({ state: 'detached' });
  assert.equal(await rows.count(), 1);
  assert.equal(await page.locator('mark').innerText(), 'croissant');
  assert.match(page.url(), /text=CROISSANT/);
  await assertLooksRight(page, 'bodies-found');
  await rows.first().click();
  await page.getByRole('list', { name: 'Conversation' }).getByText('almond croissant').first().waitFor();
  await page.goBack();
  await page.locator('mark').waitFor();
  // Another person has stopped it meanwhile.
  await stopAll();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText(/^There is no rule /).waitFor();
  await page.getByRole('list', { name: 'Kept now' }).waitFor({ state: 'detached' });
  await page.getByRole('searchbox', { name: 'Words in requests and answers' }).fill('no such pastry');
  await page.getByText('No kept request has these words.').waitFor();
  // An address may have more than the server searches for.
  await page.goto(`/dashboard/bodies?text=${'long'.repeat(100)}`);
  await page.getByText('No kept request has these words.').waitFor();
  await page.goto('/dashboard/bodies?account=nobody');
  await page.getByText('No kept request matches these filters.').waitFor();
  const filter = page.getByLabel('Model', { exact: true });
  await filter.focus();
  const offered = page.locator('datalist option[value=smart]');
  await offered.first().waitFor({ state: 'attached' });
});
