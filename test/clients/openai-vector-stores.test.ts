import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* OpenAI's vector stores by its own SDK: files are read in the background, and searched here and by models. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a', dialects: ['openai-chat'] },
      native: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'b', dialects: ['openai-responses'] },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'c' },
    },
    models: {
      chat: { targets: ['openai/mock/ok'] },
      native: { targets: ['native/mock/ok'] },
      claude: { targets: ['claude/claude-sonnet-4-5'] },
      embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
    },
    vectors: { stores: { files: 8 } },
  },
);
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: otherKey, maxRetries: 0 });
const pollIntervalMs = 20;
const { vectorStores } = client;

const textFile = (text: string, name: string) => toFile(Buffer.from(text), name);
const upload = async (text: string, name: string) =>
  (await client.files.create({ file: await textFile(text, name), purpose: 'assistants' })).id;
const added = async (store: string, text: string, name: string) =>
  vectorStores.files.uploadAndPoll(store, await textFile(text, name), { pollIntervalMs });
const newStore = async (more: OpenAI.VectorStoreCreateParams = {}) => (await vectorStores.create(more)).id;
const searched = async (store: string, search: OpenAI.VectorStoreSearchParams) =>
  (await vectorStores.search(store, search)).data;

test('a part of an upload is no file, and gets into no store', async () => {
  const begun = { purpose: 'user_data' as const, filename: 'a.txt', mime_type: 'text/plain', bytes: 3 };
  const { id } = await client.uploads.create(begun);
  const part = await client.uploads.parts.create(id, { data: await textFile('abc', 'part') });
  const file_id = part.id.replace('part_', 'file-');
  await assert.rejects(client.files.retrieve(file_id), { status: 404 });
  const store = await newStore();
  await assert.rejects(vectorStores.files.create(store, { file_id }), { status: 400, param: 'file_id' });
});

test('a store is made, found, listed, changed and deleted', async () => {
  const store = await vectorStores.create({
    name: 'Manuals',
    description: 'Of machines',
    metadata: { team: 'a' },
    expires_after: { anchor: 'last_active_at', days: 2 },
  });
  assert.match(store.id, /^vs_/);
  assert.deepEqual(
    [store.object, store.name, store.status, store.metadata],
    ['vector_store', 'Manuals', 'completed', { team: 'a' }],
  );
  assert.equal(store.expires_at, store.last_active_at! + 2 * 24 * 3_600);
  assert.deepEqual(await vectorStores.retrieve(store.id), store);
  const changed = await vectorStores.update(store.id, { name: 'Books', expires_after: null });
  assert.deepEqual([changed.name, changed.expires_at, changed.metadata], ['Books', null, { team: 'a' }]);
  const others = [await newStore({ name: 'b' }), await newStore({ name: 'c' })];
  const listed: string[] = [];
  for await (const { id } of vectorStores.list({ limit: 1, order: 'asc', after: store.id })) listed.push(id);
  assert.deepEqual(listed, others);
  const before = await vectorStores.list({ before: others[1]!, order: 'asc', limit: 1 });
  assert.deepEqual(
    before.data.map(({ id }) => id),
    [others[0]],
  );
  assert.deepEqual(await vectorStores.delete(store.id), {
    id: store.id,
    object: 'vector_store.deleted',
    deleted: true,
  });
  await assert.rejects(vectorStores.retrieve(store.id), { status: 404 });
});

test('metadata and attributes may have a member that failures have, too', async () => {
  const metadata = { kind: 'conflict' };
  const store = await vectorStores.create({ metadata });
  assert.deepEqual((await vectorStores.update(store.id, { metadata })).metadata, metadata);
  const { id, attributes } = await vectorStores.files.create(store.id, {
    file_id: await upload('A text.', 'a.txt'),
    attributes: { kind: 'not-found' },
  });
  assert.deepEqual(attributes, { kind: 'not-found' });
  const changed = await vectorStores.files.update(id, { vector_store_id: store.id, attributes: { kind: 'internal' } });
  assert.deepEqual(changed.attributes, { kind: 'internal' });
});

