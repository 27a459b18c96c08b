import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { createTroubleReport, ledgerWords } from './trouble-report.ts';

function openReport() {
  const clock = fakeClock();
  const told: string[] = [];
  let trouble: string | null = null;
  const report = createTroubleReport({
    trouble: () => trouble,
    words: ledgerWords,
    report: (message) => told.push(message),
    clock,
  });
  return {
    clock,
    told,
    is(now: string | null) {
      trouble = now;
      report.look();
    },
  };
}

test('F30 a full disk is told when it begins and when it is over, not at every look', () => {
  const { told, is } = openReport();
  is(null);
  assert.deepEqual(told, []);
  is('the disk is full');
  is('the disk is full');
  assert.deepEqual(told, ['ledger: requests cannot be recorded: the disk is full']);
  is(null);
  is(null);
  assert.deepEqual(told.slice(1), ['ledger: requests are recorded again']);
});

test('the end of trouble is no error: an operator who counts errors sees one, not two', () => {
  const levels: string[] = [];
  let trouble: string | null = 'the disk is full';
  const report = (_message: string, level = 'error') => levels.push(level);
  const { look } = createTroubleReport({ trouble: () => trouble, words: ledgerWords, report, clock: fakeClock() });
  look();
  trouble = null;
  look();
  assert.deepEqual(levels, ['error', 'info']);
});

test('F46 five minutes in which two reasons take turns are at most 31 lines, and the end is told at once', () => {
  const { clock, told, is } = openReport();
  for (let ms = 0; ms < 300_000; ms += 50) {
    is(ms % 100 === 0 ? 'read ECONNRESET' : 'connect ECONNRESET');
    clock.advance(50);
  }
  assert.ok(told.length >= 2 && told.length <= 31, `${told.length} lines`);
  is(null);
  assert.equal(told.at(-1), 'ledger: requests are recorded again');
});

test('F46 what comes and goes again and again is told once in 10 s, and told when it stays', () => {
  const { clock, told, is } = openReport();
  for (let i = 0; i < 100; i++) {
    is('away');
    is(null);
  }
  assert.equal(told.length, 2);
  is('away');
  clock.advance(10_000);
  is('away');
  assert.equal(told.length, 3);
});
