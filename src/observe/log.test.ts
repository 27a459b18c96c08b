import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { isoNow, lineWriter, timestamp } from './log.ts';

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

test('a written line is the one that the log itself would write, and none below its level', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-02T03:04:05.678Z') });
  const lines: string[] = [];
  const log = pino({ base: null, timestamp }, { write: (line) => void lines.push(line) });
  const write = lineWriter(log, 'request');
  const fields = { model: 'a "b"\n', target: null, status: 200, stream: false, user: undefined, ms: 1.5 };
  log.info(fields, 'request');
  write(fields);
  assert.equal(lines[1], lines[0]);
  log.level = 'warn';
  write(fields);
  assert.equal(lines.length, 2);
});
