import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKnownDeaths } from './known-deaths.ts';

test('each death is told once, also to those that listen later', () => {
  const deaths = createKnownDeaths();
  const early: string[] = [];
  const late: string[] = [];
  deaths.onDeath((boot) => early.push(boot));
  for (const boot of ['s.1.1', 's.2.1', 's.1.1']) deaths.note(boot);
  deaths.onDeath((boot) => late.push(boot));
  deaths.note('s.1.2');
  assert.deepEqual(early, ['s.1.1', 's.2.1', 's.1.2']);
  assert.deepEqual(late, early);
});

test('the last hundred are remembered', () => {
  const deaths = createKnownDeaths();
  for (let nth = 1; nth <= 101; nth++) deaths.note(`s.1.${nth}`);
  const told: string[] = [];
  deaths.onDeath((boot) => told.push(boot));
  assert.deepEqual([told.length, told[0], told.at(-1)], [100, 's.1.2', 's.1.101']);
});
