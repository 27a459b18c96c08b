// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are culvert.yaml, whose references look like this
import assert from 'node:assert/strict';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import type { Env } from './environment.ts';
import { formatProblem } from './problem.ts';
import type { Config } from './schema.ts';

function configOf(text: string, env: Env = {}): Config {
  const result = checkConfigText(text, 'culvert.yaml', env);
  assert.ok(result.ok, result.ok ? '' : result.errors.map(formatProblem).join('\n'));
  return result.config;
}

function errorsOf(text: string): string[] {
  const result = checkConfigText(text, 'culvert.yaml', {});
  assert.ok(!result.ok, 'the check should fail');
  return result.errors.map(formatProblem);
}

for (const url of ['u:p#w@h/d', 'u:p/w@h/d', 'u:p?w@h/d', ':::', 'u:secret@h:99999/d', 'u:p@h1:1,h2:x/d'])
  test(`S19 a store's URL that its client could not read is an error without the password: ${url}`, () => {
    for (const [key, scheme] of [
      ['database', 'postgres'],
      ['state', 'redis'],
    ] as const) {
      const [error = '', ...more] = errorsOf(`storage:\n  ${key}: "${scheme}://${url}"\n`);
      assert.match(error, new RegExp(`^culvert.yaml:2:3 storage.${key}: expected .*cannot be read.* %23 for #`));
      assert.ok(!error.includes(url));
      assert.deepEqual(
        more.filter((other) => other.includes(`storage.${key}`)),
        [],
      );
    }
  });

test('a stray % in a password is an error where its client does not take it as it is', () => {
  const [error = ''] = errorsOf('storage:\n  state: "redis://:p%w@h"\n');
  assert.match(error, /^culvert.yaml:2:3 storage.state: expected .* %25 for %$/);
  assert.equal(configOf('storage: { database: "postgres://u:p%w@h/d" }').storage.database, 'postgres://u:p%w@h/d');
});

test('a password from elsewhere may have any characters in a URL; one that is encoded for it stays as it is', () => {
  const passwordOf = (password: string, url = 'redis://u:${P}@h:6379/0') => {
    const text = `storage:\n  database: postgres://h/d\n  secret: ${'s'.repeat(32)}\n  state: "${url}"\n`;
    const { state } = configOf(text, { P: password }).storage;
    return new URL(state).password;
  };
  assert.equal(decodeURIComponent(passwordOf('a/b?c#d@e[f]%20 g')), 'a/b?c#d@e[f]%20 g');
  assert.equal(passwordOf('p%2Fw'), 'p%2Fw');
  assert.equal(passwordOf('b/c', 'redis://u:a${P}d@h'), 'ab%2Fcd');
  // Elsewhere in a URL, a value is part of it.
  const { database } = configOf('storage: { database: "postgres://${H}/d?x=a@b" }', { H: 'h:5432/d?y=1&z=' }).storage;
  assert.equal(database, 'postgres://h:5432/d?y=1&z=/d?x=a@b');
});

test('URLs of stores may name sockets, IPv6 addresses, encoded passwords and several hosts', () => {
  const unusual = ['u:p%23w%2F@h/d', 'u@/d?host=/run/postgresql', 'u@[::1]:5432/d', 'u@%2Frun%2Fpostgresql/d'];
  for (const url of [...unusual, 'u:p%2Cw@h1,h2:5433/d', 'u@[::1]:5432,h2:5432/d'])
    assert.equal(configOf(`storage: { database: "postgres://${url}" }`).storage.database, `postgres://${url}`);
});
