import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { markedMembers } from '../../src/config/marked-members.ts';
import { mcpUrlServerSchema } from '../../src/config/schema/schema-mcp.ts';
import { providerSchema } from '../../src/config/schema/schema-providers.ts';
import { catalog } from '../../src/formats/providers/catalog.ts';
import { adminKey, overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * A stored secret, which nobody may read, must not be sent to an address that an operator sets later.
 */

const secret = 'sk-sealed-canary-0123456789abcdef';

interface Refusal {
  error?: { param: string; message: string };
}

async function call(gateway: TestGateway, method: string, path: string, body?: unknown) {
  const response = await fetch(`${gateway.url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Refusal };
}

/** Counts who asks it, and answers nothing of use. */
async function listener(t: TestContext): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${JSON.stringify(request.headers)}`);
    response.writeHead(404).end('{}');
  }).on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A patch of one member, and the member itself. */
function patchOf(path: readonly string[], value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}

/** Where an operator could send things, by the schema: every address among a provider's members, and routing headers. */
function providerMoves(elsewhere: string, type: string): { param: string; patch: Record<string, unknown> }[] {
  const paths = markedMembers(providerSchema).filter(({ mark }) => mark === 'address');
  const elsewhereAs = (param: string, isUrl: boolean) => {
    if (param === 'type') return type === 'openai' ? 'openrouter' : 'openai';
    if (param === 'tls') return { ca: '/etc/ssl/certs/elsewhere.pem' };
    return isUrl ? elsewhere : 'elsewhere-1';
  };
  const moves = paths.map(({ path, schema }) => {
    const param = path.join('.');
    return { param, patch: patchOf(path, elsewhereAs(param, schema.kind === 'url' || schema.anyOf !== undefined)) };
  });
  const byHeader = ['helicone-target-url', 'x-portkey-custom-host', 'x-forwarded-host'].map((header) => ({
    param: `headers.${header}`,
    patch: { headers: { [header]: elsewhere } },
  }));
  return [...moves, ...byHeader];
}

test('S34 a sealed key of any provider type goes to no address that a patch sets, by any member of the schema', async (t) => {
  const [home, elsewhere] = [await listener(t), await listener(t)];
  const gateway = await startGateway(t);
  const leaks: string[] = [];
  let refused = 0;
  for (const { id: type, auth, regional } of catalog) {
    const definition = {
      name: `of-${type}`,
      type,
      base_url: `${home.url}/v1`,
      ...(regional !== undefined && { region: 'eu-central-1' }),
    };
    const key =
      auth === 'none' && regional !== undefined
        ? { aws: { access_key_id: 'AKIAIOSFODNN7EXAMPLE', secret_access_key: secret } }
        : { api_key: secret };
    const made = await call(gateway, 'POST', '/providers', { ...definition, ...key });
    assert.equal(made.status, 201, `${type}: ${JSON.stringify(made.json)}`);
    for (const { param, patch } of providerMoves(`${elsewhere.url}/v1`, type)) {
      const { status, json } = await call(gateway, 'PATCH', `/providers/of-${type}`, patch);
      // Tokens of this machine are refused before anything else.
      const isRefused =
        status === 400 && [param, param.split('.')[0], 'aws.secret_access_key'].includes(json.error?.param);
      if (isRefused) refused += 1;
      else leaks.push(`${type} ${param}: ${status} ${JSON.stringify(json)}`);
    }
    await call(gateway, 'POST', `/providers/of-${type}/test`);
    await call(gateway, 'DELETE', `/providers/of-${type}`);
  }
  assert.deepEqual(leaks, []);
  assert.ok(refused >= catalog.length * 6, String(refused));
  assert.deepEqual(elsewhere.asked, []);
});

test('S34 the sealed secrets of an MCP server go to no address that a patch sets', async (t) => {
  const [home, elsewhere] = [await listener(t), await listener(t)];
  const gateway = await startGateway(t);
  const moves = markedMembers(mcpUrlServerSchema)
    .filter(({ mark }) => mark === 'address')
    .map(({ path }) => ({ param: path.join('.'), patch: patchOf(path, elsewhere.url) }));
  assert.deepEqual(moves.map(({ param }) => param).sort(), ['oauth.issuer', 'url']);
  const oauth = { issuer: home.url, client_id: 'culvert', client_secret: secret };
  await call(gateway, 'POST', '/mcp-servers', { name: 'tools', url: `${home.url}/mcp`, oauth });
  await call(gateway, 'POST', '/mcp-servers', { name: 'headed', url: `${home.url}/mcp`, headers: { 'x-key': secret } });
  for (const { param, patch } of moves) {
    const { status, json } = await call(gateway, 'PATCH', '/mcp-servers/tools', patch);
    assert.deepEqual([status, json.error?.param], [400, 'oauth.client_secret'], param);
  }
  for (const patch of [{ url: `${elsewhere.url}/mcp` }, { headers: { 'x-forwarded-host': elsewhere.url } }]) {
    const { status, json } = await call(gateway, 'PATCH', '/mcp-servers/headed', patch);
    assert.equal(status, 400);
    assert.match(json.error!.message, /the header x-key was given for another address/);
  }
  // A login at another server gets no header of this one.
  const login = { oauth: { grant: 'authorization_code', issuer: elsewhere.url } };
  assert.equal((await call(gateway, 'PATCH', '/mcp-servers/headed', login)).status, 200);
  await call(gateway, 'POST', '/mcp-servers/tools/test');
  assert.deepEqual(
    elsewhere.asked.filter((line) => line.includes(secret)),
    [],
  );
});

test('S34 the body of a stored target is sent, and nowhere in the data folder in clear', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  const body = { vendor_secret: secret };
  const model = { id: 'stored', targets: [{ provider: 'up1', model: 'mock/ok', body }, 'up1/mock/ok'] };
  const made = await call(gateway, 'POST', '/models', model);
  assert.equal(made.status, 201, JSON.stringify(made.json));
  const json = { model: 'stored', messages: [{ role: 'user', content: 'Hi' }] };
  for (let i = 0; i < 8; i++) assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  assert.ok(upstream.requests().some((sent) => JSON.stringify(sent.body).includes(secret)));
  const patched = await call(gateway, 'PATCH', '/models/stored', { attempts: 2 });
  assert.equal(patched.status, 200, JSON.stringify(patched.json));
  const shown = JSON.stringify([(await call(gateway, 'GET', '/models/stored')).json, made.json, patched.json]);
  assert.ok(!shown.includes(secret), shown);
  for (const entry of readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    assert.ok(!readFileSync(file).includes(secret), file);
  }
});
