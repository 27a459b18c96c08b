// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as people write them
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import { wholeConfigText } from './load.ts';
import { formatProblem } from './problem.ts';

/** A folder with these files; the result of checking `text` as its culvert.yaml. */
function checked(t: TestContext, text: string, files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-include-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const file = join(folder, 'culvert.yaml');
  writeFileSync(file, text);
  const result = checkConfigText(text, file, { MORE: 'more.d' }, { shownAs: 'culvert.yaml' });
  const errors = result.ok ? [] : result.errors.map(formatProblem);
  return { folder, file, errors, sources: result.sources, config: result.ok ? result.config : null };
}

test('files and folders add entries and keys, and their references begin at their folder', (t) => {
  const { config, errors, sources, folder } = checked(
    t,
    'include: [one.yaml, "${MORE}"]\nkeys: [{ key: sk-cv-main-key-1, account: main }]\n',
    {
      'one.yaml': 'providers: { up: { type: openai, api_key: "${file:secrets/up}" } }',
      'secrets/up': 'sk-upstream\n',
      'more.d/b.yml': 'keys: [{ key: sk-cv-more-key-1, account: more }]\nplans: { small: { rpm: 5 } }',
      'more.d/a.yaml': 'models: { fast: { targets: [up/gpt-5] } }\nkeys: [{ key: "${file:key}", account: first }]',
      'more.d/key': 'sk-cv-key-of-a-file',
      'more.d/.hidden.yaml': 'nonsense',
      'more.d/notes.txt': 'nonsense',
    },
  );
  assert.deepEqual(errors, []);
  assert.equal(config?.providers.up?.api_key, 'sk-upstream');
  assert.deepEqual(
    config?.keys.map(({ key, account }) => `${account} ${key}`),
    ['main sk-cv-main-key-1', 'first sk-cv-key-of-a-file', 'more sk-cv-more-key-1'],
  );
  assert.deepEqual(Object.keys(config?.models ?? {}), ['fast']);
  assert.equal(config?.plans.small?.rpm, 5);
  const within = sources.map((source) => source.slice(folder.length + 1)).sort();
  assert.deepEqual(
    within,
    ['culvert.yaml', 'one.yaml', 'secrets/up', 'more.d/.', 'more.d/a.yaml', 'more.d/b.yml', 'more.d/key'].sort(),
  );
});

test('mistakes are at their line of the included file', (t) => {
  const { errors } = checked(
    t,
    'include: [a.yaml, b.yaml, c.yaml]\nmodels: { fast: { targets: [up/x] } }\nkeys: [{ key: sk-cv-main-key-1, account: a }]',
    {
      'a.yaml':
        'providers:\n  up: { type: openai, api_key: k-1 }\nmodels:\n  fast: { targets: [up/y] }\nserver: { port: 1 }',
      'b.yaml': 'providers:\n\n  up: { type: openai, api_key: k-2 }\nkeys: { a: 1 }\ninclude: [d.yaml]',
      'c.yaml':
        '\n\nkeys:\n  - { key: sk-cv-more-key-1, acount: x }\nmodels: { slow: { targets: ["${UNSET_NAME}/x"] } }',
    },
  );
  const only = 'an included file has providers, models, guards, prompts, routes, tiers, plans, accounts, keys only';
  assert.deepEqual(errors.slice(0, 6), [
    'a.yaml:4:3 models.fast: the including file has this name too',
    `a.yaml:5:1 server: ${only}`,
    'b.yaml:3:3 providers.up: a.yaml has this name too',
    'b.yaml:4:1 keys: expected a list',
    `b.yaml:5:1 include: ${only}`,
    "c.yaml:4:30 keys[1].acount: unknown key (did you mean 'account'?)",
  ]);
  assert.match(errors.at(-1) ?? '', /^c\.yaml:5:\d+ models\.slow.*UNSET_NAME is not set/);
});

test('what cannot be read is an error, since its keys would be gone', (t) => {
  const { errors, sources, folder } = checked(t, 'include:\n  - nowhere.yaml\n  - empty.yaml\n  - loop.d\n', {
    'empty.yaml': '\n',
    'loop.d/sub.yaml/x': '',
  });
  assert.deepEqual(errors, [
    'culvert.yaml:1:1 include: empty.yaml is empty',
    'culvert.yaml:1:1 include: loop.d/sub.yaml is not a file',
    'culvert.yaml:2:5 include[0]: there is no such file or folder',
  ]);
  assert.ok(sources.includes(join(folder, 'nowhere.yaml')), 'it is noticed once it is there');
  symlinkSync('nowhere', join(folder, 'loop.d', 'gone.yaml'));
  const again = checkConfigText('include: [loop.d]', join(folder, 'culvert.yaml'), {});
  assert.match(again.ok ? '' : again.errors.map(formatProblem).join(), /loop\.d\/gone\.yaml cannot be read \(ENOENT\)/);
});

test('references of included files to secret managers are found', (t) => {
  const { file } = checked(t, 'include: [a.yaml]', { 'a.yaml': 'providers: { up: { api_key: "${vault:a/b#c}" } }' });
  assert.match(wholeConfigText(file, {}) ?? '', /\$\{vault:a\/b#c\}/);
});
