import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { until } from '../until.ts';

interface Sent {
  model: string;
  messages: { content: string }[];
}

/** Answers all models but those whose name begins with `silent`, which wait, and `bad`, which fails. */
async function startUpstream(t: TestContext) {
  const sent: Sent[] = [];
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += String(chunk);
    });
    request.on('end', () => {
      const body = JSON.parse(text || '{}') as Sent;
      sent.push(body);
      const { model } = body;
      if (model === 'silent') return void waiting.push(response);
      response.writeHead(model === 'bad' ? 422 : 200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: `of ${model}` };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model, choices, usage }));
    });
  });
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  t.after(() => {
    for (const response of waiting) response.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const to = (model: string) => sent.filter((body) => body.model === model);
  return { provider: { type: 'openai', base_url: url, api_key: 'k' }, sent, to };
}

const price = { input: 1_000, output: 1_000 };

async function ask(gateway: TestGateway, more: object = {}) {
  const response = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'smart', messages: [{ role: 'user', content: 'Mail ann@example.com' }], ...more },
  });
  return {
    status: response.status,
    text: await response.text(),
    id: response.headers.get('x-culvert-request-id') ?? '',
  };
}

async function admin(gateway: TestGateway, path: string) {
  const response = await fetch(`${gateway.url}/admin/v1${path}`, { headers: { authorization: `Bearer ${adminKey}` } });
  return (await response.json()) as Record<string, never>;
}

type Row = Record<string, unknown>;

async function shadowsOf(gateway: TestGateway): Promise<Row[]> {
  const { data } = (await admin(gateway, '/requests?account=(shadow)&limit=100')) as unknown as { data: Row[] };
  return data;
}

test('a shadow is asked as well, with masked text, and charged to nobody who calls', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startGateway(t, {
    plans: { default: { windows: { '5h': 100 }, rpm: 'off' } },
    providers: { up: upstream.provider },
    guards: { pii: { check: 'personal-data', kinds: ['email'], action: 'mask', on: ['input', 'output'] } },
    models: {
      smart: {
        targets: ['up/good'],
        guards: ['pii'],
        shadow: { share: '100%', targets: [{ provider: 'up', model: 'other', price }] },
      },
    },
  });
  for (const stream of [false, true]) {
    const { status, text } = await ask(gateway, { stream });
    assert.equal(status, 200, text);
    assert.match(text, /"good"/);
    assert.doesNotMatch(text, /other/);
  }
  await until('both shadows are settled', async () => (await shadowsOf(gateway)).length === 2);
  assert.equal(upstream.to('other').length, 2);
  for (const body of upstream.sent) assert.doesNotMatch(JSON.stringify(body), /ann@example/);

  const [shadow] = await shadowsOf(gateway);
  assert.deepEqual(
    [shadow?.model, shadow?.variant, shadow?.status, shadow?.target, shadow?.cost_usd],
    ['smart', 'shadow', 200, 'up/other', 0.002],
  );
  const { data } = (await admin(gateway, '/requests?account=dev')) as unknown as { data: Row[] };
  assert.ok(data.some(({ id }) => id === shadow?.client_request_id));
  const usage = (await (await gateway.fetch('/v1/usage')).json()) as { windows: { '5h': { used: number } } };
  assert.equal(usage.windows['5h'].used, 2);
  assert.equal((await gateway.fetch(`/v1/requests/${String(shadow?.id)}`)).status, 404);
  const { variants } = (await admin(gateway, '/models/smart/results')) as unknown as { variants: Row[] };
  assert.deepEqual(
    variants.map(({ variant, requests }) => [variant, requests]).toSorted(),
    [
      [null, 2],
      ['shadow', 2],
    ].toSorted(),
  );
});

test('a shadow that fails or stays silent neither delays nor fails the caller, and at most 16 run', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startGateway(t, {
    providers: { up: upstream.provider },
    models: {
      smart: { targets: ['up/good'], shadow: { share: '100%', model: 'quiet' } },
      quiet: { targets: ['up/silent'] },
      broken: { targets: ['up/good'], shadow: { share: '100%', targets: ['up/bad'] } },
      never: { targets: ['up/good'], shadow: { share: '0%', targets: ['up/none'] } },
    },
  });
  for (let at = 0; at < 20; at += 1) assert.equal((await ask(gateway)).status, 200);
  await until('16 shadows run', () => upstream.to('silent').length >= 16);
  for (const model of ['broken', 'never']) assert.equal((await ask(gateway, { model })).status, 200);
  await until('the failed one is settled', async () =>
    (await shadowsOf(gateway)).some(({ model }) => model === 'broken'),
  );
  // A silent one may have a second attempt.
  assert.ok(upstream.to('silent').length < 20, String(upstream.to('silent').length));
  assert.equal(upstream.to('none').length, 0);
});

test('a Responses request has a shadow that gets its kept turns and keeps nothing', async (t) => {
  const upstream = await startUpstream(t);
  const gateway = await startGateway(t, {
    providers: { up: upstream.provider },
    guards: { pii: { check: 'personal-data', kinds: ['email'], action: 'mask', on_error: 'allow' } },
    models: { smart: { targets: ['up/good'], guards: ['pii'], shadow: { share: '100%', targets: ['up/other'] } } },
  });
  const respond = async (path: string, json: object) => {
    const response = await gateway.fetch(path, { json });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text) as { id: string };
  };
  const shadows = async (count: number) => {
    await until(`${count} shadows are settled`, async () => (await shadowsOf(gateway)).length === count);
    return upstream.to('other').map(({ messages }) => messages.map(({ content }) => content));
  };
  const turn = (more: object) => respond('/v1/responses', { model: 'smart', ...more });
  const first = await turn({ input: 'Mail ann@example.com' });
  assert.deepEqual(await shadows(1), [['Mail <EMAIL_1>']]);
  await turn({ input: 'And then?', previous_response_id: first.id });
  const [, second] = await shadows(2);
  assert.deepEqual(
    second,
    upstream
      .to('good')
      .at(-1)
      ?.messages.map(({ content }) => content),
  );
  assert.equal(second?.length, 3);

  const conversation = (await respond('/v1/conversations', {})).id;
  await turn({ input: 'One.', conversation });
  await shadows(3);
  await turn({ input: 'Two.', conversation });
  const asked = await shadows(4);
  assert.deepEqual(asked.at(-1), ['One.', 'of good', 'Two.']);
  const items = await gateway.fetch(`/v1/conversations/${conversation}/items`);
  assert.equal(((await items.json()) as { data: unknown[] }).data.length, 4);
});

test('what is wrong with a shadow is found with its place', () => {
  const problems = (model: string) => {
    const head = 'providers: { up: { type: openai, api_key: k } }\nmodels:\n';
    const checked = checkConfigText(`${head}  m: ${model}\n`, 'culvert.yaml', {});
    return checked.ok ? [] : checked.errors.map(({ message }) => message);
  };
  assert.match(problems('{ targets: [up/m], shadow: { share: 5% } }').join(), /expected either targets or model/);
  assert.match(problems('{ targets: [up/m], shadow: { share: 5%, model: no } }').join(), /there is no such model/);
  assert.match(problems('{ targets: [up/m], shadow: { share: 5%, targets: [no/x] } }').join(), /no such provider/);
  assert.match(problems('{ targets: [up/m], variants: { shadow: {}, b: {} } }').join(), /give it another name/);
  assert.match(problems('{ targets: [up/m], shadow: { share: 5, targets: [up/x] } }').join(), /percentage/);
  assert.deepEqual(problems('{ targets: [up/m], shadow: { share: 0.5%, targets: [up/x] } }'), []);
});