test('a file is uploaded, read, found by its words, shown and removed', async () => {
  const store = await newStore();
  const file = await added(store, 'A baker makes bread of flour, water and salt.', 'bread.txt');
  assert.deepEqual([file.status, file.last_error, file.vector_store_id], ['completed', null, store]);
  assert.equal(file.usage_bytes, 45);
  await added(store, '# Bank\n\nThe central bank raised its rates.', 'bank.md');
  const counted = await vectorStores.retrieve(store);
  assert.deepEqual([counted.file_counts.completed, counted.status, counted.usage_bytes > 45], [2, 'completed', true]);

  const [first] = await searched(store, { query: 'how is bread made of flour' });
  assert.deepEqual([first!.file_id, first!.filename], [file.id, 'bread.txt']);
  assert.match(first!.content[0]!.text, /A baker makes bread/);
  assert.ok(first!.score > 0 && first!.score <= 1);
  const both = await searched(store, { query: ['bread of flour', 'central bank'], max_num_results: 2 });
  assert.deepEqual(both.map(({ filename }) => filename).toSorted(), ['bank.md', 'bread.txt']);
  assert.deepEqual(await searched(store, { query: 'bread', ranking_options: { score_threshold: 0.99 } }), []);

  const content = await vectorStores.files.content(file.id, { vector_store_id: store });
  assert.deepEqual(content.data, [{ type: 'text', text: 'A baker makes bread of flour, water and salt.' }]);
  const deleted = await vectorStores.files.delete(file.id, { vector_store_id: store });
  assert.deepEqual(deleted, { id: file.id, object: 'vector_store.file.deleted', deleted: true });
  await assert.rejects(vectorStores.files.retrieve(file.id, { vector_store_id: store }), { status: 404 });
  const left = await searched(store, { query: 'bread of flour' });
  assert.deepEqual(
    left.map(({ filename }) => filename),
    ['bank.md'],
  );
  assert.equal((await client.files.retrieve(file.id)).id, file.id, 'the file itself stays');
});

test('a deleted file leaves every store that has it', async () => {
  const stores = [await newStore(), await newStore()];
  const file = await upload('A baker makes bread.', 'bread.txt');
  for (const store of stores) await vectorStores.files.createAndPoll(store, { file_id: file }, { pollIntervalMs });
  const kept = await added(stores[0]!, 'Bread is baked at noon.', 'noon.txt');
  await assert.rejects(stranger.files.delete(file), { status: 404 });
  assert.equal((await searched(stores[1]!, { query: 'bread' })).length, 1);
  await client.files.delete(file);
  for (const store of stores)
    await assert.rejects(vectorStores.files.retrieve(file, { vector_store_id: store }), { status: 404 });
  const left = (await Promise.all(stores.map((store) => searched(store, { query: 'bread' })))).flat();
  assert.deepEqual(
    left.map(({ file_id: id }) => id),
    [kept.id],
  );
  const later = await upload('Bread again.', 'again.txt');
  await vectorStores.files.createAndPoll(stores[1]!, { file_id: later }, { pollIntervalMs });
  const deleted = await gateway.fetch(`/v1/files/${later}`, {
    method: 'DELETE',
    headers: { 'anthropic-version': '2023-06-01' },
  });
  assert.equal(deleted.status, 200);
  assert.deepEqual(await searched(stores[1]!, { query: 'bread' }), []);
});

test('files are removed while they are listed, page by page', async () => {
  const store = await newStore();
  const files: string[] = [];
  for (let at = 0; at < 5; at++) files.push(await upload(`Text ${at}.`, `${at}.txt`));
  const batch = await vectorStores.fileBatches.createAndPoll(store, { file_ids: files }, { pollIntervalMs });
  const [first] = files;
  const removed: string[] = [];
  for await (const { id } of vectorStores.files.list(store, { limit: 2, order: 'asc' })) {
    removed.push(id);
    if (id !== first) await vectorStores.files.delete(id, { vector_store_id: store });
  }
  assert.deepEqual(removed, files);
  const left: string[] = [];
  for await (const { id } of vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: store })) left.push(id);
  assert.deepEqual(left, [first]);
  const stranger = { vector_store_id: await newStore(), after: files[1]! };
  await assert.rejects(vectorStores.files.list(stranger.vector_store_id, stranger).then(), { status: 400 });
});

