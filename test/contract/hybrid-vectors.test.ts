import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherKey, type startGateway, testKey } from '../start-gateway.ts';
import { vectorEngines } from '../vector-engines.ts';

type Test = Parameters<typeof startGateway>[0];

const dense = 'culvert-lexical-1024';
const shape = {
  vectors: { meaning: { embedding_model: dense } },
  sparse_vectors: { words: { embedding_model: 'culvert-bm25' } },
};
const texts = [
  'Bread is made of flour, water and salt.',
  'The central bank raised its rates.',
  'Error E4711 is raised when the pump runs dry.',
];

for (const [engine, open] of Object.entries(vectorEngines)) {
  const world = async (t: Test) => {
    const gateway = await open(t);
    const call = async (method: string, path: string, json?: unknown, key = testKey) => {
      const answer = await fetch(`${gateway.url}/v1/vectors${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const body = (await answer.json()) as { result: never; error?: { message: string; param: string } };
      return { status: answer.status, cost: answer.headers.get('x-culvert-cost'), body };
    };
    assert.equal((await call('PUT', '/collections/docs', shape)).status, 200);
    return call;
  };

  test(`${engine}: texts are found by words and by meaning in one call, without any provider`, async (t) => {
    const call = await world(t);
    const { config } = (await call('GET', '/collections/docs')).body.result as {
      config: { params: { vectors: object; sparse_vectors: object } };
    };
    assert.deepEqual(config.params.sparse_vectors, { words: { modifier: 'idf', embedding_model: 'culvert-bm25' } });
    const points = texts.map((text, id) => ({ id, payload: { text } }));
    const written = await call('POST', '/collections/docs/points', { points });
    assert.deepEqual([written.status, written.cost], [200, '1.05']);

    const asked = async (query: object, cost: string) => {
      const answer = await call('POST', '/collections/docs/points/query', query);
      assert.deepEqual([answer.status, answer.cost], [200, cost]);
      return (answer.body.result as { points: { id: number; score: number; vector?: unknown }[] }).points;
    };
    // Words alone need no model of anybody's, and cost what a search costs.
    const byWords = await asked({ query: { text: 'what is E4711?' }, using: 'words' }, '0.05');
    assert.deepEqual(
      byWords.map(({ id }) => id),
      [2],
    );
    const hybrid = await asked(
      {
        prefetch: [
          { query: { text: 'flour for breads' }, using: 'meaning', limit: 3 },
          { query: { text: 'flour for breads' }, using: 'words', limit: 3 },
        ],
        query: { fusion: 'rrf' },
        with_vector: ['words'],
      },
      '1.05',
    );
    assert.deepEqual([hybrid[0]?.id, hybrid[0]?.score], [0, 1]);
    assert.equal((hybrid[0]!.vector as { words: { indices: number[] } }).words.indices.length, 5);
  });

  test(`${engine}: a sparse vector without a name takes the texts of points`, async (t) => {
    const call = await world(t);
    const unnamed = { vectors: {}, sparse_vectors: { '': { embedding_model: 'culvert-bm25' } } };
    assert.equal((await call('PUT', '/collections/words', unnamed)).status, 200);
    const points = texts.map((text, id) => ({ id, payload: { text } }));
    assert.equal((await call('PUT', '/collections/words/points', { points })).status, 200);
    const { result } = (await call('POST', '/collections/words/points/query', { query: { text: 'rates' } })).body;
    assert.deepEqual(
      (result as { points: { id: number }[] }).points.map(({ id }) => id),
      [1],
    );
  });

  test(`${engine}: words of another language are found by their stems, and its stop words count for nothing`, async (t) => {
    const call = await world(t);
    const options = { language: 'german' };
    const points = ['Die Häuser am See', 'Das Boot und der Hafen'].map((text, id) => ({
      id,
      vector: { words: { text, model: 'Qdrant/bm25', options } },
    }));
    assert.equal((await call('PUT', '/collections/docs/points', { points })).status, 200);
    const query = { query: { text: 'das Haus und der See', options }, using: 'words' };
    const { result } = (await call('POST', '/collections/docs/points/query', query)).body;
    assert.deepEqual(
      (result as { points: { id: number }[] }).points.map(({ id }) => id),
      [0],
    );
  });

  test(`${engine}: a text wants a model, a sparse vector one that gives words`, async (t) => {
    const call = await world(t);
    for (const [query, message] of [
      [
        { query: { text: 'x', model: dense }, using: 'words' },
        /query\.model: a sparse vector takes texts of 'culvert-bm25'/,
      ],
      [
        { query: { text: 'x', model: 'Qdrant/bm25', options: { b: 2 } }, using: 'words' },
        /query\.options\.b: expected/,
      ],
      [
        { query: { text: 'x', options: { language: 'basque' } }, using: 'words' },
        /query\.options\.language: other languages than arabic, .*, turkish are not supported/,
      ],
      [
        { query: { text: 'x', options: { tokenizer: 'prefix' } }, using: 'words' },
        /query\.options\.tokenizer: beginnings of words/,
      ],
      [
        { query: { indices: [1, 1], values: [1, 2] }, using: 'words' },
        /query\.indices: the list has the index 1 twice/,
      ],
      [{ query: [1, 2], using: 'words' }, /query: expected a sparse vector, \{"indices", "values"\}, got an array/],
      [
        { query: 1, using: 'wrods' },
        /using: the collection 'docs' has no vector named 'wrods'; it has 'meaning', 'words'/,
      ],
    ] as const) {
      const answer = await call('POST', '/collections/docs/points/query', query);
      assert.ok(answer.status === 400 || answer.status === 501, String(answer.status));
      assert.match(String(answer.body.error?.message), message);
    }
  });

  test(`${engine}: named vectors belong to the key, as everything does`, async (t) => {
    const call = await world(t);
    await call('POST', '/collections/docs/points', { points: [{ id: 1, payload: { text: 'mine alone' } }] });
    const query = { query: { text: 'mine' }, using: 'words' };
    assert.equal((await call('POST', '/collections/docs/points/query', query, otherKey)).status, 404);
    assert.equal((await call('PUT', '/collections/docs', shape, otherKey)).status, 200);
    // How rare a word is, the others' points do not say.
    await call('POST', '/collections/docs/points', { points: [{ id: 1, payload: { text: 'mine' } }] }, otherKey);
    const of = async (key: string) => {
      const { result } = (await call('POST', '/collections/docs/points/query', query, key)).body;
      return (result as { points: { score: number }[] }).points.map(({ score }) => score);
    };
    const before = await of(testKey);
    assert.equal(before.length, 1);
    for (const id of [2, 3]) {
      await call('POST', '/collections/docs/points', { points: [{ id, payload: { text: 'other' } }] }, otherKey);
    }
    assert.deepEqual(await of(testKey), before);
    const filter = { must: [{ has_vector: 'words' }] };
    const counted = await call('POST', '/collections/docs/points/count', { filter });
    assert.deepEqual(counted.body.result, { count: 1 });
    const gone = { points: [1], vector: ['words'] };
    assert.equal((await call('POST', '/collections/docs/points/vectors/delete', gone)).status, 200);
    assert.deepEqual(await of(testKey), []);
    assert.equal((await of(otherKey)).length, 1);
  });
}
