import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerKindOf, PeakEwma, UsualTime } from './lane.ts';

test('a slower answer counts at once, a faster one by and by', () => {
  const ewma = new PeakEwma();
  ewma.observe(100, 0);
  ewma.observe(900, 1_000);
  assert.equal(ewma.readMs(1, 1_000), 900);
  ewma.observe(100, 2_000);
  const afterOne = ewma.readMs(1, 2_000);
  assert.ok(afterOne > 800 && afterOne < 900, `${afterOne}`);
  ewma.observe(100, 62_000);
  assert.ok(ewma.readMs(1, 62_000) < 105);
});

test('an idle slow target looks better with time, so that it is tried again', () => {
  const ewma = new PeakEwma();
  ewma.observe(5_000, 0);
  assert.ok(Math.abs(ewma.readMs(0, 10_000) - 5_000 / Math.E) < 1);
  assert.equal(ewma.readMs(0, 600_000), 1);
});

test('F3 only one goes first: while somebody awaits its first token, neither age nor ignorance flatters a target', () => {
  const ewma = new PeakEwma();
  assert.equal(ewma.readMs(0, 0), 1, 'unknown and idle: try it');
  assert.equal(ewma.readMs(1, 0), 1_000, 'unknown and being tried: a guess');
  ewma.observe(5_000, 0);
  assert.equal(ewma.readMs(1, 600_000), 5_000);
});

const startMs = 1_000_000;

function timesOf(...samples: readonly [count: number, ms: number][]): UsualTime {
  const usual = new UsualTime();
  for (const [count, ms] of samples) for (let i = 0; i < count; i++) usual.observe(ms, startMs);
  return usual;
}

/** Upper bound of a bucket: at most 35 % above. */
function isAbout(actual: number | null, ms: number): void {
  assert.ok(actual !== null && actual >= ms && actual <= ms * 1.36, `${actual} is no upper bound of ${ms}`);
}

test('fewer than twenty samples say nothing', () => {
  const usual = timesOf([19, 500]);
  assert.equal(usual.percentileMs(0.99, startMs), null);
  usual.observe(500, startMs);
  isAbout(usual.percentileMs(0.99, startMs), 500);
});

test('a hundred can be asked for', () => {
  const usual = timesOf([99, 500]);
  assert.equal(usual.percentileMs(0.95, startMs, 100), null);
  usual.observe(500, startMs);
  isAbout(usual.percentileMs(0.95, startMs, 100), 500);
});

test('percentiles are upper bounds, at most a third above', () => {
  const usual = timesOf([50, 200], [45, 1_000], [5, 20_000]);
  isAbout(usual.percentileMs(0.5, startMs), 200);
  isAbout(usual.percentileMs(0.95, startMs), 1_000);
  isAbout(usual.percentileMs(0.99, startMs), 20_000);
  for (let ms = 10; ms < 600_000; ms = Math.ceil(ms * 1.07)) isAbout(timesOf([20, ms]).percentileMs(0.99, startMs), ms);
});

test('times below 10 ms and above 10 min have their place', () => {
  assert.equal(timesOf([20, 0]).percentileMs(0.99, startMs), 10);
  assert.ok(timesOf([20, 3_600_000]).percentileMs(0.99, startMs)! >= 600_000);
});

test('what was usual minutes ago gives way to what is now', () => {
  const usual = timesOf([1_000, 10_000]);
  // Halved every two minutes: 1,000 old ones weigh 31 after ten.
  const laterMs = startMs + 600_000;
  for (let i = 0; i < 100; i++) usual.observe(100, laterMs);
  isAbout(usual.percentileMs(0.5, laterMs), 100);
  assert.ok(usual.percentileMs(0.99, laterMs)! >= 10_000, 'and is not forgotten at once');
});

test('what a quiet target is known by is kept', () => {
  const usual = timesOf([1_000, 400]);
  isAbout(usual.percentileMs(0.99, startMs + 86_400_000), 400);
});

test('whole answers are of a kind by the tokens that were asked for', () => {
  const whole = (maxOutputTokens: number | null) => answerKindOf({ stream: false, maxOutputTokens });
  assert.deepEqual([256, 257, 1_024, 1_025, 4_096, 4_097].map(whole), [
    'whole-256',
    'whole-1024',
    'whole-1024',
    'whole-4096',
    'whole-4096',
    'whole',
  ]);
  assert.equal(whole(null), 'whole');
  assert.equal(answerKindOf({ stream: true, maxOutputTokens: 256 }), 'stream');
});

test('samples that others know already are no news, also after the counts have faded', () => {
  const usual = timesOf([1_000, 400]);
  const sumOf = (news: readonly number[] | null) => news?.reduce((sum, count) => sum + count, 0) ?? null;
  assert.equal(sumOf(usual.takeNews()), 1_000);
  assert.equal(usual.takeNews(), null);
  usual.add([0, 0, 7], startMs);
  assert.equal(usual.takeNews(), null, 'what others said');
  usual.observe(400, startMs + 600_000);
  assert.equal(sumOf(usual.takeNews()), 1);
});
