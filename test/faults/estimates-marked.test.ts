import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { adminKey, startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

const chatPath = '/v1/chat/completions';
const asAdmin = { authorization: `Bearer ${adminKey}` };
const models = ['told', 'untold', 'left'] as const;

interface Sums {
  group: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  counted_tokens: number;
  estimated_tokens: number;
  counted_cost_usd: number;
  estimated_cost_usd: number;
}

test('sums, metrics and the log say what the provider told, what Culvert counted and what it estimated', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const logged = new PassThrough();
  const lines: Record<string, unknown>[] = [];
  logged.on('data', (chunk) =>
    lines.push(
      ...String(chunk)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ),
  );
  const price = { input: 1, output: 2 };
  const target = (model: string) => ({ targets: [{ provider: 'up', model, price }] });
  const gateway = await startGateway(
    t,
    {
      providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
      models: { told: target('mock/ok'), untold: target('mock/omit=usage'), left: target('mock/delay=20s') },
    },
    { log: pino({ level: 'info' }, logged) },
  );
  await gateway.modelsKnown;
  const body = (model: string) => ({ model, stream: true, messages: [{ role: 'user', content: 'Hello there' }] });
  for (const model of ['told', 'untold'])
    await (await gateway.fetch(chatPath, { json: { ...body(model), user: model } })).text();
  upstream.clear();
  const leaving = new AbortController();
  const asked = gateway
    .fetch(chatPath, { json: { ...body('left'), user: 'left' }, signal: leaving.signal })
    .catch(() => null);
  await upstream.when((request) => request.method === 'POST');
  leaving.abort();
  await asked;
  const deadlineMs = performance.now() + 5_000;
  const ended = () => lines.filter(({ msg }) => msg === 'request');
  while (ended().length < 3 && performance.now() < deadlineMs) await new Promise((next) => setTimeout(next, 10));
  assert.deepEqual(
    ended().map(({ model, usageSource }) => [model, usageSource]),
    [
      ['told', 'upstream'],
      ['untold', 'counted'],
      ['left', 'estimated'],
    ],
  );

  /** The parts are all of the sum or nothing of it, as each model was asked once. */
  function holds(data: readonly Sums[], of: string): void {
    const [told, untold, left] = models.map((model) => data.find(({ group }) => group === model)!);
    for (const one of [told!, untold!, left!]) {
      const tokens = one.input_tokens + one.output_tokens;
      assert.ok(tokens > 0, of);
      assert.deepEqual(
        [one.counted_tokens, one.estimated_tokens, one.counted_cost_usd, one.estimated_cost_usd],
        [
          one === untold ? tokens : 0,
          one === left ? tokens : 0,
          one === untold ? one.cost_usd : 0,
          one === left ? one.cost_usd : 0,
        ],
        `${of}: ${one.group}`,
      );
    }
    assert.ok(untold!.cost_usd > 0 && left!.cost_usd > 0, of);
  }
  const read = async (path: string, headers = {}) => (await gateway.fetch(path, { headers })).json();
  for (const by of ['model', 'user']) {
    holds(((await read(`/v1/usage?group_by=${by}`)) as { data: Sums[] }).data, `/v1/usage by ${by}`);
    holds(((await read(`/admin/v1/usage?group_by=${by}`, asAdmin)) as { data: Sums[] }).data, `/admin by ${by}`);
  }
  const there = { cwd: temporaryFolder(t), env: { CULVERT_URL: gateway.url, CULVERT_ADMIN_KEY: adminKey } };
  const printed = await runCommand(['usage', '--group-by', 'model'], there);
  holds((JSON.parse(printed.stdout) as { data: Sums[] }).data, 'culvert usage');
  const csv = await runCommand(['usage', '--group-by', 'model', '--csv'], there);
  const [head, ...rows] = csv.stdout
    .trim()
    .split('\r\n')
    .map((line) => line.split(','));
  const asSums = ([group, ...cells]: string[]) => ({
    group,
    ...Object.fromEntries(cells.map((cell, at) => [head![at + 1], Number(cell)])),
  });
  holds(
    rows.map((row) => asSums(row) as Sums),
    'culvert usage --csv',
  );

  const scraped = await (await gateway.fetch('/metrics', { headers: asAdmin })).text();
  const sampleOf = (name: string, labels: string) =>
    Number(
      scraped
        .split('\n')
        .find((line) => line.startsWith(`${name}{${labels}} `))
        ?.split(' ')
        .at(-1),
    );
  const inputOf = (model: string, provider: string, source: string) =>
    sampleOf(
      'culvert_tokens_total',
      `model="${model}",target="${provider}",direction="input",usage_source="${source}"`,
    );
  assert.ok(inputOf('told', 'up/mock/ok', 'upstream') > 0);
  assert.ok(inputOf('untold', 'up/mock/omit=usage', 'counted') > 0);
  assert.ok(inputOf('left', '', 'estimated') > 0);
  assert.ok(
    sampleOf('culvert_cost_usd_total', 'model="untold",target="up/mock/omit=usage",usage_source="counted"') > 0,
  );
});
