import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Config, configSchema } from '../../config/schema.ts';
import { endless } from '../../kernel/limits.ts';
import type { Principal } from '../auth/principal.ts';
import type { Limit } from './counters.ts';
import { createPlanBook, planAllows } from './plan-book.ts';

const configOf = (text: Record<string, unknown>): Config => configSchema.parse(text);
const bookOf = (text: Record<string, unknown>) => createPlanBook({ config: configOf(text), stored: [] });

function caller(plan: string, limits: Principal['limits'] = null): Principal {
  return {
    keyId: 'k',
    keyName: 'laptop',
    tenant: 'dev/laptop',
    account: 'dev',
    plan,
    allowedModels: null,
    limits,
    guards: [],
  };
}

const limited = <T extends { allowed: number }>(places: readonly T[]) =>
  places.filter(({ allowed }) => allowed !== endless);
const shown = (limits: readonly Limit[]) => limits.map(({ id, scope, allowed }) => `${id} ${scope} ${allowed}`);

test('without any plan nobody is limited', () => {
  const { calls, windows, places } = bookOf({}).limits(caller('default'), null);
  assert.deepEqual([calls, windows, limited(places)], [[], [], []]);
  assert.equal(bookOf({}).plan('default').storageBytes, null);
});

test('limits begin with the first plan, of the file or of the store: default has 60 a minute, 1,000, 10,000 and 40,000 units', () => {
  const stored = [{ name: 'pro', definition: { rpm: 2 }, updatedMs: 0 }];
  for (const book of [bookOf({ plans: { pro: {} } }), createPlanBook({ config: configOf({}), stored })]) {
    const { calls, windows, places } = book.limits(caller('default'), null);
    assert.deepEqual(shown(calls), ['minute a:dev 60000']);
    assert.deepEqual(shown(windows), ['5h a:dev 1000000', 'week a:dev 10000000', 'month a:dev 40000000']);
    assert.deepEqual(limited(places), []);
  }
  const own = bookOf({ plans: { default: { rpm: 'off', storage: 'off' } } });
  assert.deepEqual(own.limits(caller('default'), null).calls, []);
});

test('an omitted rpm is 60, only off disables it; everything else that is omitted is unlimited', () => {
  const book = bookOf({
    plans: { empty: {}, off: { windows: 'off', rpm: 'off', tier_limits: 'off' }, some: { windows: { week: 0.05 } } },
  });
  assert.deepEqual(shown(book.limits(caller('empty'), null).calls), ['minute a:dev 60000']);
  assert.deepEqual(book.limits(caller('empty'), 'premium').windows, []);
  const off = book.limits(caller('off'), null);
  assert.deepEqual([off.calls, off.windows], [[], []]);
  assert.deepEqual(
    off.places.map(({ scope, allowed }) => [scope, allowed]),
    [
      ['a:dev', endless],
      ['k:dev/laptop', endless],
    ],
  );
  assert.deepEqual(shown(book.limits(caller('some'), null).windows), ['week a:dev 50']);
});

test("an omitted tier limit is the tier's own, field by field; off disables one, a tier, or all", () => {
  const book = bookOf({
    tiers: { premium: { rpm: 20, '5h': 10 } },
    plans: {
      silent: {},
      own: { tier_limits: { premium: { '5h': 4, month: 90 } } },
      part: { tier_limits: { premium: { rpm: 'off' } } },
      without: { tier_limits: { premium: 'off' } },
      none: { tier_limits: 'off' },
    },
  });
  const tier = (plan: string) => shown(book.limits(caller(plan), 'premium').windows);
  const [rpm, fiveHours] = ['tier:premium:rpm a:dev#premium 20000', 'tier:premium:5h a:dev#premium 10000'];
  assert.deepEqual(tier('silent'), [rpm, fiveHours]);
  assert.deepEqual(tier('own'), [rpm, 'tier:premium:5h a:dev#premium 4000', 'tier:premium:month a:dev#premium 90000']);
  assert.deepEqual(tier('part'), [fiveHours]);
  assert.deepEqual(tier('without'), []);
  assert.deepEqual(tier('none'), []);
  assert.deepEqual(shown(book.limits(caller('silent'), 'basic').windows), [], 'another tier');
  assert.deepEqual(shown(book.limits(caller('silent'), null).windows), [], 'a model without a tier');
});

