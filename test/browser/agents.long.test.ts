import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { agentClient, sending } from '../clients/a2a-client.ts';
import { startAgent } from '../start-agent.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { assertLooksRight, openPage, settled, shoot } from './open-page.ts';

const skip = chromiumMissing;

test('an agent is added, tested, called, changed and removed', { skip }, async (t) => {
  // A card may hold anything: an object in the place of a text is left out.
  const odd = { id: 'odd', name: {}, description: ['no text'], tags: 'none' } as never;
  const agent = await startAgent(t);
  const strange = await startAgent(t, { before: (_request, response) => oddCard(response, odd) });
  const gateway = await startGateway(t, {
    agents: { gone: { url: 'http://127.0.0.1:9/' }, strange: { url: strange.url } },
  });
  const page = await openPage(t, gateway, '/dashboard/agents');
  await page.getByRole('row', { name: /gone.*down.*file/ }).waitFor();
  await page.getByRole('button', { name: 'Add agent' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('my worker');
  await dialog.getByLabel('URL').fill(agent.url);
  await dialog.getByLabel('Token').fill('of-the-agent');
  await dialog.getByLabel('Units per message').fill('2,5');
  await dialog.getByRole('button', { name: 'Add agent' }).click();
  await dialog.getByText('has 1 to 64 letters').waitFor();
  await dialog.getByLabel('Name').fill('worker');
  await dialog.getByRole('button', { name: 'Add agent' }).click();
  await page.getByText('worker was added. It has 1 skill.').waitFor();
  await page.getByRole('heading', { name: 'worker' }).waitFor();
  await page.getByText('up', { exact: true }).waitFor();
  await page.getByRole('list', { name: 'Skills' }).getByText('Does work.').waitFor();
  assert.equal(agent.heard().at(-1)?.authorization, 'Bearer of-the-agent');
  assert.ok(!(await page.locator('main').innerText()).includes('0.0.0.0'), 'the card is that for callers');
  await assertLooksRight(page, 'agent');

  const client = await agentClient(gateway, 'worker');
  await client.sendMessage(sending('work'));
  await page.getByRole('link', { name: 'Messages to this agent' }).click();
  const row = page.getByRole('row', { name: /a2a\/worker/ });
  await row.first().waitFor();
  assert.equal(await row.count(), 1);
  await row.getByRole('link').click();
  const factOf = (name: string) => page.locator(`dt:text-is("${name}") + dd`);
  await factOf('Agent').getByText('worker', { exact: true }).waitFor();
  await factOf('Method').getByText('SendMessage').waitFor();
  await factOf('Task')
    .getByText(/^[0-9a-f-]{36}$/)
    .waitFor();
  await shoot(page, 'request-of-agent-phone-light');
  await page.goto('/dashboard/requests?agent=gone');
  await page.getByText('No request matches these filters.').waitFor();

  await page.keyboard.press('Control+k');
  await page.keyboard.type('strang');
  await page.getByRole('option', { name: /strange/ }).click();
  await page.getByText('odd', { exact: true }).waitFor();
  await page.goto('/dashboard/agents/gone');
  await page.getByText(/It cannot be reached/).waitFor();
  await page.getByText('Culvert has not read its card yet.').waitFor();

  await page.goto('/dashboard/agents/worker');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Other settings').fill('{"headers": {"authorization": "(secret)"}, "timeout": "5s"}');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('worker was changed.').waitFor();
  await page.getByRole('button', { name: 'Test now' }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByRole('button', { name: 'Remove agent' }).click();
  await page.getByText('worker was removed.').waitFor();
  const headers = { authorization: `Bearer ${adminKey}` };
  assert.equal((await gateway.fetch('/admin/v1/agents/worker', { headers })).status, 404);
});

test('a reader who closes the form while a new agent is tested stays where they are', { skip }, async (t) => {
  const agent = await startAgent(t);
  const gateway = await startGateway(t, {});
  const page = await openPage(t, gateway, '/dashboard/agents');
  const held = Promise.withResolvers<void>();
  await page.route('**/agents/slow/test', async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Add agent' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('slow');
  await dialog.getByLabel('URL').fill(agent.url);
  const tested = page.waitForRequest('**/agents/slow/test');
  await dialog.getByRole('button', { name: 'Add agent' }).click();
  await tested;
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.getByRole('button', { name: 'Discard them' }).click();
  await page.getByRole('link', { name: 'Models' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
  held.resolve();
  await page.getByText('slow was added. It has 1 skill.').waitFor();
  await settled(page);
  assert.equal(new URL(page.url()).pathname, '/dashboard/models');
});

/** A card whose skill has no text where A2A wants one. */
function oddCard(response: ServerResponse, skill: unknown): true {
  const interfaces = [{ url: 'http://0.0.0.0/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ name: 'Odd', supportedInterfaces: interfaces, skills: [skill], capabilities: {} }));
  return true;
}
