/**
 * What a call of a tool through the gateway takes longer than the same call at its MCP server, over warm sessions of the
 * official client. `npm run bench -- mcp` prints ms.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startGateway, testKey } from '../../test/start-gateway.ts';
import { startMcpServer } from '../../test/start-mcp-server.ts';
import { finish } from '../results.ts';
import { judged, print } from '../rows.ts';

const rounds = 5;
const warmUpRounds = 5;
const calls = 200;
const overheadMaxMs = 2;

const closing: (() => Promise<void> | void)[] = [];
const t = { after: (done: () => Promise<void> | void) => void closing.push(done) };
const server = await startMcpServer(t, { form: 'stateless' });
const gateway = await startGateway(t as never, { mcp: { servers: { own: { url: server.url } } } });

async function connected(url: string): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${testKey}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }) as never);
  closing.push(() => client.close());
  return client;
}

interface Measured {
  /** Median of one call after the other. */
  ms: number;
  /** Of one call, of everything in this process: client, gateway and server. */
  cpuMs: number;
}

async function measure(client: Client, name: string): Promise<Measured> {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) {
    const startMs = performance.now();
    await client.callTool({ name, arguments: { a: 1, b: 2 } });
    times.push(performance.now() - startMs);
  }
  const { user, system } = process.cpuUsage(before);
  return { ms: times.sort((a, b) => a - b)[calls / 2]!, cpuMs: (user + system) / 1_000 / calls };
}

const direct = await connected(server.url);
const through = await connected(`${gateway.url}/mcp`);
const overheads: number[] = [];
const cpu: number[] = [];
for (let round = 0; round < warmUpRounds; round++) {
  await measure(direct, 'add');
  await measure(through, 'own__add');
}

for (let round = 0; round < rounds; round++) {
  const one = await measure(direct, 'add');
  const other = await measure(through, 'own__add');
  overheads.push(other.ms - one.ms);
  cpu.push(other.cpuMs - one.cpuMs);
}
const rows = [
  judged('a tool call through the gateway, p50 over a direct one', overheads, {
    atMost: overheadMaxMs,
    unit: ' ms',
    digits: 2,
  }),
  judged('… its CPU', cpu, { unit: ' ms', digits: 2 }),
];
print(rows);
for (const close of closing.reverse()) await close();
finish({
  subject: 'mcp',
  command: 'npm run bench -- mcp',
  how: 'The official client calls a tool over Streamable HTTP, one call after the other, at its server and through the\ngateway. Client, gateway and server share one process.',
  rows,
});
