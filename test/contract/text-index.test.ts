import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

const texts = [
  'Running Shoes for the autumn',
  'A shoe that runs small',
  'für Élise',
  'the of and',
  'autumn for the shoes',
];

/** Counts by the texts alone, over few points and over so many that columns answer. */
for (const others of [0, 600]) {
  test(`match.text asks for terms as the text index takes texts apart, beside ${others} other points`, async (t) => {
    const gateway = await startGateway(t);
    const call = async (method: string, path: string, json: unknown) => {
      const answer = await gateway.fetch(`/v1/vectors/collections/docs${path}`, { method, json });
      const body = (await answer.json()) as { result: { count?: number; payload_schema?: object }; error?: Error };
      return { ...body, status: answer.status };
    };
    await call('PUT', '', { vectors: { size: 1 } });
    const long = `${'x '.repeat(600)} running shoes`;
    const payloads = [...texts, long, ...Array.from({ length: others }, (_, i) => `other ${i}`)];
    const points = payloads.map((text, id) => ({ id, vector: [1], payload: { text } }));
    assert.equal((await call('PUT', '/points', { points })).status, 200);
    const index = (schema: object) =>
      call('PUT', '/index', { field_name: 'text', field_schema: { type: 'text', ...schema } });
    const count = async (match: object) => {
      const { result } = await call('POST', '/points/count', { filter: { must: { key: 'text', match } } });
      return result.count;
    };
    // Without an index: as it stands there.
    assert.deepEqual([await count({ text: 'unning Sh' }), await count({ text: 'shoes running' })], [1, 0]);

    await index({});
    assert.deepEqual([await count({ text: 'unning' }), await count({ text: 'shoes running' })], [0, 2]);
    assert.equal(await count({ text_any: 'élise autumn' }), 3);

    await index({ stemmer: { type: 'snowball', language: 'english' }, stopwords: 'english', ascii_folding: true });
    assert.deepEqual([await count({ text: 'RUN shoe' }), await count({ text: 'the elise' })], [3, 1]);
    assert.equal(await count({ text: 'of the' }), 0);

    await index({ phrase_matching: true });
    assert.deepEqual([await count({ phrase: 'for the' }), await count({ phrase: 'the for' })], [2, 0]);

    const schema = { lowercase: false, tokenizer: 'whitespace', min_token_len: 3 };
    await index(schema);
    assert.deepEqual([await count({ text: 'Shoes' }), await count({ text: 'shoes A' })], [1, 2]);
    const { result } = await call('GET', '', undefined);
    assert.deepEqual(result.payload_schema, {
      text: { data_type: 'text', params: { type: 'text', ...schema }, points: payloads.length },
    });

    for (const [wrong, status] of [
      [{ tokenizer: 'multilingual' }, 501],
      [{ stemmer: { type: 'snowball', language: 'german' } }, 501],
      [{ stopwrods: 'english' }, 400],
    ] as const) {
      assert.equal((await index(wrong)).status, status);
    }
  });
}
