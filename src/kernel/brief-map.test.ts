import assert from 'node:assert/strict';
import test from 'node:test';
import { BriefMap } from './brief-map.ts';

test('an entry is there until it is deleted or replaced', () => {
  const map = new BriefMap<string, { n: number }>();
  map.set('a', { n: 1 });
  map.set('b', { n: 2 });
  map.set('a', { n: 3 });
  assert.deepEqual([map.get('a'), map.has('b'), [...map.values()]], [{ n: 3 }, true, [{ n: 2 }, { n: 3 }]]);
  map.delete('a');
  map.delete('c');
  assert.deepEqual([map.get('a'), map.has('a'), [...map.values()]], [undefined, false, [{ n: 2 }]]);
});
