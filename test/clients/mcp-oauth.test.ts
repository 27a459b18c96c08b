import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway, testProcesses } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';

/* MCP servers that want tokens of OAuth 2.1 by client credentials. */

/** An authorization server that gives out `token-1`, `token-2`, … for one client. */
async function startIssuer(t: TestContext) {
  const asked: { authorization: string | undefined; body: URLSearchParams }[] = [];
  const server = createServer(async (request, response) => {
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const issuer = `http://${request.headers.host}`;
    if (request.url?.startsWith('/.well-known/oauth-authorization-server')) {
      return json(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        response_types_supported: ['code'],
        grant_types_supported: ['client_credentials'],
        code_challenge_methods_supported: ['S256'],
      });
    }
    if (request.url !== '/token') return json(404, {});
    let text = '';
    for await (const chunk of request) text += chunk;
    const { authorization } = request.headers;
    asked.push({ authorization, body: new URLSearchParams(text) });
    const right = `Basic ${Buffer.from('culvert:the-secret').toString('base64')}`;
    if (authorization !== right) return json(401, { error: 'invalid_client', error_description: 'no' });
    return json(200, { access_token: `token-${asked.length}`, token_type: 'bearer', expires_in: 3_600 });
  });
  const url = await listening(t, server);
  return { url, asked };
}

/** An MCP server that takes the tokens given out after `takes.after` of them, and says where tokens are. */
async function startGuarded(t: TestContext, issuer: string) {
  const takes = { after: 0 };
  const server = await startMcpServer(t, {
    before(request, response) {
      const base = `http://${request.headers.host}`;
      const metadata = `${base}/.well-known/oauth-protected-resource/mcp`;
      if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
        const body = JSON.stringify({ resource: `${base}/mcp`, authorization_servers: [issuer] });
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
        return true;
      }
      const token = /^Bearer token-(\d+)$/.exec(request.headers.authorization ?? '')?.[1];
      if (token !== undefined && Number(token) > takes.after) return false;
      response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
      return true;
    },
  });
  return { ...server, takes };
}

async function answer(gateway: { fetch: Awaited<ReturnType<typeof startGateway>>['fetch'] }) {
  const json = { tool: 'own__add', arguments: { a: 1, b: 2 } };
  const response = await gateway.fetch('/v1/mcp/call', { json });
  return { status: response.status, text: await response.text() };
}

test('a token is got by client credentials, shared by all sessions, and got anew when it is refused', async (t) => {
  const issuer = await startIssuer(t);
  const server = await startGuarded(t, issuer.url);
  const oauth = { issuer: issuer.url, client_id: 'culvert', client_secret: 'the-secret', scope: 'tools' };
  const gateway = await startGateway(t, { mcp: { servers: { own: { url: server.url, oauth } } } });
  const first = await answer(gateway);
  assert.equal(first.status, 200, first.text);
  const toBeginWith = issuer.asked.length;
  assert.ok(toBeginWith >= 1 && toBeginWith <= testProcesses, `${toBeginWith} tokens`);
  assert.equal(issuer.asked[0]!.body.get('grant_type'), 'client_credentials');
  server.takes.after = toBeginWith;
  const second = await answer(gateway);
  assert.equal(second.status, 200, second.text);
  const inAll = issuer.asked.length;
  assert.ok(inAll > toBeginWith && inAll <= 2 * testProcesses, `${inAll} tokens`);
});

test('the secret is sent to the configured issuer alone, and no answer holds it', async (t) => {
  const [issuer, other] = [await startIssuer(t), await startIssuer(t)];
  const server = await startGuarded(t, other.url);
  const oauth = { issuer: issuer.url, client_id: 'culvert', client_secret: 'the-secret' };
  const gateway = await startGateway(t, { mcp: { servers: { own: { url: server.url, oauth } } } });
  const refused = await answer(gateway);
  assert.ok(refused.status >= 500, refused.text);
  assert.match(refused.text, /was not authorized/);
  assert.deepEqual([issuer.asked, other.asked], [[], []]);
  const wrong = { ...oauth, issuer: other.url, client_secret: 'another-secret' };
  await gateway.reload({ mcp: { servers: { own: { url: server.url, oauth: wrong } } } });
  const unknown = await answer(gateway);
  assert.match(unknown.text, /was not authorized \(invalid_client\)/);
  assert.doesNotMatch(unknown.text, /another-secret/);
});

/** Places that an MCP server may name, in its answers. */
const named = {
  'its metadata': (inner: string, base: string) => ({ metadata: `${inner}/latest/meta-data`, issuer: base }),
  'its authorization server': (inner: string, base: string) => ({
    metadata: `${base}/.well-known/oauth-protected-resource/mcp`,
    issuer: inner,
  }),
};

for (const [what, places] of Object.entries(named)) {
  test(`S17 an MCP server that names a private place for ${what} has nobody asked there`, async (t) => {
    const asked: unknown[] = [];
    const inner = await listening(
      t,
      createServer((request, response) => {
        asked.push(request.url);
        response.writeHead(404).end();
      }),
    );
    const issuer = await startIssuer(t);
    const server = await startMcpServer(t, {
      before(request, response) {
        const base = `http://${request.headers.host}`;
        const { metadata, issuer } = places(inner, base);
        if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
          const body = JSON.stringify({ resource: `${base}/mcp`, authorization_servers: [issuer] });
          response.writeHead(200, { 'content-type': 'application/json' }).end(body);
        } else response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
        return true;
      },
    });
    const oauth = { issuer: issuer.url, client_id: 'culvert', client_secret: 'the-secret' };
    const gateway = await startGateway(t, { mcp: { servers: { own: { url: server.url, oauth } } } });
    const refused = await answer(gateway);
    assert.ok(refused.status >= 500, refused.text);
    assert.deepEqual(asked, []);
    assert.deepEqual(issuer.asked, []);
  });
}
