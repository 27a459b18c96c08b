import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExclusive, partitionOf, physicalName } from './partition.ts';

/* What is derived here names points that Qdrant keeps: another version has to find them. */

test('a point has the UUID of RFC 9562 for its id in the namespace of its collection', () => {
  const generation = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
  const { pointIdOf, mine } = partitionOf({ generation, size: 2, distance: 'Cosine' } as never);
  // The namespace of names in the DNS; Python's documentation has this example.
  assert.equal(pointIdOf('python.org'), '886313e1-3b8a-5372-9b90-0c9aee199e5d');
  assert.equal(pointIdOf(7), pointIdOf('7' as never));
  assert.deepEqual(mine, { key: 'g', match: { value: generation } });
});

test('collections of one shape share a collection of Qdrant, and those that count rare terms have their own', () => {
  const generation = 'a';
  const title = { kind: 'dense', size: 4, distance: 'Dot', embeddingModel: null } as const;
  const words = { kind: 'sparse', modifier: 'none', embeddingModel: null } as const;
  const named = (spec: object) => ({ size: 4, distance: 'Dot', generation, named: spec }) as never;
  assert.equal(physicalName({ size: 1_024, distance: 'Cosine', generation }), 'culvert_1024_cosine');
  const name = physicalName(named({ title, words }));
  assert.equal(name, physicalName(named({ words, title: { ...title, embeddingModel: 'embed' } })));
  assert.notEqual(name, physicalName(named({ title })));
  assert.match(name, /^culvert_named_[0-9a-f]{32}$/);
  const rare = named({ title, words: { ...words, modifier: 'idf' } });
  assert.equal(physicalName(rare), 'culvert_own_a');
  assert.deepEqual([isExclusive(rare), isExclusive(named({ title, words })), isExclusive({})], [true, false, false]);
});
