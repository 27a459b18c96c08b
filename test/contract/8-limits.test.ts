import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workersKnow } from '../start-gateway.ts';
import { refusedFor, servePlans } from './plan-gateway.ts';
import { chatPath, hello } from './served.ts';

const off = { windows: 'off', rpm: 'off', tier_limits: 'off' };
const premium = { targets: [{ provider: 'up1', model: 'mock/ok' }], tier: 'premium' };
const { ask, chat, status, usage, upstream, gateway, config } = await servePlans(
  {
    fiveHours: { rpm: 'off', windows: { '5h': 2, week: 100 } },
    weekly: { rpm: 'off', windows: { week: 2 } },
    monthly: { rpm: 'off', windows: { month: 2 } },
    rpm: { rpm: 2 },
    off,
    tiers: { rpm: 'off' },
    ownTier: { rpm: 'off', tier_limits: { premium: { rpm: 'off', '5h': 2 } } },
    tierOff: { rpm: 'off', tier_limits: { premium: 'off' } },
    around: { rpm: 'off', windows: { '5h': 30 } },
    costs: { rpm: 'off', windows: { '5h': 3 } },
    broken: { rpm: 3, windows: { '5h': 1 } },
    tokens: { rpm: 'off', tokens: { month: 1 } },
    tpm: { rpm: 'off', tpm: 1 },
    budget: { rpm: 'off', budget: { week: 0.001 } },
    places: { rpm: 'off', concurrency: 1 },
    shared: { rpm: 'off', windows: { '5h': 1 } },
    byKey: { rpm: 'off', windows: { '5h': 1 }, scope: 'key' },
    reads: { rpm: 'off', windows: { '5h': 1 } },
    race: { rpm: 'off', windows: { '5h': 10 } },
    changing: { rpm: 'off', windows: { '5h': 1 } },
    headers: { rpm: 60, windows: { '5h': 50 } },
  },
  {
    tiers: { premium: { rpm: 1 } },
    models: {
      premium,
      dear: { targets: ['up1/mock/ok'], cost: 2 },
      priced: { targets: [{ provider: 'up1', model: 'mock/ok', price: { input: 1_000, output: 1_000 } }] },
      failing: { targets: ['up1/mock/status=500'] },
      alsoFailing: { targets: ['up1/mock/status=502'] },
      refusing: { targets: ['up1/mock/status=400'] },
    },
  },
);

for (const [plan, window, label] of [
  ['fiveHours', '5h', '5-hour window'],
  ['weekly', 'week', '7-day window'],
  ['monthly', 'month', '30-day window'],
] as const) {
  test(`§8.1 "three rolling windows": ${window}; "Reaching any limit returns 429 naming the exceeded window"`, async () => {
    const firstMs = performance.now();
    assert.deepEqual([await status(plan), await status(plan)], [200, 200]);
    const response = await chat(plan);
    const { headers } = response;
    const error = await refusedFor(window, response);
    assert.deepEqual([error.window, error.used, error.allowed], [window, 2, 2]);
    assert.match(
      error.message,
      new RegExp(
        `^Rate limit exceeded: ${label}, 2 of 2 requests used\\. The next request passes at \\S+Z \\(in \\d+ s\\)\\.$`,
      ),
    );
    const at = /at (\S+Z)/.exec(error.message)![1]!;
    assert.equal(Date.parse(at), Date.parse(error.resets_at ?? ''));
    const waitMs = Date.parse(at) - Date.now();
    // What has passed since the first request, and what is rounded.
    const slackMs = performance.now() - firstMs + 1_000;
    assert.ok(Math.abs((error.retry_after_ms ?? 0) - waitMs) < slackMs);
    assert.ok(waitMs > 5 * 3_600_000 - slackMs);
    assert.deepEqual([headers.get('x-should-retry'), headers.get('retry-after')], ['false', null]);
    assert.equal(Date.parse(headers.get('x-culvert-retry-at') ?? ''), Date.parse(at));
    assert.match(headers.get('ratelimit') ?? '', new RegExp(`"${window}";r=0;t=\\d+$`));
    assert.equal(headers.get('x-ratelimit-remaining-requests'), '0');
  });
}