test('clients that wait for files are told to look again soon', async () => {
  const store = await newStore();
  const began = performance.now();
  const file = await vectorStores.files.uploadAndPoll(store, await textFile('Soon.', 'soon.txt'));
  assert.equal(file.status, 'completed');
  const batch = await vectorStores.fileBatches.createAndPoll(store, { file_ids: [await upload('Too.', 'too.txt')] });
  assert.equal(batch.status, 'completed');
  assert.ok(performance.now() - began < 4_000, "less than the SDK's first pause of 5 s");
});

test('attributes filter a search, and are changed later', async () => {
  const store = await newStore();
  const [old, recent] = [await upload('A red engine.', 'old.txt'), await upload('A red engine.', 'new.txt')];
  const batch = await vectorStores.fileBatches.createAndPoll(
    store,
    {
      files: [
        { file_id: old, attributes: { year: 1990, 'the.kind': 'steam' } },
        { file_id: recent, attributes: { year: 2020, sold: true } },
      ],
    },
    { pollIntervalMs },
  );
  assert.deepEqual([batch.status, batch.file_counts.completed, batch.file_counts.total], ['completed', 2, 2]);
  const named = async (filters: NonNullable<OpenAI.VectorStoreSearchParams['filters']>) =>
    (await searched(store, { query: 'red engine', filters })).map(({ filename }) => filename);
  assert.deepEqual(await named({ type: 'gte', key: 'year', value: 2000 }), ['new.txt']);
  assert.deepEqual(await named({ type: 'eq', key: 'the.kind', value: 'steam' }), ['old.txt']);
  const file = await vectorStores.files.update(old, { vector_store_id: store, attributes: { year: 2001 } });
  assert.deepEqual(file.attributes, { year: 2001 });
  assert.deepEqual((await named({ type: 'gte', key: 'year', value: 2000 })).toSorted(), ['new.txt', 'old.txt']);
  assert.deepEqual(await named({ type: 'eq', key: 'the.kind', value: 'steam' }), []);
  const [found] = await searched(store, { query: 'engine', filters: { type: 'eq', key: 'sold', value: true } });
  assert.deepEqual(found!.attributes, { year: 2020, sold: true });
  await vectorStores.files.update(recent, {
    vector_store_id: store,
    attributes: { price: 5.5, year: 2020, sold: true },
  });
  for (const [filter, names] of [
    [{ type: 'eq', key: 'price', value: 5.5 }, ['new.txt']],
    [{ type: 'ne', key: 'price', value: 5.5 }, ['old.txt']],
    [{ type: 'in', key: 'price', value: [1, '5.5', 5.5] }, ['new.txt']],
    [{ type: 'nin', key: 'sold', value: [true] }, ['old.txt']],
    [{ type: 'in', key: 'year', value: [2001, 1990] }, ['old.txt']],
    [{ type: 'in', key: 'year', value: [] }, []],
    [{ type: 'nin', key: 'year', value: [] }, ['new.txt', 'old.txt']],
    [{ type: 'and', filters: [] }, ['new.txt', 'old.txt']],
    [{ type: 'or', filters: [] }, []],
    [{ type: 'in', key: 'year', value: Array.from({ length: 5_000 }, (_, at) => 2010 + at) }, ['new.txt']],
    [{ type: 'nin', key: 'year', value: Array.from({ length: 5_000 }, (_, at) => 2010 + at) }, ['old.txt']],
  ] as const)
    assert.deepEqual((await named(filter as never)).toSorted(), names, JSON.stringify(filter));
  for (const wrong of [
    { type: 'gt', key: 'year', value: 'x' },
    { type: 'in', key: 'year', value: 2020 },
    { type: 'eq', key: 'a "quoted" year', value: 2020 },
  ])
    await assert.rejects(named(wrong as never), { status: 400, message: /'filters' must be/ });
  const ended = await vectorStores.fileBatches.cancel(batch.id, { vector_store_id: store });
  assert.equal(ended.status, 'completed', 'a batch that is done stays so');
});

