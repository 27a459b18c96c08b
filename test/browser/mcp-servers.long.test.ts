import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startAuthorizationServer, startProtectedMcpServer } from '../start-authorization-server.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { assertAccessible, assertLooksRight, openPage, shoot } from './open-page.ts';

const skip = chromiumMissing;

test('an MCP server is added, logged in at, changed and removed', { skip }, async (t) => {
  const issuer = await startAuthorizationServer(t);
  const server = await startProtectedMcpServer(t, issuer);
  const gateway = await startGateway(t, { fetch: { allow_private: [issuer.place] } });
  const page = await openPage(t, gateway, '/dashboard/mcp-servers');
  await page.getByRole('button', { name: 'Add MCP server' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Tickets');
  await dialog.getByLabel('URL').fill(server.url);
  await dialog.getByLabel('Tools not offered').fill('throw, l*');
  await dialog.getByRole('button', { name: 'Add MCP server' }).click();
  await dialog.getByText('a server has small letters').waitFor();
  await dialog.getByLabel('Name').fill('tickets');
  await dialog.getByRole('button', { name: 'Add MCP server' }).click();
  await page.getByText('needs a login', { exact: true }).waitFor();
  await shoot(page, 'mcp-server-login-desktop-light');
  await assertAccessible(page);

  await page.getByRole('button', { name: 'Log in' }).click();
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Open the login' }).click();
  await (await opened).getByText("Culvert is logged in at the MCP server 'tickets'.").waitFor();
  await (await opened).close();
  await dialog.getByText('You are logged in.').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('list', { name: 'Tools' }).getByText('add', { exact: true }).waitFor();
  await page.getByText('up', { exact: true }).waitFor();
  assert.deepEqual(await page.getByTitle('Its settings do not offer this tool.').allTextContents(), ['large', 'throw']);
  await shoot(page, 'mcp-server-desktop-light');
  await assertAccessible(page);
  await page.getByLabel('Tool', { exact: true }).selectOption('tickets__add');
  await page.getByLabel('Arguments, as JSON').fill('{"a": 1, "b": 2');
  await page.getByText('This is not valid JSON').waitFor();
  await page.getByLabel('Arguments, as JSON').fill('{"a": 20, "b": 22}');
  await page.getByRole('button', { name: 'Call the tool' }).click();
  await page.locator('pre').getByText('42', { exact: true }).first().waitFor();
  await assertAccessible(page);
  await shoot(page, 'mcp-server-tried-desktop-light');
  const json = { tool: 'tickets__add', arguments: { a: 1, b: 2 } };
  assert.equal((await gateway.fetch('/v1/mcp/call', { json })).status, 200);
  await page.getByRole('link', { name: 'Requests for its tools' }).click();
  await page
    .getByRole('row', { name: /tickets__add/ })
    .first()
    .getByRole('link')
    .click();
  await page.getByText('MCP server', { exact: true }).waitFor();
  await page.goBack();
  await page.goBack();

  await page.goto('/dashboard/mcp-servers');
  await page.getByRole('link', { name: 'Calls' }).click();
  await page
    .getByRole('row', { name: /add.*tickets.*200/ })
    .first()
    .waitFor();
  await assertLooksRight(page, 'mcp-calls');
  await page.goto('/dashboard/mcp-calls?mcp_server=ticket');
  await page.getByText('No call matches these filters.').waitFor();
  await page.goto('/dashboard/mcp-servers/tickets');

  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Other settings').fill('{"tools": {"deny": ["throw"]}, "timeout": "5s"}');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('tickets was changed.').waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await dialog.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('Nobody is logged in.').waitFor();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByRole('button', { name: 'Remove MCP server' }).click();
  await page.getByText('There are no MCP servers yet.').waitFor();
  const headers = { authorization: `Bearer ${adminKey}` };
  assert.equal((await gateway.fetch('/admin/v1/mcp-servers/tickets', { headers })).status, 404);
});
