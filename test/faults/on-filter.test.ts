import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';

interface Reply {
  status: number;
  body: object;
}

const head = { id: 'c', created: 1, model: 'm' };
const whole = (message: object, reason: string): Reply => ({
  status: 200,
  body: { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: reason }] },
});
const error = (status: number, body: object): Reply => ({ status, body: { error: body } });
const hello = whole({ role: 'assistant', content: 'Hello.' }, 'stop');

/** How a content filter refuses, before any content. */
const refusals: Record<string, Reply> = {
  'a prompt, by its code': error(400, { message: 'filtered', code: 'content_filter' }),
  'a prompt, in words': error(400, { message: 'Output blocked by content filtering policy' }),
  'a prompt, as a 403': error(403, { message: 'Content violates usage guidelines.' }),
  'an answer': whole({ role: 'assistant', content: '' }, 'content_filter'),
  'an answer, in the words of the model': whole({ role: 'assistant', content: null, refusal: 'I cannot.' }, 'stop'),
};

for (const [what, refusal] of Object.entries(refusals)) {
  test(`on_filter: next asks the next target where a filter refuses ${what}; else it is the answer`, async (t) => {
    const { gateway, asked } = await started(t, { strict: refusal, mild: hello });
    for (const stream of [false, true]) {
      const next = await chat(gateway, 'next', stream);
      assert.equal(next.status, 200, next.text);
      assert.match(next.text, /Hello\./);
      assert.deepEqual(asked.splice(0), ['strict', 'mild']);
      const stays = await chat(gateway, 'stays', stream);
      assert.ok(!stays.text.includes('Hello.'), stays.text);
      assert.deepEqual(asked.splice(0), ['strict']);
    }
    assert.deepEqual(await illLanes(gateway), []);
  });

  test(`on_filter: next gives the refusal where all refuse ${what}`, async (t) => {
    const { gateway, asked } = await started(t, { strict: refusal, mild: refusal });
    const { status, text, response } = await chat(gateway, 'next', false);
    assert.deepEqual(asked, ['strict', 'mild']);
    assert.equal(status, refusal.status);
    assert.notEqual(response.headers.get('x-should-retry'), 'true');
    assert.match(text, /filter|violates|I cannot/);
    assert.deepEqual(await illLanes(gateway), []);
  });
}

for (const [type, how, calls] of [
  ['openai', 'in one call', 1],
  ['deepseek', 'by a call each', 2],
] as const) {
  for (const [what, refusal] of Object.entries(refusals)) {
    test(`on_filter: next asks the next target for two choices ${how} where a filter refuses ${what}`, async (t) => {
      const { gateway, asked } = await started(t, { strict: refusal, mild: hello }, type);
      for (const stream of [false, true]) {
        const next = await chat(gateway, 'next', stream, 2);
        assert.equal(next.status, 200, next.text);
        assert.equal(next.text.match(/Hello\./g)?.length, 2, next.text);
        const each = (name: string) => Array.from({ length: calls }, () => name);
        assert.deepEqual(asked.splice(0).sort(), [...each('mild'), ...each('strict')]);
      }
      assert.deepEqual(await illLanes(gateway), []);
    });
  }

  test(`on_filter: next gives the refusal where all refuse two choices ${how}`, async (t) => {
    const refusal = refusals['an answer']!;
    const { gateway } = await started(t, { strict: refusal, mild: refusal }, type);
    const { status, text } = await chat(gateway, 'next', false, 2);
    assert.equal(status, 200, text);
    assert.equal(text.match(/content_filter/g)?.length, 2, text);
  });
}

test('on_filter: next leaves an answer alone that is filtered after its first content', async (t) => {
  const cut = whole({ role: 'assistant', content: 'Well, first' }, 'content_filter');
  const { gateway, asked } = await started(t, { strict: cut, mild: hello });
  for (const stream of [false, true]) {
    const { status, text } = await chat(gateway, 'next', stream);
    assert.equal(status, 200);
    assert.match(text, /Well, first/);
  }
  assert.deepEqual(asked, ['strict', 'strict']);
});

async function chat(gateway: TestGateway, model: string, stream: boolean, n = 1) {
  const json = { model, stream, messages: [{ role: 'user', content: 'Hello' }], ...(n > 1 && { n }) };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  return { response, status: response.status, text: await response.text() };
}

async function started(
  t: TestContext,
  replies: { strict: Reply; mild: Reply },
  type = 'openai',
): Promise<{ gateway: TestGateway; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let sent = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      sent += piece;
    });
    request.on('end', () => {
      const name = request.url!.split('/')[1] as 'strict' | 'mild';
      if (request.method !== 'POST') return response.writeHead(404).end();
      asked.push(name);
      const { status, body } = replies[name];
      const { stream, n = 1 } = JSON.parse(sent) as { stream?: boolean; n?: number };
      const indexes = Array.from({ length: n }, (_, index) => index);
      if (status !== 200) {
        return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      }
      const [choice] = (body as { choices: { message: object; finish_reason: string }[] }).choices;
      if (stream !== true) {
        const choices = indexes.map((index) => ({ ...choice, index }));
        return response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ ...body, choices }));
      }
      const chunk = (delta: object, reason: string | null) =>
        indexes
          .map((index) => ({
            ...head,
            object: 'chat.completion.chunk',
            choices: [{ index, delta, finish_reason: reason }],
          }))
          .map((data) => `data: ${JSON.stringify(data)}\n\n`)
          .join('');
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`${chunk(choice!.message, null)}${chunk({}, choice!.finish_reason)}data: [DONE]\n\n`);
    });
  });
  const url = await listening(t, server);
  const provider = (name: string) => ({ type, base_url: `${url}/${name}`, api_key: 'k' });
  const targets = [
    { provider: 'strict', model: 'm', priority: 1 },
    { provider: 'mild', model: 'm', priority: 2 },
  ];
  const gateway = await startGateway(t, {
    providers: { strict: provider('strict'), mild: provider('mild') },
    models: { next: { targets, on_filter: 'next' }, stays: { targets } },
  });
  return { gateway, asked };
}

/** Lanes that are not ready, or that a failure was counted against. */
async function illLanes(gateway: TestGateway): Promise<unknown[]> {
  const response = await gateway.fetch('/admin/v1/providers?limit=100', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { data } = (await response.json()) as {
    data: { credentials: { lanes: { state: string; failed: number }[] }[] }[];
  };
  return data
    .flatMap(({ credentials }) => credentials.flatMap(({ lanes }) => lanes))
    .filter(({ state, failed }) => state !== 'ready' || failed > 0);
}
