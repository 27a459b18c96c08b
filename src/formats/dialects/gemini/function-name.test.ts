import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { callersName, wireName } from './function-name.ts';

test('names that Google takes go as they are; its answers name them so too', () => {
  for (const name of ['get_weather', 'a.b:c-d', '_x', 'mcp__server__tool']) {
    assert.equal(wireName(name), name);
    assert.equal(callersName(name), name);
  }
});

test('any name can be sent and read back', () => {
  const name = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.stringMatching(/^[\w-]{1,20}$/),
    fc.constantFrom('cv__', 'cv__a', 'cv__cv__7', '7', '-', ':41.', 'a b', 'é', '👋'),
  );
  fc.assert(
    fc.property(name, (asked) => {
      const sent = wireName(asked);
      assert.match(sent, /^[A-Za-z_][\w.:-]*$/);
      assert.equal(callersName(sent), asked);
    }),
    { numRuns: 1_000 },
  );
});

test('what a model makes up is no fault of ours', () => {
  assert.equal(callersName('cv__:ffffff.x'), ':ffffff.x');
  assert.equal(callersName(''), '');
});
