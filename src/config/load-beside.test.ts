import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from './load.ts';
import { loadConfigBeside } from './load-beside.ts';
import { keepManagedSecrets } from './managed-secrets.ts';

const entry = new URL('../main/load-worker.ts', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'culvert-load-'));
test.after(() => rmSync(folder, { recursive: true }));

function written(tail: string, models = 1_500): string {
  const file = join(folder, 'culvert.yaml');
  const targets = Array.from(
    { length: models },
    (_, at) => `  model-${at}: { targets: [{ provider: up, model: m${at}, price: { input: 1, output: 2 } }] }`,
  );
  const provider = `up: { type: openai, base_url: "https://up.example/v1", api_key: "\${vault:secret/data/up#key}" }`;
  writeFileSync(file, `providers:\n  ${provider}\nmodels:\n${targets.join('\n')}\n${tail}\n`);
  return file;
}

/** Turns of the loop until it is done. */
async function turnsOf<T>(work: Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  for (; !isOver; turns++) await new Promise((resolve) => setImmediate(resolve));
  return { result: await work, turns };
}

test('a large file is read while the loop turns, with the same result, secrets of managers and errors too', async () => {
  keepManagedSecrets(new Map([['vault:secret/data/up#key', { ok: true, text: 'from-the-vault' }]]));
  for (const tail of [
    `keys:\n  - { key: "\${KEY}", account: dev, name: laptop }`,
    'accounts: { dev: { plan: nobody } }',
  ]) {
    const options = { file: written(tail), env: { KEY: 'sk-cv-1234567890' } };
    const { result, turns } = await turnsOf(loadConfigBeside(entry, options));
    assert.deepEqual(result, loadConfig(options));
    assert.ok(turns > 5, `${turns} turns`);
    if (result.ok) assert.equal(result.config.providers.up!.api_key, 'from-the-vault');
    else assert.deepEqual([result.errors[0]!.path, result.errors[0]!.line > 1_500], ['accounts.dev.plan', true]);
  }
});

test('a small file needs no thread', async () => {
  const options = { file: written('', 10), env: {} };
  const { result, turns } = await turnsOf(loadConfigBeside(entry, options));
  assert.deepEqual(result, loadConfig(options));
  assert.ok(turns <= 2, `${turns} turns`);
  assert.ok(!(await loadConfigBeside(entry, { file: join(folder, 'absent.yaml'), env: {} })).ok);
});

test('a text that a request brought is checked in a thread, however short: some lines can make 100,000 values', async () => {
  const row = (letter: string, of: string) => `${letter}: &${letter} [${Array(9).fill(of).join(', ')}]`;
  const lines = ['b', 'c', 'd', 'e', 'f', 'g'].map((letter, at) => row(letter, `*${'abcdef'[at]}`));
  const options = { file: join(folder, 'absent.yaml'), env: {}, text: ['a: &a [x]', ...lines].join('\n') };
  const { result, turns } = await turnsOf(loadConfigBeside(entry, options));
  assert.ok(!result.ok && result.errors[0]!.message.startsWith('unknown key'));
  assert.ok(turns > 5, `${turns} turns`);
});

test('a text that ends its thread is not checked in this one', async () => {
  const lost = new URL('data:text/javascript,process.exit(1)');
  const result = await loadConfigBeside(lost, { file: 'culvert.yaml', env: {}, text: 'models: {}' });
  assert.ok(!result.ok && result.errors[0]!.message.includes('too much time or memory'));
});
