import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { targetOf } from '../../test/simulation/routing-samples.ts';
import { createHealth } from './health.ts';
import type { AnswerKind } from './lane.ts';
import { standingOf } from './lane.ts';
import type { HedgeReason } from './route.ts';
import { createSilenceWatch, readingMsOf, type Seen, type SilenceEntry } from './silence.ts';

interface Waits extends SilenceEntry {
  attempt: { signs: number; awaiting: boolean; paused: boolean };
  stalls: number;
  reasons: HedgeReason[];
  seen?: Seen;
}

/** One target, looked at four times a second. */
function setUp() {
  const clock = fakeClock();
  const health = createHealth({ clock });
  const watch = createSilenceWatch(health);
  const now = () => clock.monotonicMs();
  const [lane] = health.lanes(targetOf('a/m'));
  watch.look(now());

  function lookFor(ms: number): void {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.advance(250);
      watch.look(now());
    }
  }

  /** An attempt that waits for its first content. `asks`: whether it can be asked elsewhere. */
  function wait(kind: AnswerKind = 'stream', more: Partial<SilenceEntry> & { asks?: boolean } = {}): Waits {
    const { asks = true, ...rest } = more;
    const reasons: HedgeReason[] = [];
    const entry: Waits = {
      lane: lane!,
      kind,
      startedMs: now(),
      probe: false,
      hedgeAfter: null,
      halfwayMs: now() + 300_000,
      maxFirstTokenMs: null,
      attempt: { signs: 0, awaiting: true, paused: false },
      stalls: 0,
      observer: {
        overdue(reason) {
          reasons.push(reason);
          return asks;
        },
        stalled() {
          entry.stalls++;
        },
      },
      reasons,
      ...rest,
    };
    health.began(lane!, entry, 600_000, now());
    entry.seen = watch.began(entry);
    return entry;
  }

  /** This many answers that took `ms` each. */
  function usually(count: number, ms: number, kind: AnswerKind = 'stream'): void {
    for (let i = 0; i < count; i++) {
      const attempt = {};
      health.began(lane!, attempt, 600_000, now());
      health.firstToken(lane!, attempt, kind, ms, now());
      const end = { class: 'ok', retryAfterMs: null, afterMs: ms, content: 'seen', tenant: 'dev/laptop' } as const;
      health.ended(lane!, attempt, end, now());
    }
  }

  /** Why it is closed out; null when it is not. */
  const why = () => {
    const { breaker } = lane!.state;
    return breaker.at === 'open' || breaker.at === 'probing' ? breaker.why : null;
  };
  return { clock, watch, now, lane: lane!, lookFor, wait, usually, why };
}

test('nothing heard for 10 s of a target that is not known: it is silent, and what it holds is asked elsewhere', () => {
  const { lookFor, wait, why } = setUp();
  const stream = wait();
  lookFor(10_000);
  assert.deepEqual([why(), stream.reasons], [null, []]);
  lookFor(250);
  assert.deepEqual([why(), stream.reasons], ['silent', ['silent']]);
  lookFor(5_000);
  assert.deepEqual(stream.reasons, ['silent'], 'once is enough');
});

test('a target that usually answers within 2 s is silent after little more', () => {
  const { lookFor, wait, usually, why } = setUp();
  usually(20, 2_000);
  const stream = wait();
  lookFor(2_000);
  assert.equal(why(), null);
  lookFor(750);
  assert.deepEqual([why(), stream.reasons], ['silent', ['silent']]);
});

test('however fast it usually is, a second of silence means nothing', () => {
  const { lookFor, wait, usually, why } = setUp();
  usually(50, 20);
  const stream = wait();
  lookFor(1_000);
  assert.deepEqual([why(), stream.reasons], [null, []]);
  lookFor(250);
  assert.deepEqual([why(), stream.reasons], ['silent', ['silent']]);
});

