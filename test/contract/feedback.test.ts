import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { adminKey, otherKey, startGateway } from '../start-gateway.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';
import { until } from '../until.ts';

const own1 = 'sk-cv-one-of-the-account';
const upstream = await startQuietUpstream();
after(upstream.close);
const logged: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
const gateway = await startGateway(
  { after } as TestContext,
  {
    plans: { default: { rpm: 5, windows: { '5h': 5 } } },
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { smart: { targets: ['up/m'] } },
  },
  { log },
);
const asked = await gateway.fetch('/v1/chat/completions', {
  json: { model: 'smart', messages: [{ role: 'user', content: 'x' }] },
  headers: { 'x-request-id': 'mine-1' },
});
assert.equal(asked.status, 200, await asked.clone().text());
await asked.text();
const id = asked.headers.get('x-culvert-request-id')!;

function rate(json: unknown, { of = id, key }: { of?: string; key?: string } = {}) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return gateway.fetch(`/v1/requests/${of}/feedback`, { json, headers });
}

async function shown(): Promise<{ feedback: { metric: string; value: unknown; comment: string | null }[] }> {
  const url = `${gateway.url}/admin/v1/requests/${id}`;
  return (await (await fetch(url, { headers: { authorization: `Bearer ${adminKey}` } })).json()) as never;
}

test('feedback is kept with the request, and a second value of a metric replaces the first', async () => {
  const startedMs = Date.now();
  const first = await rate({ metric: 'helpful', value: false, comment: 'too long-winded' });
  assert.equal(first.status, 200);
  const { created_at: at, ...body } = (await first.json()) as Record<string, unknown>;
  assert.deepEqual(body, {
    object: 'feedback',
    request_id: id,
    metric: 'helpful',
    value: false,
    comment: 'too long-winded',
  });
  assert.ok(Date.parse(String(at)) >= startedMs && Date.parse(String(at)) <= Date.now());
  assert.equal((await rate({ metric: 'helpful', value: true, comment: null })).status, 200);
  assert.equal((await rate({ metric: 'stars', value: 4.5 }, { of: 'mine-1' })).status, 200);
  const { feedback } = await shown();
  assert.deepEqual(
    feedback.map(({ metric, value, comment }) => [metric, value, comment]),
    [
      ['helpful', true, null],
      ['stars', 4.5, null],
    ],
  );
  assert.doesNotMatch(logged.join('\n'), /long-winded/);
});

test("another account's request is as unknown as one that never was", async () => {
  const unknown = 'req_00000000-0000-7000-8000-000000000000';
  for (const [of, key] of [
    [id, otherKey],
    [unknown, undefined],
  ] as const) {
    const refused = await rate({ metric: 'helpful', value: true }, { of, ...(key !== undefined && { key }) });
    assert.equal(refused.status, 404);
    const { error } = (await refused.json()) as { error: { message: string } };
    assert.match(error.message, new RegExp(`There is no request '${of}'`));
  }
  assert.equal((await rate({ metric: 'helpful', value: true }, { key: 'sk-cv-nobody' })).status, 401);
});

test('what is wrong in a body is a 400 that names the field, and keeps nothing', async () => {
  const before = (await shown()).feedback;
  const wrong: [unknown, string][] = [
    [{ value: true }, 'metric'],
    [{ metric: '9', value: true }, 'metric'],
    [{ metric: 'a b', value: true }, 'metric'],
    [{ metric: 'a'.repeat(65), value: true }, 'metric'],
    [{ metric: 'a' }, 'value'],
    [{ metric: 'a', value: 'good' }, 'value'],
    [{ metric: 'a', value: 1e300 }, 'value'],
    [{ metric: 'a', value: null }, 'value'],
    [{ metric: 'a', value: 1, comment: 3 }, 'comment'],
    [{ metric: 'a', value: 1, comment: 'x'.repeat(2_001) }, 'comment'],
    [{ metric: 'a', value: 1, score: 3 }, 'score'],
  ];
  for (const [body, param] of wrong) {
    const refused = await rate(body);
    assert.equal(refused.status, 400, JSON.stringify(body).slice(0, 80));
    assert.equal(((await refused.json()) as { error: { param: string } }).error.param, param);
  }
  assert.equal((await rate({ metric: 'a', value: 1, comment: 'x'.repeat(40_000) })).status, 413);
  for (const text of ['[]', '{', '"x"', '']) {
    const init = { method: 'POST', body: text, headers: { 'content-type': 'application/json' } };
    assert.equal((await gateway.fetch(`/v1/requests/${id}/feedback`, init)).status, 400);
  }
  assert.deepEqual((await shown()).feedback, before);
});

