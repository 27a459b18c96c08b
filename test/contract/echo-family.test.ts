import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { noLimits, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';

/*
 * Issue 12: a family that a stranger adds is one folder, one route, one line, and no edit in `spine/`. It is added to a
 * copy of the sources, which then runs as users run it.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));
const checkout = temporaryFolder({ after });
for (const part of ['bin', 'src', 'package.json']) cpSync(join(root, part), join(checkout, part), { recursive: true });
symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
mkdirSync(join(checkout, 'src/inference/families/echo'));
add('endpoint.ts', 'src/inference/families/echo/endpoint.ts');
add('route.ts', 'src/http/routes/echo.ts');
const table = join(checkout, 'src/main/routes.ts');
const line = '    embeddingsRoute(services),\n';
const before = readFileSync(table, 'utf8');
assert.ok(before.includes(line));
writeFileSync(
  table,
  `import { echoRoute } from '../http/routes/echo.ts';\n${before.replace(line, `${line}    echoRoute(services),\n`)}`,
);

const asked: string[] = [];
const upstreams = await Promise.all(['bad', 'good'].map(startUpstream));
const gateway = await startGatewayProcess(
  { after },
  {
    providers: Object.fromEntries(
      upstreams.map((url, i) => [`up-${i}`, { type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' }]),
    ),
    models: {
      parrot: { targets: [0, 1].map((i) => ({ provider: `up-${i}`, model: 'parrot-1', priority: i + 1 })) },
    },
    plans: { default: { ...noLimits.default, windows: { '5h': 100 } } },
  },
  { bin: join(checkout, 'bin/culvert.mjs') },
);

test('an added family fails over, streams, and is metered', async () => {
  const response = await echo({ model: 'parrot', text: 'Hello', stream: true });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(response.headers.get('x-culvert-provider'), 'up-1');
  assert.equal(response.headers.get('x-culvert-attempts'), '2');
  assert.equal(response.headers.get('x-culvert-cost'), '3');
  assert.equal(await response.text(), 'data: Hello\n\ndata: [DONE]\n\n');
  assert.deepEqual(asked.splice(0), ['bad', 'good']);
  const id = response.headers.get('x-culvert-request-id');
  const record = (await (await ask(`/v1/requests/${id}`)).json()) as { endpoint: string; units: number };
  assert.deepEqual([record.endpoint, record.units], ['echo', 3]);
});

test('an added family is answered once for an Idempotency-Key', async () => {
  const before = await used();
  const answers = [];
  for (let i = 0; i < 2; i += 1) {
    const response = await echo({ model: 'parrot', text: 'Again' }, { 'idempotency-key': 'one' });
    answers.push([response.status, await response.json()]);
  }
  assert.deepEqual(answers, [
    [200, { text: 'Again' }],
    [200, { text: 'Again' }],
  ]);
  assert.equal(asked.splice(0).filter((one) => one === 'good').length, 1);
  assert.equal((await used()) - before, 3);
});

test('an added family refuses what it cannot read, and what the plan has no more of', async () => {
  const wrong = await echo({ model: 'parrot' });
  assert.equal(wrong.status, 400);
  assert.equal(((await wrong.json()) as { error: { param: string } }).error.param, 'text');
  const unknown = await echo({ model: 'nobody', text: 'x' });
  assert.equal(unknown.status, 404);
  const before = await used();
  let last = 200;
  for (let sent = 0; sent < 40 && last === 200; sent += 1)
    last = (await echo({ model: 'parrot', text: 'More' })).status;
  assert.equal(last, 429);
  assert.ok(before < 100 && (await used()) > 97);
});

function add(file: string, place: string): void {
  const text = readFileSync(join(root, 'test/contract/echo', file), 'utf8');
  const toSources = '../'.repeat(place.split('/').length - 2);
  const own = text
    .replaceAll("'../../../src/", `'${toSources}`)
    .replace("'./endpoint.ts'", "'../../inference/families/echo/endpoint.ts'");
  writeFileSync(join(checkout, place), own);
}

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${testKey}`, ...(init.headers as Record<string, string>) };
  return fetch(gateway.url + path, { ...init, headers });
}

function echo(body: object, headers: Record<string, string> = {}): Promise<Response> {
  return ask('/v1/echo', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function used(): Promise<number> {
  const usage = (await (await ask('/v1/usage')).json()) as { windows: { '5h': { used: number } } };
  return usage.windows['5h'].used;
}

/** `bad` always fails. */
async function startUpstream(name: string): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      if (request.url !== '/v1/echo') return response.writeHead(404).end('{}');
      asked.push(name);
      if (name === 'bad') return response.writeHead(500).end('{"error":{"message":"no"}}');
      const { text, stream } = JSON.parse(body) as { text: string; stream: boolean };
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      response.end(stream ? `data: ${text}\n\ndata: [DONE]\n\n` : JSON.stringify({ text }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
