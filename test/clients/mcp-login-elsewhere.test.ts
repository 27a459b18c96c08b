import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { startAuthorizationServer, startProtectedMcpServer } from '../start-authorization-server.ts';
import { adminKey, fetchAt } from '../start-gateway.ts';
import { until } from '../until.ts';

test('each process knows at once of an operator’s login, also one that has just refused calls for want of it', async (t) => {
  const issuer = await startAuthorizationServer(t);
  const server = await startProtectedMcpServer(t, issuer);
  const { url } = await startGatewayProcess(t, {
    server: { processes: 2 },
    mcp: { servers: { own: { url: server.url } } },
    fetch: { allow_private: [issuer.place] },
  });
  await until('both are ready', async () => (await fetch(`${url}/readyz`)).status === 200);
  const ask = fetchAt(url);
  // At once, so that each has a connection of its own: the processes get these in turn.
  const statuses = () =>
    Promise.all(
      Array.from({ length: 8 }, async () => {
        const response = await ask('/v1/mcp/call', { json: { tool: 'own__add', arguments: { a: 1, b: 2 } } });
        await response.arrayBuffer();
        return response.status;
      }),
    );
  const headers = { authorization: `Bearer ${adminKey}` };
  const begun = await ask('/admin/v1/mcp-servers/own/login', { method: 'POST', headers });
  const sent = await fetch(((await begun.json()) as { url: string }).url, { redirect: 'manual' });
  assert.deepEqual(await statuses(), Array(8).fill(502));
  assert.deepEqual(await statuses(), Array(8).fill(502));
  const back = await fetch(sent.headers.get('location') ?? '');
  assert.equal(back.status, 200, await back.text());
  assert.deepEqual(await statuses(), Array(8).fill(200));
});
