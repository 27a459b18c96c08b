import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Document } from '@langchain/core/documents';
import { FakeEmbeddings } from '@langchain/core/utils/testing';
import { QdrantVectorStore as LangChainStore } from '@langchain/qdrant';
import type { BaseEmbedding } from '@llamaindex/core/embeddings';
import { TextNode } from '@llamaindex/core/schema';
import { FilterOperator, VectorStoreQueryMode } from '@llamaindex/core/vector-store';
import { QdrantVectorStore as LlamaIndexStore } from '@llamaindex/qdrant';
import { QdrantClient } from '@qdrant/js-client-rest';
import { startGateway, testKey } from '../start-gateway.ts';

const gateway = await startGateway({ after: after as never });
const { hostname, port } = new URL(gateway.url);

function newClient(): QdrantClient {
  return new QdrantClient({
    host: hostname,
    port: Number(port),
    https: false,
    prefix: '/v1/vectors',
    apiKey: testKey,
  });
}

/** Texts that begin alike lie near each other. */
class FirstLetters extends FakeEmbeddings {
  override async embedQuery(text: string): Promise<number[]> {
    const vector = new Array<number>(26).fill(0);
    for (const [at, letter] of [...text.toLowerCase().slice(0, 3)].entries())
      vector[(letter.charCodeAt(0) - 97 + 26) % 26]! += 3 - at;
    return vector;
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

test('langchain: documents are added, searched by text and by metadata, and deleted', async () => {
  const store = new LangChainStore(new FirstLetters({}), { client: newClient(), collectionName: 'langchain' });
  await store.addDocuments([
    new Document({ pageContent: 'apples are red', metadata: { kind: 'fruit', nested: { row: 1 } } }),
    new Document({ pageContent: 'apple pies are warm', metadata: { kind: 'cake', nested: { row: 2 } } }),
    new Document({ pageContent: 'zebras are striped', metadata: { kind: 'animal', nested: { row: 3 } } }),
  ]);
  const [nearest] = await store.similaritySearch('zeb', 1);
  assert.deepEqual(
    [nearest?.pageContent, nearest?.metadata],
    ['zebras are striped', { kind: 'animal', nested: { row: 3 } }],
  );
  const filtered = await store.similaritySearchWithScore('app', 3, {
    must: [{ key: 'metadata.nested.row', range: { lte: 1 } }],
  });
  assert.deepEqual(
    filtered.map(([{ pageContent }]) => pageContent),
    ['apples are red'],
  );
  const various = await store.maxMarginalRelevanceSearch('app', { k: 2, fetchK: 3, lambda: 0.5 });
  assert.equal(various.length, 2);
  await store.delete({ filter: { must: [{ key: 'metadata.kind', match: { value: 'animal' } }] } });
  assert.ok((await store.similaritySearch('zeb', 3)).every(({ pageContent }) => !pageContent.startsWith('zebra')));
});

test('langchain: a store over a collection that exists adds to it', async () => {
  const embeddings = new FirstLetters({});
  const made = await LangChainStore.fromTexts(['one'], [{ n: 1 }], embeddings, {
    client: newClient(),
    collectionName: 'existing',
  });
  assert.equal((await made.similaritySearch('one', 5)).length, 1);
  const found = await LangChainStore.fromExistingCollection(embeddings, {
    client: newClient(),
    collectionName: 'existing',
  });
  await found.addDocuments([new Document({ pageContent: 'two', metadata: {} })], {
    ids: ['0f1d4f0e-9f6b-4a57-8a76-9a3ef2d8a002'],
  } as never);
  assert.equal((await found.similaritySearch('two', 5)).length, 2);
});

test('llamaindex: nodes are added, queried with filters, and deleted by their document', async () => {
  const embeddings = new FirstLetters({});
  // It wants a model where it is made, and asks it nothing here.
  const embedModel = {} as BaseEmbedding;
  const store = new LlamaIndexStore({ client: newClient(), collectionName: 'llamaindex', embedModel });
  const nodes = await Promise.all(
    ['alpha text', 'beta text', 'gamma text'].map(async (text, at) => {
      const node = new TextNode({ text, metadata: { at, name: text.split(' ')[0]! } });
      node.embedding = await embeddings.embedQuery(text);
      return node;
    }),
  );
  const added = await store.add(nodes);
  assert.equal(added.length, 3);
  const query = {
    queryEmbedding: await embeddings.embedQuery('beta'),
    similarityTopK: 2,
    mode: VectorStoreQueryMode.DEFAULT,
  };
  const found = await store.query(query);
  assert.equal(found.ids[0], nodes[1]!.id_);
  assert.equal((found.nodes![0] as TextNode).getText(), 'beta text');
  const filtered = await store.query({
    ...query,
    filters: { filters: [{ key: 'at', value: 1, operator: FilterOperator.GT }] },
  });
  assert.deepEqual(filtered.ids, [nodes[2]!.id_]);
  await store.delete('nothing has this document id');
  assert.equal((await store.query({ ...query, similarityTopK: 10 })).ids.length, 3);
});
