// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are culvert.yaml, whose references look like this
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { zeroConfig } from './defaults.ts';
import { findConfigFile, loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'culvert-config-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('the file is found as --config, CULVERT_CONFIG, ./culvert.yaml, in this order', (t) => {
  const cwd = folder(t);
  const env = { CULVERT_CONFIG: 'env.yaml' };
  assert.equal(findConfigFile({ flag: undefined, env: {}, cwd }), null);
  writeFileSync(join(cwd, 'culvert.yaml'), '');
  assert.equal(findConfigFile({ flag: undefined, env: {}, cwd }), join(cwd, 'culvert.yaml'));
  assert.equal(findConfigFile({ flag: undefined, env: { CULVERT_CONFIG: '' }, cwd }), join(cwd, 'culvert.yaml'));
  assert.equal(findConfigFile({ flag: undefined, env, cwd }), join(cwd, 'env.yaml'));
  assert.equal(findConfigFile({ flag: '/x/flag.yaml', env, cwd }), '/x/flag.yaml');
});

test('without a file everything is a default', () => {
  const result = loadConfig({ file: null, env: {} });
  assert.ok(result.ok);
  assert.equal(result.file, null);
  assert.deepEqual(result.config, zeroConfig());
});

test('a file that cannot be read is an error, not an exception', (t) => {
  const cwd = folder(t);
  mkdirSync(join(cwd, 'folder.yaml'));
  writeFileSync(join(cwd, 'large.yaml'), `# ${'x'.repeat(4 * 1024 * 1024)}`);
  const text = 'server: { port: 4141 }';
  writeFileSync(join(cwd, 'utf16.yaml'), Buffer.from(`\ufeff${text}`, 'utf16le'));
  writeFileSync(join(cwd, 'plain16.yaml'), Buffer.from(text, 'utf16le'));
  writeFileSync(join(cwd, 'latin.yaml'), Buffer.from('accounts: { caf\xe9: {} }', 'latin1'));
  writeFileSync(join(cwd, 'whole.yaml'), 'include: [latin.yaml]');
  const inUtf8 = 'is not in UTF-8: save it in that encoding';
  for (const [file, message] of [
    ['utf16.yaml', `utf16.yaml:1:1 the file ${inUtf8}`],
    ['plain16.yaml', `plain16.yaml:1:1 the file ${inUtf8}`],
    ['latin.yaml', `latin.yaml:1:1 the file ${inUtf8}`],
    ['whole.yaml', `whole.yaml:1:1 include: latin.yaml ${inUtf8}`],
    ['none.yaml', 'none.yaml:1:1 there is no such file'],
    ['folder.yaml', 'folder.yaml:1:1 this is not a file'],
    ['large.yaml', 'large.yaml:1:1 the file is larger than 4 MB'],
  ] as const) {
    const result = loadConfig({ file, env: {}, cwd });
    assert.ok(!result.ok);
    assert.deepEqual(result.errors.map(formatProblem), [message]);
  }
});

test('a loaded file tells what to watch, and is named relative to the working folder', (t) => {
  const cwd = folder(t);
  writeFileSync(join(cwd, 'key'), 'secret\n');
  writeFileSync(join(cwd, 'c.yaml'), 'providers: { a: { type: openai, api_key: "${file:key}" } }');
  const good = loadConfig({ file: join(cwd, 'c.yaml'), env: {}, cwd });
  assert.ok(good.ok);
  assert.deepEqual(good.sources, [join(cwd, 'c.yaml'), join(cwd, 'key')]);
  writeFileSync(join(cwd, 'c.yaml'), 'server: { prot: 1, host: "${file:key}" }');
  const bad = loadConfig({ file: join(cwd, 'c.yaml'), env: {}, cwd });
  assert.ok(!bad.ok);
  assert.equal(bad.errors[0]!.file, 'c.yaml');
  assert.deepEqual(bad.sources, [join(cwd, 'c.yaml'), join(cwd, 'key')], 'the correction is noticed too');
});
