import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vectorEngines } from '../vector-engines.ts';

for (const [engine, open] of Object.entries(vectorEngines)) {
  test(`${engine}: a multivector beside a model of texts is refused, since no model makes any`, async (t) => {
    const gateway = await open(t);
    const vectors = { distance: 'Cosine', multivector_config: { comparator: 'max_sim' } };
    for (const size of [undefined, 4]) {
      const json = { embedding_model: 'culvert-lexical-1024', vectors: { size, ...vectors } };
      const answer = await gateway.fetch('/v1/vectors/collections/c', { method: 'PUT', json });
      const { error } = (await answer.json()) as { error: { message: string } };
      assert.deepEqual(
        [answer.status, error.message],
        [501, 'embedding_model: models of multivectors are not supported; send the vectors.'],
      );
    }
  });

  test(`${engine}: settings of a vector of any name can be changed`, async (t) => {
    const gateway = await open(t);
    const call = async (method: string, body?: string) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await gateway.fetch('/v1/vectors/collections/c', { method, ...(body && { body, headers }) });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      return text;
    };
    await call(
      'PUT',
      '{"vectors": {"__proto__": {"size": 2, "distance": "Dot"}, "a": {"size": 2, "distance": "Dot"}}}',
    );
    await call('PATCH', '{"vectors": {"a": {"on_disk": false}}}');
    await call('PATCH', '{"vectors": {"__proto__": {"on_disk": true}, "a": {"on_disk": true}}}');
    const shown = await call('GET');
    assert.equal(shown.match(/"on_disk":true/g)?.length, 2, shown);
  });
}