test('§8.2 "The plan\'s requests-per-minute limit … appl[ies]": refused before the body is read', async () => {
  assert.deepEqual([await status('rpm'), await status('rpm')], [200, 200]);
  const error = await refusedFor('minute', ask('rpm', chatPath, { not: 'a chat' }));
  assert.deepEqual([error.used, error.allowed, 'window' in error], [2, 2, false]);
  assert.match(error.message, /requests per minute, 2 of 2 requests used/);
});

test('§8.2 "per-model tier limits apply": those of the tier itself where the plan sets none', async () => {
  assert.equal(await status('tiers', { model: 'premium' }), 200);
  const error = await refusedFor('tier:premium:rpm', chat('tiers', { model: 'premium' }));
  assert.deepEqual([error.used, error.allowed], [1, 1]);
  assert.equal(await status('tiers'), 200, 'a model of no tier');
});

test("§8.2: a plan's own tier limits stand beside the tier's, field by field", async () => {
  assert.deepEqual(
    [await status('ownTier', { model: 'premium' }), await status('ownTier', { model: 'premium' })],
    [200, 200],
  );
  const error = await refusedFor('tier:premium:5h', chat('ownTier', { model: 'premium' }));
  assert.match(error.message, /: tier premium, 5-hour window, 2 of 2 requests used/);
  assert.equal(await status('ownTier'), 200);
});

test('§8.2 "unless the plan explicitly disables them"', async () => {
  for (const plan of ['off', 'tierOff']) {
    for (let i = 0; i < 5; i++) assert.equal(await status(plan, { model: 'premium' }), 200, plan);
  }
});

test("§8.3: a model's cost multiplies; what does not fit is refused and takes nothing", async () => {
  const first = await chat('costs', { model: 'dear' });
  assert.equal(first.headers.get('x-culvert-cost'), '2');
  await first.text();
  const error = await refusedFor('5h', chat('costs', { model: 'dear' }));
  assert.match(error.message, /2 of 3 requests used, and this one needs 2\./);
  assert.equal(await status('costs'), 200, 'a cheaper one still fits');
  assert.equal((await usage('costs')).windows['5h'].used, 3);
});

test('reads of vectors count, and are refused like all others when nothing is left', async () => {
  const read = async () => (await ask('reads', '/v1/vectors/collections')).status;
  assert.equal(await read(), 200);
  assert.equal((await usage('reads')).windows['5h'].used, 0.05);
  for (let at = 1; at < 20; at += 1) assert.equal(await read(), 200, `read ${at}`);
  assert.equal(await read(), 429);
});

test('models that the caller names as fallbacks are no way around a cost or a tier', async () => {
  const cheap = await chat('around', { models: ['dear'] });
  assert.equal(cheap.headers.get('x-culvert-cost'), '2');
  await cheap.text();
  assert.equal(await status('around', { models: ['premium'] }), 200);
  await refusedFor('tier:premium:rpm', chat('around', { models: ['premium'] }));
});

test('no bad input, unknown model or failed upstream costs a unit; each counts in requests per minute', async () => {
  assert.equal(await status('broken', { stream: 'yes' }), 400);
  assert.equal(await status('broken', { model: 'failing' }), 502);
  assert.deepEqual([(await usage('broken')).windows['5h'].used, (await usage('broken')).rpm.used], [0, 2]);
  assert.equal(await status('broken'), 200);
  await refusedFor('minute', chat('broken'));
  assert.equal((await usage('broken')).windows['5h'].used, 1);
});

test('tokens are paid afterwards: admitted while used is below, then 429 naming the window', async () => {
  assert.equal(await status('tokens'), 200);
  await workersKnow();
  const error = await refusedFor('tokens:month', chat('tokens'));
  assert.ok(error.used > 1 && error.allowed === 1);
  assert.match(error.message, /: 30-day token window, \d+ of 1 tokens used/);
});

test('tokens per minute are paid afterwards too', async () => {
  assert.equal(await status('tpm'), 200);
  await workersKnow();
  const error = await refusedFor('tokens:minute', chat('tpm'));
  assert.match(error.message, /: tokens per minute, \d+ of 1 tokens used/);
});