test('a request has feedback in 20 metrics, and it costs neither a unit nor a request a minute', async () => {
  const statuses: number[] = [];
  for (let at = 0; at < 21; at += 1) statuses.push((await rate({ metric: `m${at}`, value: at })).status);
  assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.at(-1)], [18, 400]);
  const usage = (await (await gateway.fetch('/v1/usage')).json()) as {
    windows: { '5h': { used: number } };
    rpm: { used: number };
  };
  // One is the rated call, unless a minute has passed since.
  assert.ok(usage.rpm.used <= 1);
  assert.ok(usage.windows['5h'].used <= 1);
});

test('streamed, whole and refused requests are rated, by every key of the account, and many at once keep the bound', async (t) => {
  const member = 'sk-cv-another-of-the-account';
  const own = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { smart: { targets: ['up/m'] } },
    keys: [
      { key: own1, account: 'dev', name: 'one', models: ['smart'] },
      { key: member, account: 'dev', name: 'two' },
      { key: otherKey, account: 'other', name: 'one' },
    ],
  });
  const chat = async (json: object) => {
    const headers = { authorization: `Bearer ${own1}` };
    const messages = [{ role: 'user', content: 'x' }];
    const response = await own.fetch('/v1/chat/completions', { json: { model: 'smart', messages, ...json }, headers });
    await response.text();
    return response;
  };
  const rateBy = (key: string, of: string, json: unknown) =>
    own.fetch(`/v1/requests/${of}/feedback`, { json, headers: { authorization: `Bearer ${key}` } });
  const responses = [await chat({ stream: true }), await chat({}), await chat({ model: 'elsewhere' })];
  assert.deepEqual(
    responses.map(({ ok }) => ok),
    [true, true, false],
  );
  for (const { headers } of responses) {
    const of = headers.get('x-culvert-request-id') ?? '';
    await until('it is in the books', async () => (await rateBy(member, of, { metric: 'constructor', value: -5 })).ok);
    assert.equal((await rateBy(otherKey, of, { metric: 'a', value: 1 })).status, 404);
    for (const value of ['1e999', '-1e999', 'NaN', 'Infinity', '1e10', '"1"', '[1]']) {
      const body = `{"metric":"a","value":${value}}`;
      const headers = { authorization: `Bearer ${own1}`, 'content-type': 'application/json' };
      const response = await own.fetch(`/v1/requests/${of}/feedback`, { method: 'POST', body, headers });
      assert.equal(response.status, 400, value);
    }
    const many = await Promise.all(
      Array.from({ length: 40 }, (_, at) => rateBy(own1, of, { metric: `m${at % 30}`, value: at })),
    );
    const { length } = many.filter(({ status }) => status === 200);
    assert.ok(length >= 19 && many.every(({ status }) => status === 200 || status === 400), `${length}`);
    const record = await own.fetch(`/admin/v1/requests/${of}`, { headers: { authorization: `Bearer ${adminKey}` } });
    const { feedback } = (await record.json()) as { feedback: { metric: string; value: number }[] };
    assert.equal(feedback.length, 20);
    assert.equal(feedback.find(({ metric }) => metric === 'constructor')?.value, -5);
  }
});

test('/openapi.json describes it', async () => {
  const { paths } = (await (await gateway.fetch('/openapi.json')).json()) as { paths: Record<string, never> };
  const { post } = paths['/v1/requests/{id}/feedback'] as unknown as {
    post: { requestBody: { content: Record<string, { schema: { required: string[] } }> } };
  };
  assert.deepEqual(post.requestBody.content['application/json']?.schema.required, ['metric', 'value']);
});
