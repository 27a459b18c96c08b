import assert from 'node:assert/strict';
import { test } from 'node:test';
import { datetimeMs } from './datetime.ts';

const march = Date.UTC(2020, 2, 1);
const readings: [string, number][] = [
  ['2020-03-01T00:00:00Z', march],
  ['2020-03-01t00:00:00z', march],
  ['2020-03-01T00:00:00-09:00', march + 9 * 3_600_000],
  ['2020-03-01 00:00:00-0900', march + 9 * 3_600_000],
  ['2020-03-01T00:00:00+0530', march - 5.5 * 3_600_000],
  ['2020-03-01 00:00:00-09', march + 9 * 3_600_000],
  ['2020-03-01T00:00:00.123456Z', march + 123.456],
  ['2020-03-01T00:00:00', march],
  ['2020-03-01 00:00:00.25', march + 250],
  ['2020-03-01 00:00:00 UTC', march],
  ['2020-03-01 00:01', march + 60_000],
  ['2020-03-01T00:01', march + 60_000],
  ['2020-03-01', march],
  ['2020-02-29T00:00:00Z', march - 86_400_000],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1)],
  ['0001-01-01T00:00:00Z', -62_135_596_800_000],
];

for (const [text, ms] of readings) {
  test(`'${text}' is read as Qdrant reads it`, () => assert.equal(datetimeMs(text), ms));
}

test('what is no time of those forms is none', () => {
  const others = ['', 'yesterday', '2020', '2020-3-1', '2021-02-29', '2020-13-01', '2020-00-10', '2020-01-00'];
  for (const text of [...others, '2020-03-01T25:00:00Z', '2020-03-01T00:60:00Z', '2020-03-01t00:00', '20200301'])
    assert.equal(datetimeMs(text), null, text);
  for (const text of [
    '2020-03-01T00:00:00+24:00',
    '2020-03-01 00:01Z',
    '2020-03-01T00:01Z',
    ' 2020-03-01',
    '2020-03-01Z',
    '2020-03-01T',
  ])
    assert.equal(datetimeMs(text), null, text);
  assert.equal(datetimeMs(`2020-03-01T00:00:00.${'1'.repeat(100_000)}Z`), null);
});
