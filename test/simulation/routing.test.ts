import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutcomeClass } from '../../src/inference/neutral/outcome.ts';
import type { Random } from '../../src/kernel/random.ts';
import { queryOf, targetOf } from './routing-samples.ts';
import { type CallSeen, type Ending, forEachSeed, type RequestSeen, simulate } from './routing-simulation.ts';

const answered = (random: Random, aroundMs = 200): Ending => {
  const firstTokenMs = aroundMs * (0.7 + 0.6 * random.next());
  return { class: 'ok', firstTokenMs, afterMs: firstTokenMs + 100 };
};
const failed = (outcome: OutcomeClass, afterMs: number): Ending => ({ class: outcome, afterMs });

const two = queryOf([targetOf('a/m'), targetOf('b/m')]);
const failures = (requests: readonly RequestSeen[]) => requests.filter(({ result }) => result === 'failed').length;
const within = <T extends { atMs: number }>(list: readonly T[], fromMs: number, toMs: number) =>
  list.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
const to = (calls: readonly CallSeen[], target: string) => calls.filter((call) => call.target === target);

test('F1 one of two targets is killed: no request fails, and it is back within the open time', () => {
  forEachSeed(10, (seed) => {
    const [downMs, upMs] = [20_000, 35_000];
    const run = simulate(
      {
        query: two,
        requestsPerSecond: 50,
        durationMs: 90_000,
        upstream: ({ target }, sinceMs, random) =>
          target.id === 'a/m' && sinceMs >= downMs && sinceMs < upMs ? failed('transient', 1) : answered(random),
      },
      seed,
    );
    assert.equal(failures(run.requests), 0);
    const wasted = to(within(run.calls, downMs, upMs), 'a/m').length;
    // Three to open it and one that was on its way, then a probe after 5 s and 10 s.
    assert.ok(wasted <= 4 + 2, `${wasted} calls to the dead one`);
    const back = to(run.calls, 'a/m').find(({ atMs, class: outcome }) => atMs >= upMs && outcome === 'ok');
    assert.ok(back !== undefined && back.atMs <= upMs + 20_500, `back at ${back?.atMs}`);
    const after = within(run.calls, 60_000, 90_000);
    assert.ok(to(after, 'a/m').length > after.length * 0.3, 'and carries its share again');
  });
});

test('F3 one of two targets hangs until the first-token timeout: no request fails, few wait for it', () => {
  forEachSeed(5, (seed) => {
    const run = simulate(
      {
        query: two,
        requestsPerSecond: 20,
        durationMs: 120_000,
        upstream: ({ target }, sinceMs, random) =>
          target.id === 'a/m' && sinceMs > 10_000 ? failed('stall_first_token', 5_000) : answered(random),
      },
      seed,
    );
    assert.equal(failures(run.requests), 0);
    const hung = to(within(run.calls, 10_000, 120_000), 'a/m').length;
    assert.ok(hung < 60, `${hung} of ${run.calls.length} hung`);
  });
});

test('F11 one of two flaps at 50 %: at least 99.9 % succeed, its breaker opens, one probe at a time', () => {
  forEachSeed(10, (seed) => {
    const run = simulate(
      {
        query: two,
        requestsPerSecond: 50,
        durationMs: 60_000,
        upstream: ({ target }, _, random) =>
          target.id === 'a/m' && random.next() < 0.5 ? failed('transient', 20) : answered(random),
      },
      seed,
    );
    assert.ok(failures(run.requests) <= run.requests.length / 1_000);
    assert.ok(run.calls.some(({ probe }) => probe));
    assert.ok(to(run.calls, 'a/m').length < run.calls.length / 4, 'most of the traffic keeps away from it');
  });
});

test('F11 an outage of every target is not multiplied, and ends within the open time', () => {
  forEachSeed(4, (seed) => {
    const [downMs, upMs] = [10_000, 60_000];
    const run = simulate(
      {
        query: queryOf([targetOf('a/m'), targetOf('b/m'), targetOf('c/m')]),
        requestsPerSecond: 100,
        durationMs: 150_000,
        upstream: (_, sinceMs, random) =>
          sinceMs >= downMs && sinceMs < upMs ? failed('transient', 5) : answered(random),
      },
      seed,
    );
    const asked = within(run.requests, downMs, upMs).length;
    const called = within(run.calls, downMs, upMs).length;
    assert.ok(called <= asked * 1.2, `${called} calls for ${asked} requests`);
    assert.ok(called < 200, `${called} calls: breakers hold them back`);
    const lastFailed = Math.max(
      ...run.requests.filter(({ result }) => result === 'failed').map(({ endedMs }) => endedMs),
    );
    assert.ok(lastFailed <= upMs + 60_000, `still failing at ${lastFailed}`);
    assert.equal(failures(within(run.requests, 125_000, 150_000)), 0);
  });
});