test('a long text is cut as asked, and its pieces give it again', async () => {
  const store = await newStore();
  const text = Array.from({ length: 400 }, (_, at) => `Sentence number ${at} is about item ${at}.`).join(' ');
  const file = await vectorStores.files.createAndPoll(
    store,
    {
      file_id: await upload(text, 'long.txt'),
      chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 } },
    },
    { pollIntervalMs },
  );
  assert.deepEqual(file.chunking_strategy, {
    type: 'static',
    static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 },
  });
  const { data } = await vectorStores.files.content(file.id, { vector_store_id: store });
  assert.ok(data.length > 30);
  assert.equal(data.map((part) => part.text).join(''), text);
  const found = await searched(store, { query: 'item 250', max_num_results: 5 });
  assert.ok(found.every(({ content }) => content[0]!.text.length <= 400));
});

test('texts in the charset of Windows, in UTF-16, and about other charsets are read as they were written', async () => {
  const store = await newStore();
  const files: Record<string, [Buffer, string]> = {
    'windows.txt': [Buffer.from('Größe: 5 m', 'latin1'), 'Größe: 5 m'],
    'utf16.txt': [Buffer.from('\ufeffGröße', 'utf16le'), 'Größe'],
    'about.md': [
      Buffer.from('Write <meta charset="shift_jis"> for Größe.'),
      'Write <meta charset="shift_jis"> for Größe.',
    ],
  };
  for (const [name, [bytes, text]] of Object.entries(files)) {
    const file = await toFile(bytes, name, { type: 'text/plain' });
    const { id, status } = await vectorStores.files.uploadAndPoll(store, file, { pollIntervalMs });
    assert.equal(status, 'completed');
    const content = await vectorStores.files.content(id, { vector_store_id: store });
    assert.deepEqual(
      content.data.map((part) => part.text),
      [text],
      name,
    );
    await vectorStores.files.delete(id, { vector_store_id: store });
  }
});

test('code is read, whatever type a client takes its name for', async () => {
  const store = await newStore();
  const text = "const mark = '%PDF-1.7';";
  for (const [name, type] of [
    ['mark.ts', 'video/mp2t'],
    ['mark.js', 'application/javascript'],
    ['mark.yaml', 'application/yaml'],
  ] as const) {
    const file = await toFile(Buffer.from(text), name, { type });
    const { id, status } = await vectorStores.files.uploadAndPoll(store, file, { pollIntervalMs });
    assert.equal(status, 'completed', name);
    const { data } = await vectorStores.files.content(id, { vector_store_id: store });
    assert.equal(data[0]?.text, text);
  }
});

test('files of a store are listed by pages and by state; those without text fail with a reason', async () => {
  const store = await newStore();
  const zip = await client.files.create({
    file: await toFile(Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0]), 'letter.docx'),
    purpose: 'assistants',
  });
  const empty = await upload('  \n ', 'empty.txt');
  const fine = await upload('<h1>Title</h1><p>A paragraph about ships.</p><script>let hidden</script>', 'page.html');
  const batch = await vectorStores.fileBatches.createAndPoll(
    store,
    { file_ids: [zip.id, empty, fine] },
    { pollIntervalMs },
  );
  assert.deepEqual([batch.file_counts.failed, batch.file_counts.completed], [2, 1]);
  const failed = await vectorStores.files.list(store, { filter: 'failed', order: 'asc' });
  assert.deepEqual(
    failed.data.map(({ id, last_error: error }) => [id, error?.code]),
    [
      [zip.id, 'unsupported_file'],
      [empty, 'invalid_file'],
    ],
  );
  const page = await vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: store, order: 'asc', limit: 2 });
  assert.deepEqual([page.data.map(({ id }) => id), page.has_more], [[zip.id, empty], true]);
  const [found] = await searched(store, { query: 'ships' });
  assert.match(found!.content[0]!.text, /A paragraph about ships/);
  assert.doesNotMatch(found!.content[0]!.text, /hidden|<p>/);
});

