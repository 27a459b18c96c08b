import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  beginnings,
  between,
  instantOf,
  isBetweenHours,
  isRange,
  localText,
  queryOf,
  spanOf,
} from '../../web/src/parts/ranges/range.ts';

const hourMs = 3_600_000;
const ms = (text: string) => Date.parse(text);
const hours = (range: string, now: string, zone: string) => {
  const { fromMs, toMs } = spanOf(range, ms(now), zone)!;
  return [new Date(fromMs).toISOString().slice(0, 16), toMs === null ? null : (toMs - fromMs) / hourMs];
};

test('days, weeks and months of the calendar are those of the zone, and have 23 and 25 hours where its clock changes', () => {
  const now = '2026-03-30T10:00Z';
  assert.deepEqual(hours('today', now, 'Europe/Berlin'), ['2026-03-29T22:00', null]);
  assert.deepEqual(hours('yesterday', now, 'Europe/Berlin'), ['2026-03-28T23:00', 23]);
  assert.deepEqual(hours('yesterday', now, 'UTC'), ['2026-03-29T00:00', 24]);
  assert.deepEqual(hours('last-week', now, 'Europe/Berlin'), ['2026-03-22T23:00', 7 * 24 - 1]);
  assert.deepEqual(hours('yesterday', '2026-10-26T10:00Z', 'Europe/Berlin'), ['2026-10-24T22:00', 25]);
  assert.deepEqual(hours('last-month', '2026-11-10T10:00Z', 'Europe/Berlin'), ['2026-09-30T22:00', 31 * 24 + 1]);
  assert.deepEqual(hours('this-month', '2026-11-10T10:00Z', 'America/New_York'), ['2026-11-01T04:00', null]);
  // Where the clock skips midnight, the day begins with its first hour.
  assert.deepEqual(hours('yesterday', '2026-09-07T10:00Z', 'America/Santiago'), ['2026-09-06T04:00', 23]);
  // Midnight in Kolkata is 18:30Z: the first full hour counts.
  assert.deepEqual(hours('yesterday', now, 'Asia/Kolkata'), ['2026-03-28T19:00', 24]);
  const days = beginnings('day', { fromMs: ms('2026-10-24T12:00Z'), toMs: ms('2026-10-27T00:00Z') }, 'Europe/Berlin');
  const starts = days.map((at) => new Date(at).toISOString().slice(5, 16));
  assert.deepEqual(starts, ['10-23T22:00', '10-24T22:00', '10-25T23:00', '10-26T23:00']);
});

test('a range that is empty, turned round or none is not one', () => {
  for (const range of ['any', '24h', 'last-month', between(1_000, 2_000)]) assert.ok(isRange(range), range);
  for (const range of [
    '',
    '2h',
    'tomorrow',
    between(2_000, 1_000),
    between(1_000, 1_000),
    'a..b',
    '2026-01-01..',
    'toString',
  ])
    assert.ok(!isRange(range), range);
});

test('what ends now stays relative in a question, and all else has its ends', () => {
  const now = ms('2026-11-24T10:00Z');
  assert.deepEqual(queryOf('7d', now, 'UTC'), { from: '7d' });
  assert.deepEqual(queryOf('any', now, 'UTC'), {});
  assert.deepEqual(queryOf('today', now, 'UTC'), { from: '2026-11-24T00:00:00.000Z' });
  assert.deepEqual(queryOf('yesterday', now, 'UTC'), {
    from: '2026-11-23T00:00:00.000Z',
    to: '2026-11-24T00:00:00.000Z',
  });
  const range = between(now, now + 90_500);
  assert.deepEqual(queryOf(range, 0, 'UTC'), {
    from: '2026-11-24T10:00:00.000Z',
    to: '2026-11-24T10:01:30.500Z',
  });
  assert.equal(range, '2026-11-24T10:00Z..2026-11-24T10:01:30.500Z');
});

test('what is typed as a time means that of the zone, also where clocks skip an hour or show one twice', () => {
  const at = (text: string) => new Date(instantOf(text, 'Europe/Berlin')).toISOString().slice(0, 16);
  assert.equal(at('2026-06-01T00:00'), '2026-05-31T22:00');
  assert.equal(at('2026-03-29T01:30'), '2026-03-29T00:30');
  assert.equal(at('2026-03-29T02:30'), '2026-03-29T01:30', 'skipped: an hour later');
  assert.equal(at('2026-10-25T02:30'), '2026-10-25T00:30', 'twice: the first');
  assert.equal(at('2026-10-25T03:00'), '2026-10-25T02:00');
  assert.ok(Number.isNaN(instantOf('', 'UTC')));
  assert.equal(localText(ms('2026-10-25T23:30Z'), 'Asia/Kolkata'), '2026-10-26T05:00');
  assert.deepEqual(
    ['Asia/Kolkata', 'Europe/Berlin'].map((zone) => isBetweenHours(zone, 0)),
    [true, false],
  );
});
