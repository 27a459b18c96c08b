import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import WebSocket, { WebSocketServer } from 'ws';
import type { ErrorBody } from '../contract/served.ts';
import { listening, startForwardProxy } from '../forward-proxy.ts';
import { startProcess, temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';
import { cert, key } from '../vendor-certificate.ts';

/*
 * A start with a vendor's key in the environment and nothing else: each kind of model that the vendor lists can be
 * called. A proxy leads the vendor's own address to a server of this test, which has a certificate for it.
 */

const judged = { id: 'modr-1', model: 'omni-moderation-latest', results: [{ flagged: false, categories: {} }] };
const read = { pages: [{ index: 0, markdown: '# One', images: [] }], model: 'mistral-ocr-latest', usage_info: {} };

async function startWithKey(t: TestContext, name: string, models: readonly string[]) {
  const asked: string[] = [];
  const vendor = createServer({ cert, key }, async (request, response) => {
    await buffer(request);
    const { host, authorization } = request.headers;
    asked.push(`${request.method} ${host}${request.url!.split('?')[0]} ${authorization}`);
    response.setHeader('content-type', 'application/json');
    if (request.url!.startsWith('/v1/models')) {
      response.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) }));
    } else response.end(JSON.stringify(request.url!.endsWith('/ocr') ? read : judged));
  });
  const sockets = new WebSocketServer({ server: vendor });
  sockets.on('connection', (socket, { headers, url }) => {
    asked.push(`WS ${headers.host}${url} ${headers.authorization}`);
    const session = { type: 'realtime', model: 'gpt-realtime' };
    socket.send(JSON.stringify({ type: 'session.created', event_id: 'e', session }));
  });
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
  });
  const proxy = await startForwardProxy(t, await listening(t, vendor));
  const cwd = temporaryFolder(t);
  const trusted = join(cwd, 'vendors.pem');
  writeFileSync(trusted, cert);
  const { url } = await startProcess(t, {
    cwd,
    env: { [name]: 'of-the-vendor', HTTPS_PROXY: `http://${proxy.url}`, NODE_EXTRA_CA_CERTS: trusted },
  });
  const callerKey = readFileSync(join(cwd, '.culvert/api.key'), 'utf8').trim();
  const client = new OpenAI({ apiKey: callerKey, baseURL: `${url}/v1`, maxRetries: 0 });
  await until('the models of the vendor are listed', async () => {
    const listed = (await client.models.list()).data.map(({ id }) => id);
    return models.every((id) => listed.includes(id));
  });
  const ocr = () =>
    fetch(`${url}/v1/ocr`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${callerKey}` },
      body: JSON.stringify({
        model: 'mistral-ocr-latest',
        document: { type: 'document_url', document_url: 'https://example.com/a.pdf' },
      }),
    });
  return { url, callerKey, client, asked, ocr };
}

test('OPENAI_API_KEY alone: models for moderation and realtime are called, and OCR names the key that it needs', async (t) => {
  const models = ['gpt-5', 'omni-moderation-latest', 'gpt-realtime'];
  const { url, callerKey, client, asked, ocr } = await startWithKey(t, 'OPENAI_API_KEY', models);
  for (const model of [undefined, 'omni-moderation-latest', 'openai/omni-moderation-latest']) {
    const { results } = await client.moderations.create({ input: 'Hello', ...(model && { model }) });
    assert.equal(results[0]!.flagged, false);
  }
  const [judging] = asked.filter((one) => one.startsWith('POST'));
  assert.equal(judging, 'POST api.openai.com/v1/moderations Bearer of-the-vendor');
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=gpt-realtime`, {
    headers: { authorization: `Bearer ${callerKey}` },
  });
  t.after(() => socket.terminate());
  const [first] = await once(socket, 'message');
  assert.equal(JSON.parse(String(first)).type, 'session.created');
  assert.match(asked.at(-1)!, /^WS api\.openai\.com\/v1\/realtime\?model=gpt-realtime Bearer of-the-vendor$/);
  const refused = await ocr();
  assert.equal(refused.status, 404);
  assert.match(((await refused.json()) as ErrorBody).error.message, /MISTRAL_API_KEY/);
});

test('MISTRAL_API_KEY alone: its models for OCR are called', async (t) => {
  const { asked, ocr } = await startWithKey(t, 'MISTRAL_API_KEY', ['mistral-ocr-latest']);
  const answer = await ocr();
  assert.equal(answer.status, 200);
  assert.deepEqual(((await answer.json()) as typeof read).pages, read.pages);
  assert.equal(asked.at(-1), 'POST api.mistral.ai/v1/ocr Bearer of-the-vendor');
});