test('a long prompt is read for longer than short ones tell', () => {
  const { lookFor, wait, usually, why } = setUp();
  usually(50, 300);
  const stream = wait('stream', { inputTokens: 50_000 });
  lookFor(6_000);
  assert.deepEqual([why(), stream.reasons], [null, []]);
  lookFor(250);
  assert.deepEqual([why(), stream.reasons], ['silent', ['silent']]);
  assert.equal(readingMsOf(5_000_000), 60_000, 'the timeouts say the rest');
});

test('a sign of life of one request clears all of its target', () => {
  const { lookFor, wait, why } = setUp();
  const stream = wait();
  const other = wait();
  for (let i = 0; i < 6; i++) {
    lookFor(5_000);
    other.attempt.signs++;
  }
  assert.deepEqual([why(), stream.reasons, other.reasons], [null, [], []]);
});

test('what has its first content, or is over, is not asked elsewhere', () => {
  const { watch, lookFor, wait, why } = setUp();
  const flowing = wait();
  const over = wait();
  flowing.attempt.awaiting = false;
  watch.ended(over.seen!);
  lookFor(60_000);
  assert.deepEqual([why(), flowing.reasons, over.reasons], [null, [], []]);
});

test('a stream that flows clears its target too', () => {
  const { lookFor, wait, why } = setUp();
  const flowing = wait();
  flowing.attempt.awaiting = false;
  const stream = wait();
  for (let i = 0; i < 20; i++) {
    flowing.attempt.signs++;
    lookFor(1_000);
  }
  assert.deepEqual([why(), stream.reasons], [null, []]);
  lookFor(10_000);
  assert.deepEqual([why(), stream.reasons], ['silent', ['silent']]);
});

test('what cannot be asked elsewhere now is tried again at the next look', () => {
  const { lookFor, wait } = setUp();
  const stream = wait('stream', { asks: false });
  lookFor(11_000);
  assert.deepEqual(stream.reasons, ['silent', 'silent', 'silent', 'silent']);
});

test('a whole answer is asked elsewhere after 30 s while nothing is known, although its target is heard', () => {
  const { lookFor, wait, why } = setUp();
  const whole = wait('whole-256');
  const other = wait();
  for (let i = 0; i < 30; i++) {
    lookFor(1_000);
    other.attempt.signs++;
  }
  assert.deepEqual(whole.reasons, []);
  lookFor(250);
  assert.deepEqual([why(), whole.reasons, other.reasons], [null, ['slow'], []]);
});

test('a whole answer is slow by what answers of its size usually take', () => {
  const { lookFor, wait, usually } = setUp();
  usually(50, 2_000, 'whole-256');
  usually(50, 20_000, 'whole-4096');
  const short = wait('whole-256');
  const long = wait('whole-4096');
  const heard = wait();
  for (let i = 0; i < 20; i++) {
    heard.attempt.signs++;
    lookFor(1_000);
  }
  assert.deepEqual([short.reasons, long.reasons], [['slow'], []]);
  for (let i = 0; i < 8; i++) {
    heard.attempt.signs++;
    lookFor(1_000);
  }
  assert.deepEqual(long.reasons, ['slow']);
});

test('a slow stream is asked elsewhere only where that is wanted, and a hundred samples are known', () => {
  const { lookFor, wait, usually } = setUp();
  usually(99, 400);
  const heard = wait();
  const pass = () => {
    for (let i = 0; i < 4; i++) {
      heard.attempt.signs++;
      lookFor(500);
    }
  };
  const early = wait('stream', { hedgeAfter: 0.95 });
  pass();
  assert.deepEqual(early.reasons, []);
  usually(1, 400);
  const plain = wait('stream');
  const hedged = wait('stream', { hedgeAfter: 0.95 });
  heard.attempt.signs++;
  lookFor(250);
  assert.deepEqual(hedged.reasons, [], 'it usually takes 400 ms');
  pass();
  assert.deepEqual([plain.reasons, hedged.reasons, early.reasons], [[], ['slow'], ['slow']]);
});

test('the probe of a silent target is asked elsewhere after half a second', () => {
  const { clock, lane, lookFor, wait, now, why } = setUp();
  wait();
  lookFor(10_250);
  clock.advance(1_000);
  assert.equal(standingOf(lane, now()), 'due');
  const probe = wait('stream', { probe: true });
  assert.equal(standingOf(lane, now()), 'probing');
  lookFor(500);
  assert.deepEqual(probe.reasons, []);
  lookFor(250);
  assert.deepEqual([why(), probe.reasons], ['silent', ['silent']]);
});

