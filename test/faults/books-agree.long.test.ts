import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../src/kernel/random.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

// Other runs: BOOKS_SEED, BOOKS_REQUESTS.
const seed = Number(process.env.BOOKS_SEED ?? 12);
const requests = Number(process.env.BOOKS_REQUESTS ?? 240);
const random = seededRandom(seed);
const below = (n: number) => Math.floor(random.next() * n);
const one = <T>(of: readonly T[]): T => of[below(of.length)]!;

/** What an upstream does with a call. */
const specs = [
  ...Array.from({ length: 12 }, () => 'ok'),
  ...['ok;delay=150ms', 'delay=400ms', 'stall=2events', 'stall=1events', 'cut=3events', 'cut=1events', 'eof=2events'],
  ...['status=503', 'status=500', 'status=400', 'status=429;retry-after=1', 'error=1', 'html', 'empty', 'malformed'],
  ...['omit=usage', 'omit=done', 'cached=5', 'tier=flex', 'finish=content_filter', 'finish=length', 'reset', 'gzip'],
  ...['tokens=60;interval=5ms', 'slow-reasoning=200ms', 'crlf;keepalive-comments=2;interval=10ms'],
];

const price = (input: number, output: number) => ({
  ...{ input, output, cached_input: input / 2, request: 0.003, image: output / 1_000, served_as: { flex: 0.5 } },
  above: [{ input_tokens: 20, input: input * 1.7, output: output * 1.3 }],
});
const cheap = { model: 'mock/ok', price: price(1_000, 3_000) };
const dear = { model: 'mock/ok', price: price(2_000, 7_000), priority: 2 };
const both = (first: string, second: string) => ({
  targets: [
    { provider: first, ...cheap, max_first_token: '100ms' },
    { provider: second, ...dear },
  ],
});
const vectors = { batch: 2, price: { input: 1_000 } };
const models = {
  open: both('open', 'claude'),
  claude: both('claude', 'open'),
  alone: { targets: [{ provider: 'open', ...cheap }] },
  cached: { ...both('open', 'claude'), cache: { ttl: '1h' } },
  checked: { ...both('open', 'other'), quality: { checks: ['refusal', 'length'], min_chars: 1 } },
  image: { type: 'image', ...both('open', 'other') },
  embedding: {
    type: 'embedding',
    space: 'mock',
    targets: [
      { provider: 'open', ...cheap, ...vectors },
      { provider: 'other', ...dear, ...vectors, price: { input: 50_000 } },
    ],
  },
};

function someCall(): { path: string; json: object } {
  const model = one(['open', 'open', 'claude', 'alone', 'cached', 'checked']);
  const stream = below(5) < 3;
  const messages = [{ role: 'user', content: 'Hello '.repeat(1 + below(20)) }];
  const common = { model, stream, user: one(['ada', 'bob', undefined]) };
  const body = { contents: [{ parts: [{ text: 'Hello' }] }] };
  return one([
    ...Array.from({ length: 4 }, () => ({ path: '/v1/chat/completions', json: { ...common, messages } })),
    { path: '/v1/chat/completions', json: { ...common, messages, n: 2 + below(2) } },
    { path: '/v1/messages', json: { model, stream, messages, max_tokens: 99 } },
    { path: '/v1/responses', json: { ...common, input: 'Hello there' } },
    { path: '/v1/completions', json: { ...common, prompt: one(['Once', ['Once', 'Twice']]) } },
    { path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, json: body },
    { path: '/v1/embeddings', json: { model: 'embedding', user: common.user, input: [...'abcde'] } },
    { path: '/v1/images/generations', json: { model: 'image', user: common.user, prompt: 'A', n: 1 + below(3) } },
  ]);
}

// biome-ignore lint/suspicious/noExplicitAny: answers of JSON.
type Row = Record<string, any>;

