import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTroubleReport } from './tell-trouble.ts';

test('F30 a full disk is told when it begins and when it is over, not at every look', () => {
  let trouble: string | null = null;
  const told: string[] = [];
  const report = createTroubleReport(
    () => trouble,
    (message) => told.push(message),
  );
  report.look();
  assert.deepEqual(told, []);
  trouble = 'the disk is full';
  report.look();
  report.look();
  assert.deepEqual(told, ['ledger: requests cannot be recorded: the disk is full']);
  trouble = null;
  report.look();
  report.look();
  assert.deepEqual(told.slice(1), ['ledger: requests are recorded again']);
});