test('tokens, tpm and USD are post-paid; requests and units are exact; the order is tier, windows, tokens, budget', () => {
  const book = bookOf({
    tiers: { premium: { rpm: 20 } },
    plans: {
      pro: { windows: { '5h': 500 }, tpm: 400_000, tokens: { month: 5 }, budget: { week: 0.29 }, concurrency: 4 },
    },
  });
  const { windows, places, scopes } = book.limits(caller('pro'), 'premium');
  assert.deepEqual(
    windows.map(({ id, rule, allowed, span }) => [id, rule, allowed, span]),
    [
      ['tier:premium:rpm', 'exact', 20_000, 'minute'],
      ['5h', 'exact', 500_000, '5h'],
      ['tokens:minute', 'post-paid', 400_000, 'minute'],
      ['tokens:month', 'post-paid', 5, 'month'],
      ['budget:week', 'post-paid', 290_000_000, 'week'],
    ],
  );
  assert.deepEqual(places, [
    { id: 'concurrency', scope: 'a:dev', allowed: 4 },
    { id: 'concurrency', scope: 'k:dev/laptop', allowed: endless },
  ]);
  assert.deepEqual(scopes, ['a:dev', 'k:dev/laptop', 'a:dev#premium', 'k:dev/laptop#premium']);
});

test('scope: key counts each key by itself, tiers included', () => {
  const book = bookOf({ tiers: { t: { rpm: 2 } }, plans: { p: { scope: 'key', rpm: 5, windows: { '5h': 1 } } } });
  const { calls, windows } = book.limits(caller('p'), 't');
  assert.deepEqual(shown([...calls, ...windows]), [
    'minute k:dev/laptop 5000',
    'tier:t:rpm k:dev/laptop#t 2000',
    '5h k:dev/laptop 1000',
  ]);
});

test("a key's own limits stand beside its plan's, and the lower of two in one scope counts", () => {
  const limits = { rpm: 5, windows: { '5h': 10 }, concurrency: 1 };
  const account = bookOf({ plans: { p: { rpm: 60, windows: { '5h': 100 } } } }).limits(caller('p', limits), null);
  assert.deepEqual(shown(account.calls), ['minute a:dev 60000', 'minute k:dev/laptop 5000']);
  assert.deepEqual(shown(account.windows), ['5h a:dev 100000', '5h k:dev/laptop 10000']);
  assert.deepEqual(account.places, [
    { id: 'concurrency', scope: 'a:dev', allowed: endless },
    { id: 'concurrency', scope: 'k:dev/laptop', allowed: 1 },
  ]);
  const key = bookOf({ plans: { p: { scope: 'key', rpm: 4, windows: { '5h': 100 } } } }).limits(
    caller('p', limits),
    null,
  );
  assert.deepEqual(shown(key.calls), ['minute k:dev/laptop 4000']);
  assert.deepEqual(shown(key.windows), ['5h k:dev/laptop 10000']);
});

test("the file's plans win over stored ones; an unknown or unreadable plan is the default plan", () => {
  const unreadable: string[] = [];
  const book = createPlanBook({
    config: configOf({ plans: { free: { rpm: 1 }, pro: { rpm: 2 } }, default_plan: 'free' }),
    stored: [
      { name: 'pro', definition: { rpm: 900 }, updatedMs: 0 },
      { name: 'made', definition: { rpm: 3 }, updatedMs: 0 },
      { name: 'broken', definition: { rpm: 'many' }, updatedMs: 0 },
    ],
    onUnreadable: (name) => unreadable.push(name),
  });
  const rpm = (name: string) => book.plan(name).rpm;
  assert.deepEqual([rpm('pro'), rpm('made'), rpm('broken'), rpm('gone')], [2, 3, 1, 1]);
  assert.deepEqual([book.has('made'), book.has('broken'), book.has('gone')], [true, false, false]);
  assert.deepEqual(
    book.all().map(({ plan, from }) => [plan.name, from]),
    [
      ['default', 'configuration'],
      ['free', 'configuration'],
      ['pro', 'configuration'],
      ['made', 'admin api'],
    ],
  );
  assert.deepEqual(unreadable, ['broken']);
});

test('the limits of a caller are made once, and made anew with the next book', () => {
  const principal = caller('default');
  const book = bookOf({});
  assert.equal(book.limits(principal, 't'), book.limits(principal, 't'));
  const next = bookOf({ plans: { default: { rpm: 7 } } });
  assert.deepEqual(shown(next.limits(principal, null).calls), ['minute a:dev 7000']);
});

test("a plan's models are globs, byte for byte", () => {
  const book = bookOf({ plans: { free: { models: ['small', '*-embedding*'] }, all: { models: 'off' } } });
  const may = (plan: string, alias: string) => planAllows(book.plan(plan), alias);
  assert.deepEqual(
    ['small', 'alpha-embedding-small', 'Small', 'smallest', 'smart'].map((alias) => may('free', alias)),
    [true, true, false, false, false],
  );
  assert.ok(may('all', 'anything'));
});

test('notices are told in ascending order of shares', () => {
  const notify = { at: [1, 0.5], webhook: 'https://h.example/x', secret: 'a-secret-of-more-than-thirty-two-bytes' };
  assert.deepEqual(bookOf({ plans: { p: { windows: { '5h': 1 }, notify } } }).plan('p').notify?.shares, [0.5, 1]);
});
