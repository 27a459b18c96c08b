import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCoreWatch } from './core-watch.ts';

function watched() {
  const time = { cpuMs: 0, nowMs: 0 };
  const warnings: string[] = [];
  const watch = createCoreWatch(
    (message) => warnings.push(message),
    () => time.cpuMs,
    () => time.nowMs,
  );
  /** Seconds in which the thread has a share of its core. */
  const pass = (seconds: number, share: number) => {
    for (let second = 0; second < seconds; second += 1) {
      time.nowMs += 1_000;
      time.cpuMs += 1_000 * share;
      watch.look();
    }
  };
  return { watch, warnings, pass };
}

test('a start that takes all of the core for some seconds is no trouble', () => {
  const { watch, warnings, pass } = watched();
  pass(4, 1);
  pass(1, 0.5);
  pass(4, 1);
  assert.equal(watch.trouble(), null);
  assert.deepEqual(warnings, []);
});

test('a core that is used up is a trouble for as long as it lasts, with one warning each time', () => {
  const { watch, warnings, pass } = watched();
  pass(20, 0.95);
  assert.match(watch.trouble() ?? '', /uses its whole core/);
  assert.equal(warnings.length, 1);
  pass(1, 0.2);
  assert.equal(watch.trouble(), null);
  pass(5, 0.9);
  assert.equal(warnings.length, 2);
});

test('the thread that looks is the one that is measured', () => {
  const { pass, warnings } = watched();
  pass(5, 0.89);
  assert.deepEqual(warnings, []);
  const own = createCoreWatch(() => assert.fail('it did next to nothing'));
  for (let look = 0; look < 5; look += 1) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    own.look();
  }
  assert.equal(own.trouble(), null);
});
