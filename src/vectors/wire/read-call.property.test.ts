import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { plainSpec, readFor, refusalOf, textSpec } from '../../../test/vector-call.ts';
import { vectorVerbNames } from '../verbs.ts';

/** Keys that mean something somewhere, so that random bodies come far. */
const keys = [
  'name,vector_size,distance,embedding_model,vectors,size,points,batch,ids,payloads,id,vector,payload,text,model',
  'query,nearest,recommend,positive,negative,strategy,order_by,key,direction,sample,mmr,diversity,filter,must,should',
  'match,value,range,gte,has_id,limit,offset,with_payload,include,exclude,with_vector,params,exact,searches,using',
  'operations,upsert,delete,set_payload,keys,actions,create_alias,alias_name,collection_name,field_name,field_schema',
  'group_by,group_size,prefetch,shard_key,__proto__,constructor,toString,',
].flatMap((line) => line.split(','));

const leaf = fc.oneof(
  fc.constantFrom(
    1,
    4,
    0,
    -1,
    1.5,
    1e300,
    2 ** 53,
    true,
    false,
    null,
    '',
    'alpha',
    'Cosine',
    'keyword',
    'random',
    'a.b',
  ),
  fc.constantFrom('550e8400-e29b-41d4-a716-446655440000', '../x', 'a[', '\u0000', '\ud800'),
  fc.constantFrom([0.1, 0.2, 0.3, 0.4], [1, 2, 3, '4'], [[1, 2, 3, 4]], [], {}),
  fc.double(),
  fc.string(),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 4 }),
  ),
}));
const body = fc.oneof(
  fc.dictionary(fc.constantFrom(...keys), tree, { maxKeys: 4 }),
  fc.record({ points: fc.array(fc.record({ id: leaf, vector: tree, payload: tree }), { maxLength: 3 }) }),
  fc.record({ query: tree, filter: tree }, { requiredKeys: [] }),
  fc.record({ operations: fc.array(tree, { maxLength: 3 }) }),
);

test('property: any body is read or refused with 400 or 501 and a place, never anything else', () => {
  let [read, given] = [0, 0];
  fc.assert(
    fc.property(
      fc.constantFrom(...vectorVerbNames),
      body,
      fc.constantFrom(plainSpec, textSpec),
      fc.constantFrom('', 'wait=false', 'wait=x', 'timeout=%ff&&=', 'consistency=all'),
      (verb, json, spec, search) => {
        given++;
        try {
          readFor(spec, verb, json, { search, params: { id: '1', field: 'a' } });
          read++;
        } catch (error) {
          const refusal = refusalOf(() => {
            throw error;
          });
          assert.match(refusal, /^(?:400|501) ./);
          assert.ok(refusal.length < 600, refusal);
        }
      },
    ),
    { numRuns: 6_000, seed: 4 },
  );
  assert.ok(read > given / 30, `only ${read} of ${given} bodies were found right`);
});

test('property: any bytes are read or refused with 400', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc.stringMatching(/^[{}[\]":,\\0-9.eENaIn \n-]{0,60}$/).map((text) => new TextEncoder().encode(text)),
  );
  fc.assert(
    fc.property(bytes, (given) => {
      try {
        readFor(plainSpec, 'post-points', given);
      } catch (error) {
        const refusal = refusalOf(() => {
          throw error;
        });
        assert.match(refusal, /^400 ./);
      }
    }),
    { numRuns: 3_000, seed: 4 },
  );
});
