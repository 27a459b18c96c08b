import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfigText } from '../config/check.ts';
import { buildSnapshot } from '../inference/pipeline/build-snapshot.ts';
import { createKnownModels } from '../inference/pipeline/known-models.ts';
import { startMessage } from './start-table.ts';

/** The table of a start with this configuration, `listed` being what the file of known models remembers. */
function tableOf(config: string, listed: Record<string, readonly string[]> = {}): string {
  const checked = checkConfigText(config, 'culvert.yaml', {});
  assert.ok(checked.ok);
  const models = Object.entries(listed).map(([place, ids]) => [place, ids.map((id) => ({ id, type: 'embedding' }))]);
  const known = createKnownModels({
    transport: { send: () => assert.fail('nobody is asked'), close: async () => {}, destroy() {} },
    recall: () => JSON.stringify(models),
    keep() {},
  });
  const built = buildSnapshot({
    config: checked.config,
    env: {},
    locals: [],
    known,
    simulatorUrl: 'http://127.0.0.1:9',
    nowMs: 0,
  });
  assert.ok(built.kind === 'built');
  return startMessage({
    url: 'http://127.0.0.1:4141',
    snapshot: built.snapshot,
    found: [],
    newUserKey: null,
    newAdminKey: null,
    version: '0',
  });
}

test('without a provider embeddings are simulated, and the table says what mends that and what is real meanwhile', () => {
  const table = tableOf('storage: { data_dir: ./data }');
  assert.match(table, /^chat +simulated +no provider yet/m);
  assert.match(table, /^embeddings +simulated +no provider that embeds yet: .*OPENAI_API_KEY.*culvert-lexical-1024/m);
  assert.match(table, /^vectors +real +embedded, in \S*data$/m);
});

test('with one that embeds it names the model that stands behind the contract’s', () => {
  const openai = 'providers: { openai: { type: openai, api_key: x } }';
  const listed = ['text-embedding-ada-002', 'text-embedding-3-large', 'text-embedding-3-small'];
  assert.match(
    tableOf(openai, { 'openai https://api.openai.com/v1': listed }),
    /^embeddings +real +openai\/text-embedding-3-small$/m,
  );
  const ollama = 'providers: { home: { type: ollama } }';
  const place = 'ollama http://127.0.0.1:11434/v1';
  assert.match(tableOf(ollama, { [place]: ['nomic-embed-text', 'bge-m3'] }), /^embeddings +local +home\/bge-m3$/m);
});

test('while a list is not known, and where nothing stands in, it says so', () => {
  assert.match(
    tableOf('providers: { openai: { type: openai, api_key: x } }'),
    /^embeddings +not known yet +the models of openai could not be read; .*culvert-lexical-1024/m,
  );
  assert.match(tableOf('simulator: off'), /^embeddings +missing +no provider that embeds yet/m);
});

test('a Qdrant cluster is named by its host', () => {
  const table = tableOf('vectors: { engine: qdrant, url: "https://qdrant.example:6333/path" }');
  assert.match(table, /^vectors +real +Qdrant at qdrant\.example:6333$/m);
});