test('the retry budget holds where breakers do not: failures that each of many targets shares out', () => {
  forEachSeed(5, (seed) => {
    const many = queryOf(Array.from({ length: 12 }, (_, i) => targetOf(`p${i}/m`)));
    const run = simulate(
      {
        query: many,
        requestsPerSecond: 100,
        durationMs: 60_000,
        upstream: (_, __, random) => (random.next() < 0.4 ? failed('malformed', 20) : answered(random)),
      },
      seed,
    );
    const further = run.requests.reduce((sum, { attempts }) => sum + Math.max(0, attempts - 2), 0);
    // A fifth of the requests; the floor of 3 a second counts while the window is still filling.
    assert.ok(further <= run.requests.length * 0.2 + 30, `${further} further attempts`);
  });
});

test('F10 rate-limit storms: a cooling credential is left alone, others carry on', () => {
  forEachSeed(10, (seed) => {
    const query = queryOf([
      targetOf('a/m', { credentials: ['a#0', 'a#1'] }),
      targetOf('b/m', { credentials: ['b#0'], priority: 2 }),
    ]);
    const freeAtMs = new Map<string, number>();
    const served = new Map<string, number[]>();
    const run = simulate(
      {
        query,
        requestsPerSecond: 60,
        durationMs: 60_000,
        // Each credential of `a` takes 20 calls in 10 s and says for how long it has enough; 429s come at once.
        upstream: ({ credential, target }, sinceMs, random) => {
          assert.ok((freeAtMs.get(credential.id) ?? 0) <= sinceMs, `${credential.id} called while cooling`);
          const recent = (served.get(credential.id) ?? []).filter((atMs) => atMs > sinceMs - 10_000);
          if (target.id === 'a/m' && recent.length >= 20) {
            freeAtMs.set(credential.id, sinceMs + 4_000);
            return { class: 'rate_limited', afterMs: 0, retryAfterMs: 4_000 };
          }
          served.set(credential.id, [...recent, sinceMs]);
          return answered(random);
        },
      },
      seed,
    );
    assert.equal(failures(run.requests), 0);
    const refused = run.calls.filter((call) => call.class === 'rate_limited').length;
    assert.ok(refused <= 2 * 16, `${refused} refusals`);
  });
});

test('a slow target carries little of the traffic, but is looked at again', () => {
  forEachSeed(5, (seed) => {
    const run = simulate(
      {
        query: two,
        requestsPerSecond: 30,
        durationMs: 120_000,
        upstream: ({ target }, sinceMs, random) =>
          answered(random, target.id === 'a/m' && sinceMs < 60_000 ? 4_000 : 200),
      },
      seed,
    );
    const slow = to(within(run.calls, 0, 60_000), 'a/m').length;
    assert.ok(slow > 0 && slow < 60, `${slow} calls to the slow one`);
    const later = within(run.calls, 105_000, 120_000);
    assert.ok(to(later, 'a/m').length > later.length * 0.25, 'once it is fast again it is used again');
  });
});

test('whatever upstreams do, every request ends, within its attempts, and nothing stays behind', () => {
  const classes: OutcomeClass[] = [
    'ok',
    'ok',
    'ok',
    'transient',
    'rate_limited',
    'bad_credential',
    'quota_exhausted',
    'model_unavailable',
    'region_blocked',
    'stall_first_token',
    'truncated',
    'malformed',
    'caller_fault',
    'cancelled',
    'deadline',
    'gateway_fault',
    'not_capable',
  ];
  forEachSeed(40, (seed) => {
    const targets = [
      targetOf('a/m', { credentials: ['a#0', 'a#1'], rpm: 60 }),
      targetOf('a/n', { credentials: ['a#0', 'a#1'], weight: 3 }),
      targetOf('b/m', { dialect: 'anthropic-messages', priority: 2 }),
    ];
    // Each target has moods of 5 s: what most of its calls then end with.
    const mood = (id: string, sinceMs: number) =>
      classes[(seed * 31 + id.length * 17 + id.charCodeAt(2) * 7 + Math.floor(sinceMs / 5_000) * 13) % classes.length]!;
    const query = queryOf([...targets, { target: targetOf('c/m'), rank: 1 }]);
    const run = simulate(
      {
        // What is not capable is no attempt, so it may come on top of the four.
        query: { ...query, attemptsMax: 4 },
        requestsPerSecond: 30,
        durationMs: 40_000,
        upstream: ({ target, number }, sinceMs, random) => {
          let outcome = random.next() < 0.7 ? mood(target.id, sinceMs) : 'ok';
          if (outcome === 'not_capable' && number > 1) outcome = 'transient';
          if (outcome === 'ok') return answered(random);
          return { class: outcome, afterMs: random.next() * 300, retryAfterMs: random.next() * 8_000 };
        },
      },
      seed,
    );
    assert.ok(run.requests.length > 900);
  });
});