test(`the books agree to a unit, whatever providers and callers do (seed ${seed})`, { timeout: 600_000 }, async (t) => {
  const [a, b] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([a.close(), b.close()]));
  const timeouts = { first_token: '2s', idle: '1s', total: '4s' };
  const much = 1_000_000;
  const gateway = await startGateway(t, {
    providers: {
      open: { type: 'openai', base_url: `${a.url}/v1`, api_key: 'a', timeouts },
      claude: { type: 'anthropic', base_url: b.url, api_key: 'b', timeouts },
      other: { type: 'openai', base_url: `${b.url}/v1`, api_key: 'c', timeouts },
    },
    models,
    plans: { default: { rpm: 'off', windows: { week: much }, budget: { week: much }, tokens: { week: 1e9 } } },
    accounts: { dev: { budgets: ['user', 'model'].map((by) => ({ by, usd: much, window: 'month' })) } },
  });
  await gateway.modelsKnown;
  const shown = new Map<string, number>();
  async function call(): Promise<void> {
    const { path, json } = someCall();
    const headers = {
      ...(below(5) === 0 && { 'x-culvert-timeout-ms': String(100 + below(500)) }),
      ...(below(5) === 0 && { 'idempotency-key': `key-${below(30)}` }),
    };
    const signal = below(5) === 0 ? AbortSignal.timeout(below(300)) : null;
    try {
      const answer = await gateway.fetch(path, { json, headers, signal });
      const usd = answer.headers.get('x-culvert-cost-usd');
      if (usd !== null) shown.set(answer.headers.get('x-culvert-request-id') ?? '', Number(usd));
      await answer.text();
    } catch {
      // Its caller left, or its stream broke off.
    }
  }
  for (let at = 0; at < requests; at += 6) {
    for (const upstream of [a, b]) {
      upstream.clear();
      upstream.script(
        '*',
        Array.from({ length: 30 }, () => one(specs)),
      );
    }
    await Promise.all(Array.from({ length: 6 }, call));
  }

  const read = async (path: string): Promise<Row> => (await gateway.fetch(path)).json() as Promise<Row>;
  const headers = { authorization: `Bearer ${adminKey}` };
  const admin = async (path: string) => (await gateway.fetch(`/admin/v1${path}`, { headers })).text();
  let limits = await read('/v1/usage');
  // Those that their callers left may still run.
  for (let at = 0; at < 120 && limits.concurrency.used > 0; at += 1) {
    await pause(500);
    limits = await read('/v1/usage');
  }
  const rows: Row[] = (await admin('/requests.jsonl?from=1h'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const sumOf = (all: readonly Row[], of: (row: Row) => number) => all.reduce((sum, row) => sum + of(row), 0);
  const agree = (found: number, due: number, what: string) =>
    assert.ok(Math.abs(found - due) < 1e-7, `${what}: ${found}, not ${due}`);
  const usd = sumOf(rows, (row) => row.cost_usd ?? 0);
  const tokens = sumOf(rows, ({ usage }) => usage.input_tokens + usage.output_tokens);
  const units = sumOf(rows, (row) => row.units);
  agree(limits.budget.week.used, usd, 'the budget');
  agree(limits.tokens.week.used, tokens, 'the tokens');
  agree(limits.windows.week.used, units, 'the units');
  for (const group of ['model', 'provider', 'user', 'tag', 'key', 'endpoint', 'account', 'day', 'hour']) {
    const { data } = JSON.parse(await admin(`/usage?group_by=${group}&from=1d`));
    agree(
      sumOf(data, (row) => row.cost_usd),
      usd,
      `USD by ${group}`,
    );
    agree(
      sumOf(data, (row) => row.units),
      units,
      `units by ${group}`,
    );
    agree(
      sumOf(data, (row) => row.input_tokens + row.output_tokens),
      tokens,
      `tokens by ${group}`,
    );
  }
  const exported = (await admin('/usage/focus.csv?from=1d')).trimEnd().split('\r\n').slice(1);
  agree(
    exported.reduce((sum, line) => sum + Number(line.split(',')[0]), 0),
    usd,
    'FOCUS',
  );
  for (const user of ['ada', 'bob']) {
    const { budgets } = await read(`/v1/usage?user=${user}`);
    const ofUser = rows.filter((row) => row.user === user);
    agree(
      budgets.find((each: Row) => each.user === user).used,
      sumOf(ofUser, (row) => row.cost_usd ?? 0),
      user,
    );
  }

  for (const { id } of rows) {
    const row = await read(`/v1/requests/${id}`);
    const { attempts }: Record<string, Row[]> = row.route;
    const usdOf = (classes: readonly string[] | null) =>
      sumOf(
        (attempts ?? []).filter((each) => classes?.includes(each.class) ?? true),
        (each) => each.costUsd ?? 0,
      );
    const cost = row.cost_usd ?? 0;
    const what = `${id} ${JSON.stringify(row)}`;
    assert.ok(cost >= 0 && cost < usdOf(null) + 1e-8, what);
    // Of an answer alone: others have parts of other targets, or answers that were found wanting.
    if (row.class === 'ok' && !['checked', 'embedding', 'image'].includes(row.model)) agree(cost, usdOf(['ok']), what);
    if (shown.has(id)) agree(shown.get(id)!, cost, what);
    const isLeft = row.class === 'aborted' || (attempts ?? []).some((each) => each.class === 'deadline');
    if (row.units === 0 && !isLeft) assert.equal(cost, 0, what);
  }
});
