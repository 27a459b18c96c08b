import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutcomeClass } from '../neutral/outcome.ts';
import { cooledUntilMs, coolingMs, restOf, verdictOn } from './cooldown.ts';

test('F10 a cooling takes what the upstream asked, within 1 s and 5 min, or 5 s when it says nothing', () => {
  assert.equal(coolingMs(7_500), 7_500);
  assert.equal(coolingMs(0), 1_000);
  assert.equal(coolingMs(86_400_000), 300_000);
  assert.equal(coolingMs(null), 5_000);
  assert.equal(coolingMs(Number.NaN), 5_000);
});

test('F10 of two coolings the later deadline wins', () => {
  assert.equal(cooledUntilMs(60_000, 2_000, 10_000), 60_000);
  assert.equal(cooledUntilMs(11_000, 2_000, 10_000), 12_000);
});

test('every class has its place: what it rests, and what it says of the upstream', () => {
  const expected: Record<OutcomeClass, [verdict: string, rest: string | null]> = {
    ok: ['ok', null],
    caller_fault: ['neutral', null],
    rate_limited: ['neutral', null],
    quota_exhausted: ['neutral', 'quota exhausted'],
    bad_credential: ['neutral', 'bad credential'],
    model_unavailable: ['neutral', 'model unavailable'],
    region_blocked: ['neutral', 'region blocked'],
    unreachable: ['failed', null],
    transient: ['failed', null],
    stall_first_token: ['failed', null],
    stall_idle: ['failed', null],
    truncated: ['failed', null],
    malformed: ['failed', null],
    cancelled: ['neutral', null],
    deadline: ['neutral', null],
    gateway_fault: ['neutral', null],
    not_capable: ['neutral', null],
  };
  for (const [outcome, [verdict, rest]] of Object.entries(expected)) {
    assert.equal(verdictOn(outcome as OutcomeClass), verdict, outcome);
    assert.equal(restOf(outcome as OutcomeClass), rest, outcome);
  }
});
