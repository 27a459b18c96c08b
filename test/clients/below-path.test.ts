import assert from 'node:assert/strict';
import { createServer, request as startRequest } from 'node:http';
import { after, test } from 'node:test';
import { BedrockRuntimeClient, ConverseCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as never },
  {
    server: { public_url: 'https://ai.example.org/culvert/' },
    callers: { tokens: [{ issuer: 'https://login.example.org', audience: 'culvert', account: 'dev' }] },
    providers: { plain: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
    models: { fast: { targets: [{ provider: 'plain', model: 'mock/ok' }] } },
  },
);

interface Shown {
  servers?: unknown;
  resource?: string;
  error?: { doc_url: string };
}

/** A proxy that strips `/culvert` and passes the Host on. */
const proxy = createServer((incoming, outgoing) => {
  const { method, headers, url = '' } = incoming;
  const sent = startRequest(gateway.url + url.replace(/^\/culvert/, ''), { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  incoming.pipe(sent);
});
const stripping = await listening({ after: after as never }, proxy);

for (const [kind, url] of [
  ['passed on', gateway.url],
  ['stripped', stripping],
] as const) {
  test(`a path is ${kind}: a signature of AWS's SDK covers it`, async () => {
    const headers = { authorization: `Bearer ${gateway.key}` };
    const answer = await fetch(`${url}/culvert/v1/aws-credentials`, { headers });
    const issued = (await answer.json()) as { AccessKeyId: string; SecretAccessKey: string };
    const credentials = { accessKeyId: issued.AccessKeyId, secretAccessKey: issued.SecretAccessKey };
    const client = new BedrockRuntimeClient({
      endpoint: `${url}/culvert`,
      region: 'us-east-1',
      credentials,
      requestHandler: new NodeHttpHandler(),
      maxAttempts: 1,
    });
    const messages = [{ role: 'user' as const, content: [{ text: 'hello there' }] }];
    const { output } = await client.send(new ConverseCommand({ modelId: 'fast', messages }));
    assert.match(JSON.stringify(output), /hello there/);
  });

  test(`a path is ${kind}: health, links and metadata have it`, async () => {
    const json = async (path: string) => (await (await fetch(`${url}/culvert${path}`)).json()) as Shown;
    assert.deepEqual(await json('/healthz'), { status: 'ok' });
    assert.deepEqual((await json('/openapi.json')).servers, [{ url: '/culvert' }]);
    const { error } = await json('/v1/models');
    assert.match(error?.doc_url ?? '', /^https:\/\/ai\.example\.org\/culvert\/docs\/errors#/);
    const page = await fetch(`${url}/culvert/`, { headers: { accept: 'text/html' }, redirect: 'manual' });
    assert.equal(page.headers.get('location'), '/culvert/dashboard');
    const challenge = (await fetch(`${url}/culvert/mcp`, { method: 'POST' })).headers.get('www-authenticate');
    assert.match(challenge ?? '', /"https:\/\/ai\.example\.org\/culvert\/\.well-known\/oauth-protected-resource\/mcp"/);
    const resource = await json('/.well-known/oauth-protected-resource/mcp');
    assert.equal(resource.resource, 'https://ai.example.org/culvert/mcp');
  });
}

test('orchestrators ask for health at the server itself, and clients for metadata behind /.well-known', async () => {
  assert.equal((await gateway.fetch('/healthz')).status, 200);
  const answer = await gateway.fetch('/.well-known/oauth-protected-resource/culvert/mcp');
  assert.equal(((await answer.json()) as { resource: string }).resource, 'https://ai.example.org/culvert/mcp');
});
