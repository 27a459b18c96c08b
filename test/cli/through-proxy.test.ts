import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startForwardProxy } from '../forward-proxy.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { startProcess, temporaryFolder } from '../start-process.ts';
import { startTokenIssuer } from '../start-token-issuer.ts';
import { until } from '../until.ts';

/* A network that nobody leaves but through the proxy of HTTP_PROXY. */

const issuer = 'http://login.test';

/** Both are behind the proxy, which leads everybody to one port. */
async function startOutside(t: Parameters<typeof startForwardProxy>[0]) {
  const idp = await startTokenIssuer('culvert');
  t.after(() => idp.close());
  const server = await startMcpServer(t, {
    before(request, response) {
      if (request.url !== '/keys') return false;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: idp.state.keys }));
      return true;
    },
  });
  return { idp, proxy: await startForwardProxy(t, Number(new URL(server.url).port)) };
}

for (const processes of [1, 2]) {
  test(`keys of issuers and MCP servers are asked for through the environment's proxy (processes: ${processes})`, async (t) => {
    const { idp, proxy } = await startOutside(t);
    const cwd = temporaryFolder(t);
    const config = {
      server: { port: 0, processes },
      storage: { data_dir: join(cwd, 'data') },
      admin: { key: adminKey },
      accounts: { team: {} },
      keys: [{ key: testKey, account: 'team', name: 'test' }],
      callers: { tokens: [{ issuer, jwks_url: `${issuer}/keys`, audience: 'culvert', account: 'team' }] },
      mcp: { servers: { outside: { url: 'http://mcp.test/mcp' } } },
    };
    writeFileSync(join(cwd, 'culvert.yaml'), JSON.stringify(config));
    const { url } = await startProcess(t, {
      args: ['--config', 'culvert.yaml'],
      cwd,
      env: { HTTP_PROXY: `http://user:word@${proxy.url}`, CULVERT_AUTODETECT: '0' },
    });

    const models = async () =>
      fetch(`${url}/v1/models`, {
        signal: AbortSignal.timeout(20_000),
        headers: { authorization: `Bearer ${await idp.sign({ iss: issuer })}` },
      });
    // The first may find a proxy and an issuer that a busy machine keeps waiting.
    await until('the keys are known', async () => (await models()).status === 200);
    const tools = await fetch(`${url}/mcp/outside`, {
      signal: AbortSignal.timeout(20_000),
      method: 'POST',
      headers: {
        authorization: `Bearer ${testKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    });
    assert.match(await tools.text(), /"add"/);
    const user = `Basic ${btoa('user:word')}`;
    for (const host of ['login.test', 'mcp.test'])
      assert.ok(proxy.orders.includes(`CONNECT ${host}:80 ${user}`), proxy.orders.join('\n'));
  });
}
