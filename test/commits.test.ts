import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';

/** More would make one bad subject a failure for good: commits on main are not rewritten. */
const newest = 10;
const subjectCharsMax = 71;
/** Verbs that only look like another form. */
const imperative = /^(embed|exceed|feed|heed|need|seed|shed|speed|bring|ping|ring|string)$/;

const skip = existsSync('.git') ? false : 'not a clone';

test('the newest commits have an area and an imperative subject below 72 characters', { skip }, () => {
  // Those before this rule had a form of their own.
  const first = git('log', '--diff-filter=A', '--format=%H', '-1', '--', 'test/commits.test.ts').trim();
  if (first === '') return;
  const subjects = git('log', '--no-merges', '--format=%s', `-${newest}`, `${first}..HEAD`).split('\n').filter(Boolean);
  const wrong = subjects.filter((subject) => {
    const verb = /^[a-z][a-z0-9 ,/-]*: ([A-Za-z]+)/.exec(subject)?.[1]?.toLowerCase();
    if (verb === undefined || subject.length > subjectCharsMax) return true;
    return /(ed|ing)$/.test(verb) && !imperative.test(verb);
  });
  assert.deepEqual(wrong, [], 'expected `area: do this`, such as `redis: keep a lost lease for its own process`');
});

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' });
}
