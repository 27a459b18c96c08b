import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { memoryNoticeStore } from '../../../../test/memory-notice-store.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Limit, LimitState } from '../counters.ts';
import type { Plan } from '../plan.ts';
import type { PlanBook } from '../plan-book.ts';
import { quotaSubject } from './notice-message.ts';
import { createNotices, type Notices } from './notices.ts';

const none = { '5h': null, week: null, month: null };
const pro: Plan = {
  name: 'pro',
  scope: 'account',
  abandoned: 'tokens',
  models: null,
  mcp: null,
  agents: null,
  guards: [],
  rpm: null,
  tpm: null,
  concurrency: null,
  units: none,
  tokens: none,
  usdNano: none,
  calendar: [],
  tiers: new Map(),
  storageBytes: null,
  notify: {
    shares: [0.8, 0.95, 1],
    webhook: 'https://hooks.example.org/q',
    secret: 'a secret of thirty-two bytes or more',
  },
};
const principal: Principal = {
  keyId: 'k1',
  keyName: 'laptop',
  tenant: 'dev/laptop',
  account: 'dev',
  plan: 'pro',
  allowedModels: null,
  limits: null,
  guards: [],
};
const units = (allowed: number, scope = 'a:dev'): Limit => ({
  id: '5h',
  scope,
  measure: 'units',
  span: '5h',
  allowed: allowed * 1_000,
  rule: 'exact',
});

function bookOf(...plans: readonly Plan[]): PlanBook {
  return {
    plan: (name) => plans.find((plan) => plan.name === name) ?? plans[0]!,
    has: (name) => plans.some((plan) => plan.name === name),
    all: () => plans.map((plan) => ({ plan, from: 'configuration' })),
    namesGuards: false,
    limits: () => assert.fail('not asked'),
  };
}

/** Nobody waits for a notice except a test. The test's own time limit covers one that never comes. */
async function untilQueued(store: { queued(): readonly unknown[] }, count: number): Promise<void> {
  while (store.queued().length < count) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Notices with a list of those that reach the webhook's queue, in order. */
function setUp(store = memoryNoticeStore(), book = bookOf(pro)) {
  const clock = fakeClock();
  const troubles: string[] = [];
  const notices = createNotices({
    store,
    plans: () => book,
    clock,
    // Delivery has tests of its own: here everything stays queued.
    post: () => Promise.resolve(500),
    send: { alerts: () => assert.fail('no alert'), statement: () => assert.fail('no statement') },
    onTrouble: (message) => troubles.push(message),
  });
  const told = () => store.queued().map(({ body }) => JSON.parse(body).data);
  return { clock, store, notices, told, troubles, see: seer(notices) };
}

/** One limit, seen at these amounts of units one after the other. */
function seer(notices: Notices, limit = units(100)) {
  const limits = [limit];
  return async (...amounts: readonly number[]) => {
    for (const used of amounts) {
      notices.observe({ principal, tier: null }, limits, [{ used: used * 1_000, leavesAtMs: null }]);
      for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
}

const shares = (told: readonly { share: number }[]) => told.map(({ share }) => share);

test('a window tells once when it fills up to each share', async () => {
  const { see, told } = setUp();
  await see(1, 79, 79.999);
  assert.deepEqual(told(), []);
  await see(80, 81, 94.95, 95, 99, 100, 100);
  assert.deepEqual(shares(told()), [0.8, 0.95, 1]);
});

test('one request that crosses several shares tells of each', async () => {
  const { see, told } = setUp();
  await see(96);
  assert.deepEqual(shares(told()), [0.8, 0.95]);
});

test('use that flickers around a share is told once; after it fell by 5 % of the limit, again', async () => {
  const { see, told } = setUp();
  await see(80, 79, 80, 75, 80, 76, 81);
  assert.deepEqual(shares(told()), [0.8]);
  await see(74.999, 79);
  assert.deepEqual(shares(told()), [0.8]);
  await see(80);
  assert.deepEqual(shares(told()), [0.8, 0.8]);
});

test('what others crossed is read page by page, and known for the last of them', async () => {
  const store = memoryNoticeStore();
  for (let at = 0; at < 2_400; at += 1) store.put({ scope: `a:other-${at}`, limit: '5h', share: 0.8, crossedMs: 1 });
  const limit = { ...units(100), scope: 'z' };
  store.put({ scope: 'z', limit: limit.id, share: 0.8, crossedMs: 1 });
  const pages: number[] = [];
  const { crossings } = store;
  store.crossings = async (behind, most) => {
    const page = await crossings(behind, most);
    pages.push(page.length);
    return page;
  };
  const { notices, told } = setUp(store);
  await notices.start();
  assert.deepEqual(pages, [1_000, 1_000, 401]);
  await seer(notices, limit)(90);
  assert.deepEqual(told(), [], 'another process has reported it');
  await notices.stop();
});

const aroundShares = fc.constantFrom(74, 75, 76, 79, 80, 89, 90, 94, 95, 96, 99, 100);
const anyUse = fc.integer({ min: 0, max: 110 });

test('for any course of use, as many notices as a plain reading of the rule counts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(aroundShares, anyUse), { minLength: 5, maxLength: 40 }), async (course) => {
      const { see, told } = setUp();
      await see(...course);
      const expected = [0.8, 0.95, 1].flatMap((share) => {
        let armed = true;
        let count = 0;
        for (const used of course) {
          if (armed && used >= share * 100) {
            armed = false;
            count++;
          } else if (!armed && used < share * 100 - 5) armed = true;
        }
        return Array<number>(count).fill(share);
      });
      assert.deepEqual(shares(told()).sort(), expected.sort());
    }),
    { numRuns: 50 },
  );
});