test('a limit of calls or tokens per minute tells when to retry: little more than a minute away, which clients can wait', async () => {
  for (const plan of ['rpm', 'tpm']) {
    for (let i = 0; i < 2; i++) await status(plan);
    const { headers } = await chat(plan);
    const afterS = Number(headers.get('retry-after'));
    assert.ok(afterS > 30 && afterS <= 62, `${plan}: ${afterS}`);
    assert.notEqual(headers.get('x-should-retry'), 'false', plan);
  }
});

test('a budget is in USD, by the prices of targets', async () => {
  assert.equal(await status('budget', { model: 'priced' }), 200);
  await workersKnow();
  const error = await refusedFor('budget:week', chat('budget', { model: 'priced' }));
  assert.ok(error.used > 0.001 && error.allowed === 0.001);
  assert.match(error.message, /: 7-day budget, 0\.\d+ of 0\.001 USD used/);
});

test('concurrency: one more than the plan has places for is 429 before its body, and passes when one has ended', async () => {
  upstream.script(chatPath, ['delay=400ms']);
  const first = status('places');
  while (
    upstream.requests().filter(({ method }) => method === 'POST').length === 0 ||
    (await usage('places')).concurrency.used === 0
  )
    await new Promise(setImmediate);
  const response = await chat('places');
  assert.equal(response.headers.get('retry-after'), '1');
  const error = await refusedFor('concurrency', response);
  assert.deepEqual([error.used, error.allowed, error.resets_at], [1, 1, null]);
  assert.equal(await first, 200);
  upstream.clear();
  assert.equal(await status('places'), 200);
});

test('limits count per account, or with scope: key by key', async () => {
  assert.equal(await status('shared'), 200);
  await refusedFor('5h', chat('shared', {}, 'two'));
  assert.equal(await status('byKey'), 200);
  await refusedFor('5h', chat('byKey'));
  assert.equal(await status('byKey', {}, 'two'), 200);
});

test('64 callers at once against the last 10 units: exactly 10 pass', async () => {
  const statuses = await Promise.all(Array.from({ length: 64 }, () => status('race')));
  assert.equal(statuses.filter((code) => code === 200).length, 10);
  assert.equal(statuses.filter((code) => code === 429).length, 54);
  assert.equal((await usage('race')).windows['5h'].used, 10);
});

test('every metered answer tells the limits: whole, streamed, refused and failed ones', async () => {
  const whole = await chat('headers');
  await whole.text();
  assert.equal(whole.headers.get('ratelimit-policy'), '"minute";q=60;w=60, "5h";q=50;w=18000');
  assert.match(whole.headers.get('ratelimit') ?? '', /^"minute";r=59;t=6[01], "5h";r=49;t=180\d\d$/);
  assert.equal(whole.headers.get('x-ratelimit-limit-requests'), '60');
  assert.equal(whole.headers.get('x-ratelimit-remaining-requests'), '59');
  assert.match(whole.headers.get('x-ratelimit-reset-requests') ?? '', /^1m[01]s$/);
  const bodies: [Record<string, unknown>, number][] = [
    [{ stream: true }, 200],
    [{ stream: 'yes' }, 400],
    [{ model: 'nobody' }, 404],
    [{ model: 'refusing' }, 400],
    [{ model: 'alsoFailing' }, 502],
  ];
  for (const [fields, expected] of bodies) {
    const response = await chat('headers', fields);
    await response.text();
    assert.equal(response.status, expected);
    assert.match(
      response.headers.get('ratelimit') ?? '',
      /^"minute";r=5\d;t=\d+(, "5h";r=\d+;t=\d+)?$/,
      String(expected),
    );
    assert.match(response.headers.get('x-ratelimit-remaining-requests') ?? '', /^5\d$/);
  }
});

test('a plan change applies to live windows at once', async () => {
  assert.equal(await status('changing'), 200);
  await refusedFor('5h', chat('changing'));
  const plans = { ...config.plans, changing: { rpm: 'off', windows: { '5h': 2 } } };
  const models = { chat: { targets: [{ provider: 'up1', model: 'mock/ok' }] } };
  const providers = { up1: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } };
  await gateway.reload({ ...config, providers, models, tiers: {}, plans: { ...plans, ownTier: off, tierOff: off } });
  assert.equal(await status('changing', { ...hello }), 200);
  const error = await refusedFor('5h', chat('changing'));
  assert.deepEqual([error.used, error.allowed], [2, 2]);
});
