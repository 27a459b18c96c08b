import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    // Without an index: as a substring.
    assert.deepEqual([await count({ text: 'unning Sh' }), await count({ text: 'shoes running' })], [1, 0]);

    await index({});
    assert.deepEqual([await count({ text: 'unning' }), await count({ text: 'shoes running' })], [0, 2]);
    assert.equal(await count({ text_any: 'élise autumn' }), 3);

    await index({ stemmer: { type: 'snowball', language: 'english' }, stopwords: 'english', ascii_folding: true });
    assert.deepEqual([await count({ text: 'RUN shoe' }), await count({ text: 'the elise' })], [3, 1]);
    assert.equal(await count({ text: 'of the' }), 0);

    await index({ phrase_matching: true });
    assert.deepEqual([await count({ phrase: 'for the' }), await count({ phrase: 'the for' })], [2, 0]);
    assert.deepEqual([await count({ text: 'or th' }), await count({ substring: 'or th' })], [0, 2]);

    const schema = { lowercase: false, tokenizer: 'whitespace', min_token_len: 3 };
    await index(schema);
    assert.deepEqual([await count({ text: 'Shoes' }), await count({ text: 'shoes A' })], [1, 2]);
    const { result } = await call('GET', '', undefined);
    assert.deepEqual(result.payload_schema, {
      text: { data_type: 'text', params: { type: 'text', ...schema }, points: payloads.length },
    });

    for (const [wrong, status] of [
      [{ tokenizer: 'letters' }, 400],
      [{ stemmer: { type: 'snowball', language: 'basque' } }, 501],
      [{ stopwords: { languages: ['german', 'hebrew'] } }, 501],
      [{ stopwrods: 'english' }, 400],
    ] as const) {
      assert.equal((await index(wrong)).status, status);
    }
  });
}

test('a text index knows other languages, beginnings of words, and scripts that put no spaces between words', async (t) => {
  const gateway = await startGateway(t);
  const call = async (method: string, path: string, json: unknown) => {
    const answer = await gateway.fetch(`/v1/vectors/collections/docs${path}`, { method, json });
    return (await answer.json()) as { result: { count: number } };
  };
  await call('PUT', '', { vectors: { size: 1 } });
  const lines = [
    'Die Häuser am Fluss',
    'ein Haus',
    'Les chevaux, Straße',
    '東京都に住んでいます',
    'Crème brûlée',
    'theory',
  ];
  const points = lines.map((text, id) => ({ id, vector: [1], payload: { text } }));
  await call('PUT', '/points', { points });
  const counts = async (schema: object, asked: readonly string[]) => {
    const params = { field_name: 'text', field_schema: { type: 'text', ...schema } };
    await call('PUT', '/index', params);
    const answers = asked.map((text) =>
      call('POST', '/points/count', { filter: { must: { key: 'text', match: { text } } } }),
    );
    return (await Promise.all(answers)).map(({ result }) => result.count);
  };
  const german = { stemmer: { type: 'snowball', language: 'de' }, stopwords: 'german' };
  assert.deepEqual(await counts(german, ['hausern', 'Hauses', 'die', 'der Häuser']), [2, 2, 0, 2]);
  const both = { stopwords: { languages: ['french', 'german'], custom: ['Fluss'] } };
  assert.deepEqual(await counts(both, ['les', 'fluss', 'chevaux les']), [0, 0, 1]);
  assert.deepEqual(await counts({ ascii_folding: true }, ['strasse', 'creme', 'hauser']), [1, 1, 1]);
  const prefix = { tokenizer: 'prefix', min_token_len: 2, max_token_len: 4, stopwords: 'english' };
  assert.deepEqual(
    await counts(prefix, ['HÄU', 'h', 'häuserblock', 'the', 'eo', 'ha ei', 'xy']),
    [1, 0, 1, 1, 0, 1, 0],
  );
  assert.deepEqual(await counts({ tokenizer: 'multilingual' }, ['東京', '京', 'creme', '住']), [1, 0, 1, 1]);
});

test('a text index of another language is understood by the first call after a restart, a change by filter too', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-languages-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const started = async () => {
    const gateway = await startGateway(t, { storage: { data_dir: folder } });
    const call = async (method: string, path: string, json: unknown) => {
      const answer = await gateway.fetch(`/v1/vectors/collections/docs${path}`, { method, json });
      return { status: answer.status, result: ((await answer.json()) as { result: { count: number } }).result };
    };
    return { gateway, call };
  };
  const first = await started();
  await first.call('PUT', '', { vectors: { size: 1 } });
  const texts = ['книгами', 'книга', 'дом'];
  const points = texts.map((text, id) => ({ id, vector: [1], payload: { text } }));
  await first.call('PUT', '/points', { points });
  const schema = { type: 'text', stemmer: { type: 'snowball', language: 'russian' } };
  await first.call('PUT', '/index', { field_name: 'text', field_schema: schema });
  await first.gateway.close(0);

  const filter = { must: { key: 'text', match: { text: 'книг' } } };
  const second = await started();
  assert.equal((await second.call('POST', '/points/count', { filter })).result.count, 2);
  await second.gateway.close(0);
  const third = await started();
  assert.equal((await third.call('POST', '/points/delete', { filter })).status, 200);
  assert.equal((await third.call('POST', '/points/count', {})).result.count, 1);
  await third.gateway.close(0);
});
