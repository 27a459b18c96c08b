import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { factsOf, settled, watchConfig } from './watch.ts';

/** Waits for real file events: these cannot be injected. */
function watched(t: TestContext, sources: readonly string[]) {
  let changes = 0;
  let wake = () => {};
  const keepAlive = setInterval(() => {}, 1_000);
  const watch = watchConfig({
    sources,
    settleMs: 5,
    onChange: () => {
      changes++;
      wake();
    },
  });
  t.after(() => {
    watch.close();
    clearInterval(keepAlive);
  });
  return {
    watch,
    changes: () => changes,
    async until(count: number) {
      while (changes < count) await new Promise<void>((resolve) => (wake = resolve));
      assert.equal(changes, count);
    },
  };
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'culvert-watch-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('writing in place, renaming over, deleting and making again are each noticed once', {
  timeout: 5_000,
}, async (t) => {
  const file = join(folder(t), 'culvert.yaml');
  writeFileSync(file, 'a');
  const { until } = watched(t, [file]);
  writeFileSync(file, 'b');
  await until(1);
  writeFileSync(`${file}~`, 'c');
  renameSync(`${file}~`, file);
  await until(2);
  unlinkSync(file);
  await until(3);
  writeFileSync(file, 'd');
  await until(4);
});

test('a secret mounted through a link is noticed when the link turns', { timeout: 5_000 }, async (t) => {
  const path = folder(t);
  for (const version of ['one', 'two']) {
    mkdirSync(join(path, version));
    writeFileSync(join(path, version, 'key'), version);
  }
  symlinkSync('one', join(path, '..data'));
  symlinkSync('..data/key', join(path, 'key'));
  const { until } = watched(t, [join(path, 'key')]);
  symlinkSync('two', join(path, '..new'));
  renameSync(join(path, '..new'), join(path, '..data'));
  await until(1);
});

test('other files of the folder do not matter, and the watched files can change', { timeout: 5_000 }, async (t) => {
  const path = folder(t);
  const [first, second] = [join(path, 'first'), join(path, 'second')];
  writeFileSync(first, '1');
  writeFileSync(second, '1');
  const { watch, until, changes } = watched(t, [first]);
  // That nothing happens can only be seen by waiting: several times as long as things take to settle.
  const quiet = () => setTimeout(40);
  writeFileSync(second, '2');
  await quiet();
  assert.equal(changes(), 0);
  writeFileSync(first, '2');
  await until(1);
  watch.update([second]);
  writeFileSync(first, '3');
  await quiet();
  assert.equal(changes(), 1);
  writeFileSync(second, '3');
  await until(2);
  watch.close();
  writeFileSync(second, '4');
  await quiet();
  assert.equal(changes(), 2);
});

test('a change that came before the watched files changed is not lost with it', { timeout: 5_000 }, async (t) => {
  const path = folder(t);
  const [first, second] = [join(path, 'first'), join(path, 'second')];
  writeFileSync(first, '1');
  writeFileSync(second, '1');
  const keepAlive = setInterval(() => {}, 1_000);
  await new Promise<void>((changed) => {
    const config = watchConfig({ sources: [first], settleMs: 500, onChange: changed });
    // Begun later than the one above, it notices later, too.
    const other = watch(path, () => config.update([first, second]));
    t.after(() => {
      other.close();
      config.close();
      clearInterval(keepAlive);
    });
    writeFileSync(first, '2');
  });
});

test('a folder that does not exist is reported and leaves the others watched', { timeout: 5_000 }, async (t) => {
  const file = join(folder(t), 'culvert.yaml');
  writeFileSync(file, '1');
  const errors: Error[] = [];
  const keepAlive = setInterval(() => {}, 1_000);
  const changed = new Promise<void>((resolve) => {
    const watch = watchConfig({
      sources: ['/nowhere/at/all/key', file],
      settleMs: 5,
      onChange: resolve,
      onError: (error) => errors.push(error),
    });
    t.after(() => {
      watch.close();
      clearInterval(keepAlive);
    });
  });
  assert.equal(errors.length, 1);
  writeFileSync(file, '2');
  await changed;
});

test('files are settled at once where their last change is long ago, else when they stay as they are', {
  timeout: 5_000,
}, async (t) => {
  await settled([process.execPath], 60_000);
  const file = join(folder(t), 'culvert.yaml');
  const writing = (async () => {
    for (const keys of ['a', 'ab', 'abc', 'abcd']) {
      writeFileSync(file, keys);
      await setTimeout(20);
    }
    writeFileSync(file, 'whole');
  })();
  await settled([process.execPath, file], 300);
  assert.equal(readFileSync(file, 'utf8'), 'whole');
  await writing;
  rmSync(file);
  await settled([file], 5);
});

test('a change between the first reading of the files and the watch of them is noticed', {
  timeout: 5_000,
}, async (t) => {
  const file = join(folder(t), 'culvert.yaml');
  writeFileSync(file, 'a');
  const known = factsOf([file]);
  writeFileSync(file, 'other');
  const keepAlive = setInterval(() => {}, 1_000);
  await new Promise<void>((resolve) => {
    const watch = watchConfig({ sources: [file], known, settleMs: 5, onChange: resolve });
    t.after(() => {
      watch.close();
      clearInterval(keepAlive);
    });
  });
});
