import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { parse } from 'yaml';
import { adminKey, startGateway } from '../start-gateway.ts';

interface Refused {
  error: { message: string; type: string };
}

test('without `models`, a provider whose list could not be read yet makes 503 of an unknown model, not a final 404', async (t) => {
  let list: { status: number; body: unknown } = { status: 503, body: {} };
  const provider = createServer((request, response) => {
    response.writeHead(request.url === '/v1/models' ? list.status : 500, { 'content-type': 'application/json' });
    response.end(JSON.stringify(list.body));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => provider.once('listening', resolve));
  t.after(() => provider.close());
  const { port } = provider.address() as { port: number };
  const config = {
    providers: { mine: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'sk-upstream-0001' } },
  };
  const gateway = await startGateway(t, config);
  await gateway.modelsKnown;
  const ask = async (model: string) => {
    const answer = await gateway.fetch('/v1/chat/completions', {
      json: { model, messages: [{ role: 'user', content: 'Hi' }] },
    });
    const { error } = (await answer.json()) as Refused;
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), message: error.message };
  };

  const shown = async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const reply = await fetch(`${gateway.url}/admin/v1/providers/mine`, { headers });
    const { status, unheard } = (await reply.json()) as { status: string; unheard: boolean };
    return { status, unheard };
  };
  assert.deepEqual(await shown(), { status: 'down', unheard: true });

  for (const model of ['mine/gpt-x', 'gpt-x']) {
    const { status, retryAfter, message } = await ask(model);
    assert.equal(status, 503, message);
    assert.equal(retryAfter, '5');
    assert.match(
      message,
      new RegExp(`does not know yet whether the model '${model}' exists, .* list of models of mine`),
    );
  }

  list = { status: 200, body: { object: 'list', data: [{ id: 'gpt-y', object: 'model' }] } };
  await gateway.reload(config);
  assert.deepEqual(await shown(), { status: 'healthy', unheard: false });
  assert.equal((await ask('gpt-x')).status, 404, 'its list has been heard, and says no');
  assert.equal((await ask('gpt-y')).status, 502, 'now it is asked');
});

test('without `models`, a provider that has no list of models leaves unknown models at 404, which says how to name them', async (t) => {
  const provider = createServer((request, response) => {
    request.resume();
    if (request.method === 'GET') response.writeHead(404).end('{}');
    else response.writeHead(200).end('{"data": [{"index": 0, "embedding": [1, 0]}]}');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => provider.once('listening', resolve));
  t.after(() => provider.close());
  const { port } = provider.address() as { port: number };
  const providers = {
    mine: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'sk-upstream-0001' },
  };
  const gateway = await startGateway(t, { providers });
  await gateway.modelsKnown;
  const answer = await gateway.fetch('/v1/models/gpt-x');
  assert.equal(answer.status, 404);
  await answer.body?.cancel();

  const embed = () => gateway.fetch('/v1/embeddings', { json: { model: 'mine/small', input: 'a' } });
  const { error } = (await (await embed()).json()) as Refused;
  const advice = /The provider 'mine' lists no models\. .* models: (\{ "mine\/\*": \{ targets: \["mine\/\*"\] \} \})\./;
  const [, models] = advice.exec(error.message) ?? assert.fail(error.message);
  await gateway.reload({ providers, models: parse(models!) });
  assert.equal((await embed()).status, 200, 'as the message says');
});

test('a provider without a key is named where its list could not be read', async (t) => {
  const gateway = await startGateway(t, { server: { host: '0.0.0.0' }, providers: { mine: { type: 'openai' } } });
  const answer = await fetch(`${gateway.url.replace('0.0.0.0', '127.0.0.1')}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const { error } = (await answer.json()) as Refused;
  assert.equal(answer.status, 503);
  assert.match(
    error.message,
    /provider 'mine' has no key\. .*providers\.mine\.api_key, such as "\$\{OPENAI_API_KEY\}"/,
  );
});