test('a request to a silent target waits for that target’s usual time before it is asked elsewhere', () => {
  const { lookFor, wait, usually } = setUp();
  usually(50, 3_000);
  wait();
  lookFor(5_000);
  const later = wait();
  lookFor(3_000);
  assert.deepEqual(later.reasons, []);
  lookFor(1_500);
  assert.deepEqual(later.reasons, ['silent']);
});

test('after a pause of our own nothing is blamed: bytes may be waiting to be read', () => {
  const { clock, watch, lookFor, wait, now, why } = setUp();
  const stream = wait();
  clock.advance(20_000);
  watch.look(now());
  assert.deepEqual([why(), stream.reasons], [null, []]);
  stream.attempt.signs++;
  lookFor(9_000);
  assert.deepEqual([why(), stream.reasons], [null, []]);
});

/** So many streams that end well, whose content pauses for `gapMs` at most. */
function flow({ clock, watch, now, wait }: ReturnType<typeof setUp>, count: number, gapMs: number): void {
  for (let i = 0; i < count; i++) {
    const stream = wait();
    stream.attempt.awaiting = false;
    for (let at = 0; at < 2 * gapMs; at += 250) {
      clock.advance(250);
      if (at % gapMs === 0) stream.attempt.signs++;
      watch.look(now());
    }
    watch.ended(stream.seen!);
  }
}

test('F71 a stream that stops after its first content has stalled after four times the usual gap, said once', () => {
  const set = setUp();
  flow(set, 20, 1_000);
  const stream = set.wait();
  stream.attempt.awaiting = false;
  set.lookFor(4_000);
  assert.equal(stream.stalls, 0);
  set.lookFor(2_000);
  assert.equal(stream.stalls, 1);
  set.lookFor(20_000);
  assert.equal(stream.stalls, 1);
});

test('F71 however fast it usually is, 1.5 s of silence are no stall; 2 s while nothing is known', () => {
  const set = setUp();
  const cold = set.wait();
  cold.attempt.awaiting = false;
  // The first look finds it open.
  set.lookFor(2_250);
  assert.equal(cold.stalls, 0);
  set.lookFor(250);
  assert.equal(cold.stalls, 1);
  flow(set, 20, 250);
  const known = set.wait();
  known.attempt.awaiting = false;
  set.lookFor(1_750);
  assert.equal(known.stalls, 0);
  set.lookFor(250);
  assert.equal(known.stalls, 1);
});

test('F71 what had only paused makes its target known at once', () => {
  const set = setUp();
  const pausing = set.wait();
  pausing.attempt.awaiting = false;
  set.lookFor(5_000);
  assert.equal(pausing.stalls, 1);
  pausing.attempt.signs++;
  set.lookFor(15_000);
  assert.equal(pausing.stalls, 1, 'it may pause four times as long');
});

test('F71 the silence of a stream that a slow reader holds back is no stall', () => {
  const set = setUp();
  const stream = set.wait();
  stream.attempt.awaiting = false;
  stream.attempt.paused = true;
  set.lookFor(60_000);
  assert.equal(stream.stalls, 0);
  stream.attempt.paused = false;
  set.lookFor(2_000);
  assert.equal(stream.stalls, 0, 'counted from when it could go on');
});

test('F73 half of its time is gone, or its first token takes longer than its maximum: it is also asked elsewhere', () => {
  const { now, lookFor, wait, usually } = setUp();
  usually(20, 100, 'whole');
  usually(20, 60_000);
  const whole = wait('whole', { asks: false, halfwayMs: now() + 1_000 });
  const capped = wait('stream', { maxFirstTokenMs: 500 });
  const stream = wait();
  lookFor(750);
  assert.deepEqual([whole.reasons, capped.reasons, stream.reasons], [[], ['late'], []]);
  lookFor(250);
  assert.deepEqual(whole.reasons, ['late']);
});
