import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, laneOf, setUp } from '../../test/fixtures/provider-health.ts';
import { targetOf } from '../../test/simulation/routing-samples.ts';
import { createHealthHints } from './health-hints.ts';

function process() {
  const own = setUp();
  return { ...own, lane: laneOf(own.health, targetOf('a/m')), hints: createHealthHints(own.health, own.clock) };
}

/** Two processes, whose clocks stand at different times. */
function two() {
  const [one, other] = [process(), process()];
  other.clock.advance(5_000_000);
  const advance = (ms: number) => {
    one.clock.advance(ms);
    other.clock.advance(ms);
  };
  return { one, other, advance };
}

test('a lane that one process opens is open in the other, which probes a little later, and neither tells it again', () => {
  const { one, other, advance } = two();
  one.open(one.lane);
  const told = one.hints.news();
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['open'],
  );
  advance(10);
  other.hints.receive(told);
  assert.equal(other.standing(other.lane), 'open');
  assert.deepEqual([one.hints.news(), other.hints.news()], [[], []]);
  advance(1_000);
  assert.deepEqual([one.standing(one.lane), other.standing(other.lane)], ['due', 'open']);
  advance(250);
  assert.equal(other.standing(other.lane), 'due');
});

test('a probe that passes in one process brings the lane back in the other, and one that fails keeps it out', () => {
  const { one, other, advance } = two();
  one.open(one.lane);
  other.hints.receive(one.hints.news());
  advance(1_000);
  assert.equal(one.run(one.lane, 'unreachable'), 'probe');
  other.hints.receive(one.hints.news());
  advance(2_000);
  assert.equal(other.standing(other.lane), 'open', 'for as long as the other one waits, and a little');
  assert.equal(one.run(one.lane, 'ok'), 'probe');
  const back = one.hints.news();
  assert.deepEqual(
    back.map(({ kind }) => kind),
    ['back'],
  );
  other.hints.receive(back);
  assert.equal(other.standing(other.lane), 'ready');
  assert.equal(other.lane.state.breaker.at, 'ramp');
  assert.deepEqual(other.hints.news(), []);
});

test('what a process found out itself a moment ago is newer than what another one says', () => {
  const { one, other, advance } = two();
  one.open(one.lane);
  one.hints.news();
  advance(1_000);
  one.run(one.lane, 'ok');
  other.open(other.lane);
  other.hints.receive(one.hints.news());
  assert.equal(other.standing(other.lane), 'refused');
});

test('a credential that cools down does so in the other process, without the words that one tenant got', () => {
  const { one, other, advance } = two();
  const attempt = {};
  one.health.began(one.lane, attempt, 600_000, one.now());
  const limited = {
    ...endOf('rate_limited'),
    retryAfterMs: 20_000,
    message: 'org-of-tenant is over',
    tenant: 'acme/key',
  };
  one.health.ended(one.lane, attempt, limited, one.now());
  const told = one.hints.news();
  assert.doesNotMatch(JSON.stringify(told), /tenant|acme/);
  other.hints.receive(told);
  assert.equal(other.standing(other.lane), 'cooling');
  assert.equal(other.lane.state.coolingMessage, null);
  assert.equal(other.lane.state.ofCredential.coolingUntilMs, 0);
  assert.deepEqual(other.hints.news(), []);
  advance(20_000);
  assert.equal(other.standing(other.lane), 'ready');
});

test('times to the first token are told where they change, and count where nothing was heard lately', () => {
  const { one, other, advance } = two();
  const answered = ({ health, lane, now }: typeof one, firstTokenMs: number) => {
    const attempt = {};
    health.began(lane, attempt, 600_000, now());
    health.firstToken(lane, attempt, 'stream', firstTokenMs, now());
    health.ended(lane, attempt, { ...endOf('ok'), content: 'seen' }, now());
  };
  answered(one, 400);
  const told = one.hints.news().filter(({ kind }) => kind !== 'usual');
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['pace'],
  );
  other.hints.receive(told);
  assert.equal(other.lane.state.firstToken.lastMs(), 400);
  advance(2_000);
  answered(one, 410);
  assert.deepEqual(
    one.hints.news().map(({ kind }) => kind),
    ['usual'],
    'nearly the same',
  );
  assert.deepEqual(other.hints.news(), [], 'it heard that from the other one');
  answered(other, 300);
  const known = other.lane.state.firstToken.lastMs();
  other.hints.receive([{ kind: 'pace', target: 'a/m', credential: other.lane.credential.id, firstTokenMs: 9_000 }]);
  assert.equal(other.lane.state.firstToken.lastMs(), known, 'its own times are newer');
});

test('the length of vectors that one process has got is known to the other, and no hint goes back', () => {
  const { one, other } = two();
  one.lane.state.vectorLength = 1_024;
  other.hints.receive(one.hints.news());
  assert.equal(other.lane.state.vectorLength, 1_024);
  assert.deepEqual([one.hints.news(), other.hints.news()], [[], []]);
  other.lane.state.vectorLength = 7;
  one.hints.receive(other.hints.news());
  assert.equal(one.lane.state.vectorLength, 7, 'a model that was exchanged has others');
});

test('usual times are known to all by the samples of all, a target that few have asked too, and no sample comes back', () => {
  const { one, other, advance } = two();
  const ask = ({ health, lane, now }: typeof one, count: number) => {
    for (let at = 0; at < count; at++) {
      const attempt = {};
      health.began(lane, attempt, 600_000, now());
      health.firstToken(lane, attempt, 'whole', 40, now());
      health.ended(lane, attempt, { ...endOf('ok'), content: 'seen' }, now());
    }
  };
  const usualOf = ({ lane, now }: typeof one) => lane.state.usual.whole?.percentileMs(0.99, now()) ?? null;
  const exchange = () => {
    other.hints.receive(one.hints.news());
    one.hints.receive(other.hints.news());
    advance(100);
  };
  ask(one, 12);
  exchange();
  ask(one, 5);
  ask(other, 2);
  exchange();
  assert.deepEqual([usualOf(one), usualOf(other)], [null, null], 'nineteen are too few, however often they are told');
  ask(one, 1);
  exchange();
  const known = usualOf(one)!;
  assert.ok(known >= 40 && known < 60, `${known}`);
  assert.equal(usualOf(other), known);

  advance(2_000);
  ask(one, 1);
  exchange();
  ask(one, 1);
  assert.deepEqual(one.hints.news(), [], 'what is known is told now and then');
  advance(2_000);
  assert.equal(one.hints.news().length, 1);
  advance(150_000);
  assert.deepEqual([one.hints.news(), other.hints.news()], [[], []], 'counts that were halved are no news');
});
