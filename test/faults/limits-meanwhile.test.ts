import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { listening } from '../listening.ts';
import { noLimits, startGateway, type TestGateway, workersKnow } from '../start-gateway.ts';
import { until } from '../until.ts';

const answer = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

test('requests that run already count in a limit that is set meanwhile, of a plan or of a key', async (t) => {
  const waiting: ServerResponse[] = [];
  const upstream = createServer((request, response) => {
    request.resume();
    if (request.method === 'POST') waiting.push(response);
    else response.writeHead(404).end();
  });
  const url = await listening(t, upstream);
  const base = {
    providers: { up: { type: 'openai', base_url: `${url}/v1`, api_key: 'k' } },
    models: { m: { targets: ['up/m'] } },
  };
  const gateway = await startGateway(t, base);
  const endAll = () => {
    for (const response of waiting.splice(0)) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer));
    }
  };

  const planOf = (concurrency: number | 'off') =>
    gateway.reload({ ...base, plans: { default: { ...noLimits.default, concurrency } } });
  const first = [chat(gateway), chat(gateway)];
  await until('both run', () => waiting.length === 2);
  await planOf(2);
  await refused(await chat(gateway));
  const used = await (await gateway.fetch('/v1/usage')).json();
  assert.deepEqual((used as { concurrency: object }).concurrency, { used: 2, allowed: 2 });
  endAll();
  for (const response of await Promise.all(first)) assert.equal(response.status, 200);
  await planOf(1);
  const alone = chat(gateway);
  await until('it runs', () => waiting.length === 1);
  await refused(await chat(gateway));
  endAll();
  assert.equal((await alone).status, 200);

  await planOf('off');
  await callAdmin(gateway, 'POST', '/accounts', { id: 'app' });
  const issued = await callAdmin<{ key: string; id: string }>(gateway, 'POST', '/keys', { account: 'app', name: 'k' });
  const headers = { authorization: `Bearer ${issued.body.key}` };
  const ofKey = chat(gateway, headers);
  await until('it runs', () => waiting.length === 1);
  const { status } = await callAdmin(gateway, 'PATCH', `/keys/${issued.body.id}`, { limits: { concurrency: 1 } });
  assert.equal(status, 200);
  await workersKnow();
  await refused(await chat(gateway, headers));
  endAll();
  assert.equal((await ofKey).status, 200);
});

function chat(gateway: TestGateway, headers = {}): Promise<Response> {
  const json = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
  return gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    json,
    headers,
    // One that is let in by mistake would run for ever.
    signal: AbortSignal.timeout(30_000),
  });
}

async function refused(response: Response): Promise<void> {
  assert.equal(response.status, 429);
  assert.match(await response.text(), /concurrency|in parallel|running/i);
}