test('embeddings of files and searches are calls of the key, with rows in the ledger', async () => {
  const response = await gateway.fetch('/v1/vector_stores', { json: { name: 'meaning', embedding_model: 'embed' } });
  const { id } = (await response.json()) as { id: string };
  const before = upstream.requests().length;
  await added(id, 'Words that a provider embeds.', 'words.txt');
  await searched(id, { query: 'which words' });
  const embedded = upstream.requests().slice(before);
  assert.deepEqual(
    embedded.map(({ body }) => (body as { input: unknown }).input),
    [['Words that a provider embeds.'], ['which words']],
  );
});

for (const model of ['chat', 'native', 'claude']) {
  test(`${model}: file_search of Responses finds, cites and shows passages of a store`, async () => {
    const store = await newStore();
    const { id: file } = await added(store, 'A mock bakes bread of flour.', 'bread.txt');
    await vectorStores.files.update(file, { vector_store_id: store, attributes: { year: 2024 } });
    const path = { chat: '/v1/chat/completions', native: '/v1/responses', claude: '/v1/messages' }[model]!;
    upstream.script(path, ['ok', 'text=As it says【1】.']);
    const response = await client.responses.create({
      model,
      input: 'call file_search',
      tools: [{ type: 'file_search', vector_store_ids: [store], filters: { type: 'eq', key: 'year', value: 2024 } }],
      include: ['file_search_call.results'],
    });
    const [search, message] = response.output;
    assert.ok(search?.type === 'file_search_call' && message?.type === 'message');
    assert.deepEqual(
      search.results?.map(({ file_id, filename, attributes }) => [file_id, filename, attributes]),
      [[file, 'bread.txt', { year: 2024 }]],
    );
    const [part] = message.content;
    assert.ok(part?.type === 'output_text');
    assert.deepEqual(
      part.annotations.map((one) => one.type === 'file_citation' && [one.file_id, one.filename]),
      [[file, 'bread.txt']],
    );
  });
}

test('what is wrong is refused with its field, and other keys see nothing', async () => {
  const store = await newStore();
  const file = await upload('One.', 'one.txt');
  const refused = async (asked: Promise<unknown>, param: string | null, status = 400) =>
    assert.rejects(asked, (error: unknown) => {
      assert.ok(error instanceof OpenAI.APIError);
      assert.deepEqual([error.status, error.param ?? null], [status, param], error.message);
      return true;
    });
  await refused(vectorStores.create({ name: 'x'.repeat(300) }), 'name');
  await refused(vectorStores.create({ expires_after: { anchor: 'last_active_at', days: 0 } }), 'expires_after.days');
  await refused(vectorStores.create({ file_ids: ['file-none'] }), 'file_ids');
  await refused(vectorStores.fileBatches.create(store, { file_ids: ['file-none'] }), 'file_ids');
  await refused(vectorStores.fileBatches.create(store, { files: [{ file_id: 'file-none' }] }), 'files');
  await refused(vectorStores.files.create(store, { file_id: 'file-none' }), 'file_id');
  await refused(vectorStores.create({ embedding_model: 'none' } as never), 'embedding_model', 404);
  await refused(vectorStores.files.create(store, { file_id: file, attributes: { a: [] as never } }), 'attributes');
  const overlap = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 60 } } as const;
  await refused(
    vectorStores.files.create(store, { file_id: file, chunking_strategy: overlap }),
    'chunking_strategy.static.chunk_overlap_tokens',
  );
  await refused(vectorStores.fileBatches.create(store, {}), 'file_ids');
  await refused(vectorStores.search(store, { query: '' }).then(), 'query');
  await refused(vectorStores.search(store, { query: 'a', max_num_results: 51 }).then(), 'max_num_results');
  await refused(vectorStores.search(store, { query: 'a', filters: { type: 'near' } as never }).then(), 'filters');
  const one = { type: 'eq', key: 'a', value: 1 } as const;
  const long = { type: 'or' as const, filters: Array.from({ length: 2_000 }, () => one) };
  await refused(vectorStores.search(store, { query: 'a', filters: long }).then(), 'filters');
  await refused(vectorStores.files.list(store, { after: 'file-x' }).then(), 'after');
  const many = [];
  for (let at = 0; at < 9; at++) many.push(await upload(`${at}`, `${at}.txt`));
  await refused(vectorStores.fileBatches.create(store, { file_ids: many }), null, 429);
  await refused(stranger.vectorStores.retrieve(store), null, 404);
  await refused(stranger.vectorStores.search(store, { query: 'a' }).then(), null, 404);
  await refused(stranger.vectorStores.files.create(store, { file_id: file }), null, 404);
  const tools = [{ type: 'file_search' as const, vector_store_ids: [store] }];
  await refused(stranger.responses.create({ model: 'chat', input: 'call file_search', tools }), 'tools.file_search');
});

