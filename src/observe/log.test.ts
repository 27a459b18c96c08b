import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isoNow } from './log.ts';

test('the time of a line is that of Date, whatever the millisecond', (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  for (const iso of [
    '2026-01-02T03:04:05.000Z',
    '2026-01-02T03:04:05.009Z',
    '2026-01-02T03:04:05.099Z',
    '2026-01-02T03:04:05.999Z',
    '2026-01-02T03:04:06.000Z',
    // A clock that was set back.
    '2026-01-02T03:03:59.123Z',
  ]) {
    t.mock.timers.setTime(Date.parse(iso));
    assert.equal(isoNow(), iso);
  }
});
