import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { studentQuantile, variantResults, wilson } from '../../src/books/metering/experiments/experiment-results.ts';
import { resultsTable } from '../../src/cli/commands/results.ts';
import type { Row } from '../../src/cli/rows.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

const upstream = await startQuietUpstream();
after(upstream.close);
const config = {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    smart: {
      sticky: 'user',
      targets: [{ provider: 'up', model: 'm', price: { input: 1_000, output: 1_000 } }],
      variants: { a: { weight: 1 }, b: { weight: 1 }, unused: { weight: 0 } },
    },
  },
};
const gateway = await startGateway({ after } as TestContext, config);

async function admin(path: string) {
  const response = await fetch(`${gateway.url}/admin/v1${path}`, { headers: { authorization: `Bearer ${adminKey}` } });
  return { status: response.status, text: await response.text() };
}

const asked: Record<string, number> = { a: 0, b: 0 };
for (let user = 0; user < 12; user += 1) {
  const response = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'smart', user: `u${user}`, messages: [{ role: 'user', content: 'x' }] },
  });
  await response.text();
  const variant = response.headers.get('x-culvert-variant') ?? '';
  asked[variant] = (asked[variant] ?? 0) + 1;
  const id = response.headers.get('x-culvert-request-id');
  const rate = (json: object) => gateway.fetch(`/v1/requests/${id}/feedback`, { json });
  assert.equal((await rate({ metric: 'helpful', value: variant === 'a' })).status, 200);
  assert.equal((await rate({ metric: 'stars', value: 4 })).status, 200);
}

test('results compare the variants of a model, those without requests too', async () => {
  const { status, text } = await admin('/models/smart/results?from=1h');
  assert.equal(status, 200, text);
  const { model, variants } = JSON.parse(text) as { model: string; variants: Record<string, unknown>[] };
  assert.equal(model, 'smart');
  assert.deepEqual(
    variants.map(({ variant, weight, requests, errors, error_rate }) => [
      variant,
      weight,
      requests,
      errors,
      error_rate,
    ]),
    [
      ['a', 1, asked.a, 0, 0],
      ['b', 1, asked.b, 0, 0],
      ['unused', 0, 0, 0, null],
    ],
  );
  const [a, , unused] = variants as { cost_usd: number; cost_usd_per_request: number; metrics: unknown[] }[];
  assert.ok(Math.abs((a?.cost_usd ?? 0) - 0.002 * (asked.a ?? 0)) < 1e-9, text);
  assert.ok(Math.abs((a?.cost_usd_per_request ?? 0) - 0.002) < 1e-9);
  const n = asked.a ?? 0;
  assert.deepEqual(a?.metrics, [
    { metric: 'helpful', kind: 'boolean', n, mean: 1, interval: [...wilson(n, n)] },
    { metric: 'stars', kind: 'number', n, mean: 4, interval: [4, 4] },
  ]);
  assert.deepEqual(unused?.metrics, []);
});

test('as CSV there is a row for each variant and metric, and an unknown model is a 404', async () => {
  const { text } = await admin('/models/smart/results.csv');
  const [head, ...rows] = text.trim().split('\r\n');
  assert.match(head ?? '', /^variant,weight,out,requests,errors,error_rate,/);
  assert.deepEqual(
    rows.map((row) => `${row.split(',')[0]} ${row.split(',')[12]}`),
    ['a helpful', 'a stars', 'b helpful', 'b stars', 'unused '],
  );
  const unknown = await admin('/models/nobody/results');
  assert.equal(unknown.status, 404);
  assert.match(unknown.text, /There is no model 'nobody'/);
  assert.equal((await admin('/models/smart/results?from=1h&to=2h')).status, 400);
});

test('culvert results shows them as a table, as piped JSON and as CSV', async (t) => {
  const run = (...more: string[]) => {
    const env = { CULVERT_ADMIN_KEY: adminKey };
    return runCommand(['results', 'smart', '--url', gateway.url, ...more], { cwd: temporaryFolder(t), env });
  };
  const { code, stdout, stderr } = await run();
  assert.equal(code, 0, stderr);
  assert.equal((JSON.parse(stdout) as { model: string }).model, 'smart');
  const { stdout: csv } = await run('--csv');
  assert.match(csv, /^variant,weight/);
  const { variants } = JSON.parse(stdout) as { variants: Row[] };
  assert.match(resultsTable(variants), /variant +weight +requests +errors.*helpful +stars\n/);
});

// Values of Wilson's formula and of Student's t from R: binom::binom.wilson, qt(0.975, df).
test('intervals are those of the textbooks', () => {
  const near = (value: number, expected: number) => assert.ok(Math.abs(value - expected) < 0.01 * expected, `${value}`);
  near(wilson(0, 10)[1], 0.2775);
  near(wilson(5, 10)[0], 0.2366);
  near(wilson(98, 100)[0], 0.93);
  for (const [freedom, quantile] of [
    [1, 12.706],
    [2, 4.303],
    [3, 3.182],
    [10, 2.228],
    [1_000, 1.962],
  ] as const) {
    near(studentQuantile(freedom), quantile);
  }
  const ratings = [{ variant: 'a', metric: 'm', kind: 'number', n: 3, sum: 6, sumOfSquares: 14 }] as const;
  const times = [
    { variant: 'a', firstTokenMs: 100, requests: 19, errors: 0, faults: 0, costUsd: 0, by: null },
    { variant: 'a', firstTokenMs: 900, requests: 2, errors: 0, faults: 0, costUsd: 0, by: null },
    { variant: 'a', firstTokenMs: null, requests: 4, errors: 4, faults: 4, costUsd: 0, by: null },
  ];
  const [result] = variantResults({ times, ratings }, []);
  assert.deepEqual(result?.firstTokenMs, { p50: 100, p95: 900 });
  assert.equal(result?.errorRate, 4 / 25);
  near(result?.metrics[0]?.interval?.[1] ?? 0, 2 + 4.303 / Math.sqrt(3));
});
