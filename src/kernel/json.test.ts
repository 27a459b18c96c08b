import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { memberValue, scanJson } from './json.ts';

const scan = (text: string, depthMax = 64) => scanJson(Buffer.from(text), depthMax);
const slice = (text: string, range: { start: number; end: number } | null) =>
  range === null ? null : Buffer.from(text).subarray(range.start, range.end).toString();

test('the top-level model value is found among nested ones', () => {
  const text =
    ' { "a" : {"model":"no","b":[1,{"model":2}]} , "model" : "gpt \\" x" , "stream_options":{"include_usage":true}} ';
  const seen = scan(text);
  assert.equal(slice(text, seen.model), '"gpt \\" x"');
  assert.equal(slice(text, seen.streamOptions), '{"include_usage":true}');
  assert.equal(seen.modelCount, 1);
  assert.equal(text.slice(0, seen.afterBrace), ' {');
  assert.equal(seen.opaqueKeys, false);
});

test('a value that reads like a key is not one', () => {
  const text = '{"x":"model","model":"m","y":["model"]}';
  assert.equal(scan(text).modelCount, 1);
  assert.equal(slice(text, scan(text).model), '"m"');
});

test('S21 two top-level models are counted, also when one is written with escapes', () => {
  assert.equal(scan('{"model":"a","model":"b"}').modelCount, 2);
  assert.equal(scan('{"model":"a","model":"b"}').model, null);
  const escaped = scan('{"model":"a","\\u006dodel":"b"}');
  assert.equal(escaped.modelCount, 2);
  assert.equal(escaped.opaqueKeys, true);
});

test('the only model, written with escapes, gives no range to splice', () => {
  const seen = scan('{"mod\\u0065l":"a"}');
  assert.deepEqual([seen.modelCount, seen.model, seen.opaqueKeys], [1, null, true]);
});

test('depth is bounded, and brackets inside strings do not count', () => {
  assert.equal(scan('[[[]]]', 3).tooDeep, false);
  assert.equal(scan('[[[[]]]]', 3).tooDeep, true);
  assert.equal(scan('["[[[[[["]', 1).tooDeep, false);
  assert.equal(scan(`${'['.repeat(100_000)}`).tooDeep, true);
});

test('a top level that is no object has no members', () => {
  for (const text of ['[]', '"model"', '12', '', '[{"model":"x"}]']) {
    const seen = scan(text);
    assert.deepEqual([seen.afterBrace, seen.modelCount, seen.members.length], [-1, 0, 0], text);
  }
});

test('what is not JSON ends without a throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'a', ' ') }), (text) => {
      scan(text);
    }),
  );
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('members and depth agree with JSON.parse on any JSON, however it is spaced', () => {
  // No key holds a backslash: V8 (Node 24.21) reads another key written with an escape as one that it has seen there.
  // JSON.parse('{"m":1,"\\\\":2}'), then JSON.parse('{"m":1,"\\"":2}') gives the second the key of the first.
  const withoutBackslash = fc.string().filter((text) => !text.includes('\\'));
  const key = fc.oneof(fc.constantFrom('model', 'stream_options', 'm', '', '"', '\n'), withoutBackslash);
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue({ maxDepth: 4 })), fc.constantFrom(0, 1, '\t'), (object, space) => {
      const text = JSON.stringify(object, null, space);
      const body = Buffer.from(text);
      const value = JSON.parse(text) as Record<string, unknown>;
      const seen = scanJson(body, 64);
      assert.equal(scanJson(body, depthOf(value)).tooDeep, false);
      assert.equal(scanJson(body, depthOf(value) - 1).tooDeep, true);
      assert.equal(seen.memberCount, Object.keys(value).length);
      assert.equal(seen.modelCount, Object.hasOwn(value, 'model') ? 1 : 0);
      for (let i = 0; i < seen.members.length; i += 4) {
        const [keyStart, keyEnd, valueStart, valueEnd] = seen.members.slice(i, i + 4);
        const name = body.subarray(keyStart, keyEnd).toString();
        assert.deepEqual(JSON.parse(body.subarray(valueStart, valueEnd).toString()), value[name]);
      }
      const escaped = Object.keys(value).filter((name) => JSON.stringify(name).includes('\\')).length;
      assert.equal(seen.members.length / 4 + escaped, Object.keys(value).length);
      assert.equal(seen.opaqueKeys, escaped > 0);
    }),
  );
});

test('of a repeated member no range is given', () => {
  const body = Buffer.from('{"a":1,"b":2,"a":3}');
  const { members } = scanJson(body, 8);
  assert.equal(memberValue(body, members, 'a'), null);
  assert.deepEqual(memberValue(body, members, 'b'), { start: 11, end: 12 });
});

test('members are counted however often one is repeated, and wherever it stands', () => {
  assert.equal(scan('{"a":1,"b":{"a":1,"a":2},"a":[3,{"a":4}]}').memberCount, 3);
  assert.equal(scan('{"a":1,"\\u0061":2}').memberCount, 2);
  assert.equal(scan('{}').memberCount, 0);
});

test('a long string with escaped quotes ends where it ends', () => {
  const content = 'say \\"hi\\" '.repeat(500) + '\\\\'.repeat(40);
  const text = `{"content":"${content}","model":"m"}`;
  assert.equal(slice(text, scan(text).model), '"m"');
});

test('S21 members written inside a string are text, however far the string’s end', () => {
  for (let length = 0; length < 80; length += 1) {
    const content = `${'x'.repeat(length)}","model":"evil`;
    const text = JSON.stringify({ content, model: 'm', end: '\\'.repeat(length) });
    const seen = scan(text);
    assert.deepEqual([seen.modelCount, slice(text, seen.model), seen.members.length], [1, '"m"', 12], String(length));
  }
});
