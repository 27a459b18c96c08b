// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are culvert.yaml, whose references look like this
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { checkConfigText } from './check.ts';
import { configOf, errorsOf } from './config-of.fixture.ts';

test('what is not YAML is said with its place, without the text around it', () => {
  assert.match(errorsOf('server: { port: 1\nadmin: {}\n')[0]!, /^culvert\.yaml:\d:\d+ .*bracket/);
  assert.match(errorsOf('server:\n\tport: 1\n')[0]!, /^culvert\.yaml:2:1 .*tab/);
  assert.deepEqual(errorsOf('server: {}\nadmin: {}\nserver: {}\n'), [
    'culvert.yaml:3:1 server: this key is given twice',
  ]);
  assert.deepEqual(errorsOf('server: {}\n---\nadmin: {}\n').length, 1);
  assert.match(errorsOf('server: !!js/function x')[0]!, /tags/);
  assert.match(errorsOf('? [a]\n: b\n')[0]!, /a key must be plain text/);
  assert.match(errorsOf('__proto__: { a: 1 }')[0]!, /cannot be used/);
});

test('aliases work, and bombs of aliases, depth and size are refused quickly', () => {
  const config = configOf('providers:\n  a: &p { type: openai, api_key: x }\n  b: *p\n');
  assert.deepEqual(config.providers.a, config.providers.b);
  assert.match(errorsOf('providers: *nowhere')[0]!, /alias/);

  const bomb = Array.from(
    { length: 12 },
    (_, n) =>
      `k${n}: &a${n} [${Array(10)
        .fill(n === 0 ? 'x' : `*a${n - 1}`)
        .join(', ')}]`,
  );
  assert.match(errorsOf(bomb.join('\n')).join('\n'), /too many values/);
  assert.match(errorsOf('a: &a [*a]').join('\n'), /nested too deeply/);
  assert.ok(errorsOf(`a: ${'['.repeat(20_000)}`).length > 0);
  assert.ok(errorsOf(`a: ${'{a: '.repeat(5_000)}x${'}'.repeat(5_000)}`).length > 0);
  assert.match(errorsOf(`# ${'x'.repeat(4 * 1024 * 1024)}`)[0]!, /larger than 4 MB/);
});

test('an alias is the last anchor of its name before it, and thousands, or open brackets, take no square time', () => {
  const model = (name: string) => `{ targets: [a/${name}] }`;
  const list = [`one: &m ${model('x')}`, 'two: *m', `three: &m ${model('y')}`, 'four: *m'];
  const { models } = configOf(`providers: { a: { type: openai, api_key: x } }\nmodels:\n  ${list.join('\n  ')}`);
  const named = Object.values(models).map(({ targets }) => targets[0]!.model);
  assert.deepEqual(named, ['x', 'x', 'y', 'y']);
  const aliases = (count: number) => `a: &a {}\n${Array.from({ length: count }, (_, n) => `k${n}: *a`).join('\n')}`;
  const brackets = (count: number) => `a: ${'${'.repeat(15 * count)}`;
  for (const text of [aliases, brackets]) {
    const cpuMs = (count: number) => {
      const before = process.cpuUsage();
      errorsOf(text(count));
      return process.cpuUsage(before).user / 1_000;
    };
    cpuMs(500);
    const few = Math.max(10, cpuMs(500));
    assert.ok(cpuMs(4_000) < 30 * few, `500 take ${few} ms`);
  }
});

test('a mask that an escape writes is refused in words', () => {
  const result = checkConfigText('default_plan: "\\uE000\\uE100\\uE100"', 'culvert.yaml', {});
  assert.ok(!result.ok);
  assert.match(result.errors[0]!.message, /private-use character/);
});

test('no text makes the check throw', () => {
  const pieces = fc.constantFrom(
    'a',
    'server',
    ':',
    ' ',
    '\n',
    '  ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '${',
    '${A}',
    '$${',
    '&a',
    '*a',
    '!',
    '|',
    '>',
    '#',
    ',',
    '?',
    '---',
    '5h',
    '\t',
    '\u{e001}',
    '💧',
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 40 }).map((list) => list.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const result = checkConfigText(text, 'c', { A: 'a' });
      if (result.ok) return;
      assert.ok(result.errors.length > 0);
      for (const { line, column } of result.errors)
        assert.ok(line >= 1 && column >= 1 && line <= text.split('\n').length);
    }),
    { numRuns: 2_000 },
  );
});