test('a notice says whose limit, which, how full and until when', async () => {
  const { clock, notices, store } = setUp();
  const limits: Limit[] = [
    { id: 'tokens:month', scope: 'a:dev', measure: 'tokens', span: 'month', allowed: 1_000, rule: 'post-paid' },
    {
      id: 'tier:premium:week',
      scope: 'k:dev/laptop#premium',
      measure: 'units',
      span: 'week',
      allowed: 10_500,
      rule: 'exact',
    },
    { id: 'budget:5h', scope: 'a:dev', measure: 'usd', span: '5h', allowed: 2e9, rule: 'post-paid' },
  ];
  const leavesAtMs = Date.parse('2026-11-20T10:00:00Z');
  const states: LimitState[] = [
    { used: 801, leavesAtMs },
    { used: 8_500, leavesAtMs: null },
    { used: 1.6e9, leavesAtMs },
  ];
  notices.observe({ principal, tier: 'premium' }, limits, states);
  await untilQueued(store, 3);
  const common = { account: 'dev', plan: 'pro', share: 0.8, resets_at: '2026-11-20T10:00:00.000Z' };
  const queued = store.queued();
  assert.deepEqual(
    queued.map(({ body }) => JSON.parse(body)),
    [
      { ...common, limit: 'tokens:month', window: 'month', used: 801, allowed: 1_000 },
      {
        ...common,
        key: 'laptop',
        limit: 'tier:premium:week',
        window: 'week',
        used: 8.5,
        allowed: 10.5,
        resets_at: null,
      },
      { ...common, limit: 'budget:5h', window: '5h', used: 1.6, allowed: 2 },
    ].map((data) => ({ type: 'quota.threshold', timestamp: new Date(clock.wallMs()).toISOString(), data })),
  );
  for (const notice of queued) assert.match(notice.id, /^msg_[0-9A-Za-z]{24}$/);
  assert.equal(new Set(queued.map(({ id }) => id)).size, 3);
});

test('minutes, calls and windows that allow nothing or everything are not told of', async () => {
  const { notices, told } = setUp();
  const limits: Limit[] = [
    { ...units(100), id: 'minute', measure: 'calls', span: 'minute' },
    { ...units(100), id: 'tokens:minute', measure: 'tokens', span: 'minute' },
    units(0),
    { ...units(1), allowed: Number.POSITIVE_INFINITY },
  ];
  notices.observe(
    { principal, tier: null },
    limits,
    limits.map(() => ({ used: 1e9, leavesAtMs: null })),
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(told(), []);
});

test('a plan without notify tells nothing', async () => {
  const { see, told } = setUp(memoryNoticeStore(), bookOf({ ...pro, notify: null }));
  await see(100);
  assert.deepEqual(told(), []);
});

test('64 observers at once and two processes over one store tell once', async () => {
  const store = memoryNoticeStore();
  const [one, other] = [setUp(store), setUp(store)];
  await Promise.all(
    Array.from({ length: 64 }, (_, i) => seer(i % 2 === 0 ? one.notices : other.notices)(70, 80 + (i % 16), 99)),
  );
  assert.deepEqual(shares(one.told()).sort(), [0.8, 0.95]);
});

test('what was seen while the store was being asked is dealt with too', async () => {
  const { notices, store, told } = setUp();
  const limits = [units(100)];
  for (const used of [80, 95, 100]) {
    notices.observe({ principal, tier: null }, limits, [{ used: used * 1_000, leavesAtMs: null }]);
  }
  await untilQueued(store, 3);
  assert.deepEqual(shares(told()), [0.8, 0.95, 1]);
});

test('a process that starts knows what was told before', async () => {
  const store = memoryNoticeStore();
  await setUp(store).see(80);
  const next = setUp(store);
  await next.notices.start();
  await next.see(81, 74, 80);
  assert.deepEqual(shares(next.told()), [0.8, 0.8]);
  await next.notices.stop();
});

test("another process's crossing is armed again by whoever sees the fall, within a minute", async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const store = memoryNoticeStore();
  const [one, other] = [setUp(store), setUp(store)];
  await other.notices.start();
  await other.see(10);
  await one.see(80);
  t.mock.timers.tick(60_000);
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
  await other.see(10, 80);
  assert.deepEqual(shares(other.told()), [0.8, 0.8]);
  await other.notices.stop();
});

test('a store that fails is said once to the operator, and what was seen is told when it is back', async () => {
  const { store, see, told, troubles } = setUp();
  store.failing = true;
  await see(80, 81, 82);
  assert.equal(troubles.length, 1);
  store.failing = false;
  await see(82);
  assert.deepEqual(shares(told()), [0.8]);
});

test('a changed limit is watched at its new shares', async () => {
  const { notices, see, told } = setUp();
  await see(80);
  await seer(notices, units(200))(100, 159);
  assert.deepEqual(shares(told()), [0.8]);
  // It fell to half of the new limit, which arms it again.
  await seer(notices, units(200))(160);
  assert.deepEqual(shares(told()), [0.8, 0.8]);
});

test('the sentence of a notice names the end user, the tag or the model whose budget it is', () => {
  const data = { account: 'dev', limit: 'budget:user:month', share: 0.8 };
  const subject = (more: object) =>
    quotaSubject({ type: 'quota.threshold', timestamp: '2026-11-30T20:00:00.000Z', data: { ...data, ...more } });
  assert.equal(subject({ user: 'ada' }), "The account dev used 80% of budget:user:month of the user 'ada'.");
  assert.equal(subject({ limit: '5h' }), 'The account dev used 80% of 5h.');
});
