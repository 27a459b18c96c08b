import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report, summarize, type TestResult } from './report.ts';

const refused = (status: number, words: string) => ({ status, words });

test('results are counted by file, and failures by the refusal they got, whatever the names and numbers in it', () => {
  const lines: TestResult[] = [
    { test: 'tests/openapi/test_a.py::test_one', outcome: 'passed', when: 'call' },
    {
      test: 'tests/openapi/test_a.py::test_two[1]',
      outcome: 'failed',
      when: 'call',
      refused: refused(501, "No 'test_x' 1"),
    },
    {
      test: 'tests/openapi/test_a.py::test_two[2]',
      outcome: 'failed',
      when: 'call',
      refused: refused(501, "No 'test_y' 22"),
    },
    {
      test: 'tests/openapi/test_b.py::test_three',
      outcome: 'failed',
      when: 'call',
      said: 'assert 1 == 2',
      refused: null,
    },
    { test: 'tests/openapi/test_b.py::test_four', outcome: 'skipped', when: 'setup' },
    // A test whose end fails has failed.
    { test: 'tests/openapi/test_b.py::test_five', outcome: 'passed', when: 'call' },
    { test: 'tests/openapi/test_b.py::test_five', outcome: 'failed', when: 'teardown', said: 'gone' },
  ];
  const summary = summarize(lines);
  assert.deepEqual([summary.passed, summary.skipped, summary.total], [1, 1, 6]);
  assert.deepEqual(summary.files, [
    { file: 'test_a.py', passed: 1, total: 3 },
    { file: 'test_b.py', passed: 0, total: 3 },
  ]);
  assert.deepEqual(
    summary.causes.map(({ count, status, words }) => [count, status, words]),
    [
      [2, 501, 'No … #'],
      [1, null, 'assert # == #'],
      [1, null, 'gone'],
    ],
  );
  const table = report(summary, 1).split('\n');
  assert.equal(table[0], 'test_a.py    1 of 3');
  assert.ok(table.includes('1 of 6 pass, 1 skipped'));
  assert.equal(table.at(-1), '… and 2 more causes');
});