test('points that its owner writes into its collection are no passages', async () => {
  const store = await newStore();
  const { id } = await added(store, 'Bread is made of flour.', 'bread.txt');
  const points = `/v1/vectors/collections/${store}/points`;
  const vector = Array.from({ length: 1_024 }, () => 0.1);
  const { result } = (await (
    await gateway.fetch(`${points}/scroll`, { json: { limit: 1, with_payload: true } })
  ).json()) as {
    result: { points: { payload: { entry: string } }[] };
  };
  const { entry } = result.points[0]!.payload;
  const foreign = [undefined, {}, { text: 5 }, { text: 'Bread.' }, { entry, text: 5, piece: 3 }, { entry }];
  const json = { points: foreign.map((payload, at) => ({ id: at + 1, vector, ...(payload && { payload }) })) };
  assert.equal((await gateway.fetch(points, { json })).status, 200);
  const found = await searched(store, { query: 'bread', max_num_results: 50 });
  assert.deepEqual(
    found.map(({ filename }) => filename),
    ['bread.txt'],
  );
  const content = await gateway.fetch(`/v1/vector_stores/${store}/files/${id}/content`);
  const { data } = (await content.json()) as { data: { text: string }[] };
  assert.deepEqual([content.status, data.map(({ text }) => text)], [200, ['Bread is made of flour.']]);
});

test('a file that is added again replaces its passages', async () => {
  const store = await newStore();
  const file = await upload('The same words.', 'same.txt');
  for (let at = 0; at < 2; at++) await vectorStores.files.createAndPoll(store, { file_id: file }, { pollIntervalMs });
  assert.equal((await searched(store, { query: 'same words' })).length, 1);
  assert.equal((await vectorStores.retrieve(store)).file_counts.total, 1);
});

test('a file that is added again, and cancelled before it is read, has the content of before', async () => {
  const made = await gateway.fetch('/v1/vector_stores', { json: { name: 'again', embedding_model: 'embed' } });
  const { id: store } = (await made.json()) as { id: string };
  const file = await upload('The same words.', 'same.txt');
  await vectorStores.files.createAndPoll(store, { file_id: file }, { pollIntervalMs });
  upstream.script('/v1/embeddings', ['stall']);
  const { id: batch } = await vectorStores.fileBatches.create(store, { file_ids: [file] });
  await vectorStores.fileBatches.cancel(batch, { vector_store_id: store });
  assert.equal((await vectorStores.files.retrieve(file, { vector_store_id: store })).status, 'cancelled');
  const { data } = await vectorStores.files.content(file, { vector_store_id: store });
  assert.deepEqual(
    data.map(({ text }) => text),
    ['The same words.'],
  );
});
