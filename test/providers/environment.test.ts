import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalog } from '../../src/formats/providers/catalog.ts';
import { startForwardProxy } from '../forward-proxy.ts';
import { closedPort, startProcess } from '../start-process.ts';

const adminKey = 'an-admin-key-of-the-environment-0001';

test('a start without a file has each service whose key stands in the environment, and asks it at its own address', async (t) => {
  const named = catalog.filter(({ envKey }) => envKey !== null);
  assert.equal(new Set(named.map(({ envKey }) => envKey)).size, named.length, 'no two services share a variable');
  // No request leaves the machine: the proxy refuses them all, once it has seen where to.
  const proxy = await startForwardProxy(t, await closedPort(), 502);
  const gateway = await startProcess(t, {
    env: {
      ...Object.fromEntries(named.map(({ id, envKey }) => [envKey!, `key-of-${id}`])),
      HTTPS_PROXY: `http://${proxy.url}`,
      AWS_REGION: 'eu-west-1',
      CULVERT_ADMIN_KEY: adminKey,
    },
  });
  const answer = await fetch(`${gateway.url}/admin/v1/providers?limit=500`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { data } = (await answer.json()) as { data: { name: string; type: string }[] };
  assert.deepEqual(data.map(({ type }) => type).sort(), named.map(({ id }) => id).sort());
  const asked = new Set(proxy.orders.map((order) => order.split(' ')[1]));
  for (const { id, baseUrl, regional, paths } of named) {
    if (paths.models === null && paths.originModels === undefined) continue;
    const at = regional?.lists('eu-west-1') ?? baseUrl!;
    assert.ok(asked.has(`${new URL(at).host}:443`), `${id} was asked for its list`);
  }
});
