import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway, testProcesses } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** IBM Cloud's IAM as its documentation has it; `apikey` is the one key that it knows. */
async function startIam(t: { after(end: () => void): void }, apikey: string) {
  let asked = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    asked += 1;
    const isKnown = new URLSearchParams(text).get('apikey') === apikey;
    const refused = { errorCode: 'BXNIM0415E', errorMessage: 'Provided API key could not be found.' };
    response.writeHead(isKnown ? 200 : 400, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isKnown ? { access_token: `token-${asked}`, expires_in: 3_600 } : refused));
  });
  const url = await listening(t, server);
  return { url, asked: () => asked };
}

const json = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

test('one token serves all requests of a key, and the key itself goes to IAM alone', async (t) => {
  const iam = await startIam(t, 'a-key-of-ibm-cloud');
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: {
      ibm: {
        type: 'watsonx',
        base_url: `${upstream.url}/ml/gateway/v1`,
        iam_url: iam.url,
        api_key: 'a-key-of-ibm-cloud',
      },
    },
    models: { m: { targets: ['ibm/mock-ok'] } },
  });
  await gateway.modelsKnown;
  const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.fetch('/v1/chat/completions', { json })));
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
  // Each worker gets a token of its own.
  assert.ok(iam.asked() <= testProcesses, `${iam.asked()} tokens`);
  const tokens = Array.from({ length: iam.asked() }, (_, at) => `Bearer token-${at + 1}`);
  for (const { headers } of upstream.requests()) assert.ok(tokens.includes(String(headers.authorization)));
});

test('a key that IAM does not know is told with IAM’s words, and without the key', async (t) => {
  const iam = await startIam(t, 'another-key');
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: {
      ibm: { type: 'watsonx', base_url: `${upstream.url}/v1`, iam_url: iam.url, api_key: 'a-wrong-key-of-ibm' },
    },
    models: { m: { targets: ['ibm/mock-ok'] } },
  });
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  const text = await answer.text();
  assert.ok(answer.status >= 500, text);
  assert.ok(!text.includes('a-wrong-key-of-ibm'));
  const id = answer.headers.get('x-culvert-request-id');
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    route: { attempts: { class: string; message: string }[] };
  };
  assert.equal(record.route.attempts[0]!.class, 'bad_credential');
  assert.match(record.route.attempts[0]!.message, /IBM Cloud IAM gave no token.*could not be found/);
  assert.equal(upstream.requests().filter(({ method }) => method === 'POST').length, 0);
});

test('iam_url of another type is refused', async (t) => {
  const config = { providers: { up: { type: 'openai', api_key: 'k', iam_url: 'http://127.0.0.1:9' } } };
  await assert.rejects(startGateway(t, config), /providers\.up\.iam_url: type openai takes no tokens of IBM Cloud/);
});
