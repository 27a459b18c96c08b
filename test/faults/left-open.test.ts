import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { rpc } from '../clients/a2a-client.ts';
import { startAgent } from '../start-agent.ts';
import { startGateway } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { startUpstream } from '../start-upstream.ts';
import { startEngine } from '../tools/start-engine.ts';
import { until } from '../until.ts';

/** A way to the server at `url`, which counts the connections that are open. The server seems to leave them open for long. */
async function startWay(t: TestContext, url: string) {
  const { hostname, port } = new URL(url);
  const way = { url: '', open: 0, opened: 0 };
  const server = createServer((client) => {
    way.opened += 1;
    way.open += 1;
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      client.write(bytes.toString('latin1').replace(/keep-alive: timeout=\d+/i, 'keep-alive: timeout=99'), 'latin1');
    });
    upstream.on('error', () => client.destroy());
    client
      .on('error', () => upstream.destroy())
      .once('close', () => {
        way.open -= 1;
        upstream.destroy();
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  way.url = url.replace(`${hostname}:${port}`, `127.0.0.1:${(server.address() as AddressInfo).port}`);
  return way;
}

test('a gateway that is closed leaves no connection open to any server that it has called', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const engine = await startEngine(t, () => ({ body: { results: [] } }));
  const servers = {
    provider: upstream.url,
    agent: (await startAgent(t)).url,
    mcp: (await startMcpServer(t)).url,
    engine: engine.url,
  };
  const ways = Object.fromEntries(
    await Promise.all(Object.entries(servers).map(async ([name, url]) => [name, await startWay(t, url)] as const)),
  );
  const at = (name: keyof typeof servers) => ways[name]!.url;
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${at('provider')}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['up/mock/ok'] } },
    agents: { worker: { url: at('agent') } },
    mcp: { servers: { sums: { url: at('mcp') } } },
    tools: { search: { providers: [{ type: 'searxng', base_url: at('engine') }] } },
  });
  const messages = [{ role: 'user', content: 'Hello' }];
  const chat = await gateway.fetch('/v1/chat/completions', { json: { model: 'chat', messages } });
  assert.equal(chat.status, 200, await chat.text());
  const list = await gateway.fetch('/a2a');
  assert.equal(list.status, 200, await list.text());
  await rpc(gateway, 'worker', { method: 'SendMessage', params: {} });
  const tools = await gateway.fetch('/mcp', {
    json: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    headers: { accept: 'application/json, text/event-stream' },
  });
  assert.match(await tools.text(), /sums/);
  await gateway.fetch('/v1/tools/search', { json: { query: 'otters' } });
  for (const [name, { opened }] of Object.entries(ways)) assert.ok(opened > 0, `${name} was called`);

  await gateway.close(0);
  await until(
    `no connection is open: ${JSON.stringify(ways)}`,
    () => Object.values(ways).every(({ open }) => open === 0),
    10_000,
  );
});
