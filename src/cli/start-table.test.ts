import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfigText } from '../config/check.ts';
import { builtInEngines } from '../engines/built-in-engines.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import { kokoroStandardVoices } from '../formats/neutral/speech.ts';
import type { LocalServer } from '../formats/providers/probe-local.ts';
import { modelType } from '../formats/providers/read-model-list.ts';
import { buildSnapshot } from '../inference/models/build-snapshot.ts';
import { createKnownModels } from '../inference/models/known-models.ts';
import { startMessage } from './start-table.ts';

const speechEngine = (model: string): SpeechEngine => ({
  model,
  sampleRateHz: 24_000,
  voices: [],
  standardVoices: kokoroStandardVoices,
  speak: () => assert.fail('nobody speaks'),
});

/** The table of a start with this configuration, `listed` being what the file of known models remembers. */
function tableOf(
  config: string,
  listed: Record<string, readonly string[]> = {},
  here: {
    found?: readonly LocalServer[];
    speech?: readonly string[];
    env?: Record<string, string>;
    /** Stand before the rest in that file. */
    damaged?: readonly unknown[];
  } = {},
): string {
  const checked = checkConfigText(config, 'culvert.yaml', {});
  assert.ok(checked.ok);
  const models = Object.entries(listed).map(([place, ids]): unknown => [
    place,
    ids.map((id) => ({ id, type: modelType({}, id) })),
  ]);
  const known = createKnownModels({
    transport: {
      send: () => assert.fail('nobody is asked'),
      connect: () => assert.fail('nobody is asked'),
      close: async () => {},
      destroy() {},
    },
    recall: () => JSON.stringify([...(here.damaged ?? []), ...models]),
    keep() {},
  });
  const built = buildSnapshot({
    config: checked.config,
    env: here.env ?? {},
    locals: [],
    known,
    simulatorUrl: 'http://127.0.0.1:9',
    engines: {
      embedding: builtInEngines,
      speech: new Map((here.speech ?? []).map((model) => [model, speechEngine(model)])),
      transcription: new Map(),
    },
    nowMs: 0,
  });
  assert.ok(built.kind === 'built');
  return startMessage({
    url: 'http://127.0.0.1:4141',
    snapshot: built.snapshot,
    found: here.found ?? [],
    adminKey: null,
    userKey: null,
    dashboard: false,
    login: null,
    reader: 'person',
    version: '0',
  });
}

test('without a provider embeddings are simulated, and the table says what mends that and what is real meanwhile', () => {
  const table = tableOf('storage: { data_dir: ./data }');
  assert.match(table, /^chat +simulated +no provider yet/m);
  assert.match(
    table,
    /^embeddings +simulated +no provider has an embedding model yet: .*OPENAI_API_KEY.*culvert-lexical-1024/m,
  );
  assert.match(table, /^vectors +real +embedded, in \S*data$/m);
});

test('a provider that cannot be used is named, instead of a call to set it', () => {
  const table = tableOf('providers: { openai: { type: openai, api_key: "a→b" } }\nsimulator: on');
  assert.match(table, /^chat +simulated +openai cannot be used: .*culvert check and the log say why$/m);
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

test('what cannot be read among the remembered lists loses none of the others', () => {
  const openai = 'providers: { openai: { type: openai, api_key: x } }';
  const place = 'openai https://api.openai.com/v1';
  for (const entry of [null, 5, {}, [5, []], ['x', 5], [place, [null, {}, { id: 5 }]]])
    assert.match(
      tableOf(openai, { [place]: ['text-embedding-3-small'] }, { damaged: [entry] }),
      /^embeddings +real +openai\/text-embedding-3-small$/m,
      JSON.stringify(entry),
    );
  const none = tableOf(openai, {}, { damaged: [[place, [null, {}, { id: 5 }]]] });
  assert.match(none, /^embeddings +simulated /m, 'the list is there, and empty');
});

test('while a list is not known, and where nothing stands in, it says so', () => {
  assert.match(
    tableOf('providers: { openai: { type: openai, api_key: x } }'),
    /^embeddings +not known yet +the models of openai could not be read; .*culvert-lexical-1024/m,
  );
  assert.match(tableOf('simulator: off'), /^embeddings +missing +no provider has an embedding model yet/m);
});

test('a Qdrant cluster is named by its host', () => {
  const table = tableOf('vectors: { engine: qdrant, url: "https://qdrant.example:6333/path" }');
  assert.match(table, /^vectors +real +Qdrant at qdrant\.example:6333$/m);
});

test('search is over own pages until an engine is named', () => {
  assert.match(tableOf(''), /^search +local +only pages that were scraped or crawled: run SearXNG, or .*providers$/m);
  const engines = (types: string) => tableOf(`tools: { search: { providers: [${types}] } }`);
  assert.match(engines('{ type: searxng, base_url: "http://127.0.0.1:8888" }'), /^search +local +searxng$/m);
  assert.match(engines('{ type: brave, api_key: x }, { type: corpus }'), /^search +real +brave, corpus$/m);
});

test('speech, transcription and images are simulated without a provider, and each names what mends it', () => {
  const table = tableOf('storage: { data_dir: ./data }');
  assert.match(table, /^speech +simulated +no provider can speak yet: .*espeak-ng.*culvert add speech$/m);
  assert.match(table, /^transcription +simulated +no provider can transcribe yet: .*culvert add transcription$/m);
  assert.match(table, /^images +simulated +no provider can draw yet: .*sd-server$/m);
  const off = tableOf('simulator: off');
  for (const name of ['speech', 'transcription', 'images']) assert.match(off, new RegExp(`^${name} +missing `, 'm'));
});

test('with a provider each names the model behind it; espeak-ng is local, and robotic', () => {
  const openai = { 'openai https://api.openai.com/v1': ['gpt-5', 'whisper-1', 'tts-1', 'dall-e-3'] };
  const table = tableOf('providers: { openai: { type: openai, api_key: x } }', openai);
  assert.match(table, /^speech +real +openai\/tts-1$/m);
  assert.match(table, /^transcription +real +openai\/whisper-1$/m);
  assert.match(table, /^images +real +openai\/dall-e-3$/m);
  const here = tableOf('', {}, { speech: ['espeak-ng'] });
  assert.match(here, /^speech +local +culvert\/espeak-ng: robotic; culvert add speech brings a better voice$/m);
  const kokoro = { 'kokoro http://127.0.0.1:8880/v1': ['kokoro'] };
  assert.match(tableOf('providers: { k: { type: kokoro } }', kokoro), /^speech +local +k\/kokoro$/m);
});

test('where the configuration names models, one that draws must be among them', () => {
  const listed = { 'openai https://api.openai.com/v1': ['gpt-5', 'dall-e-3', 'tts-1', 'whisper-1'] };
  const providers = 'providers: { openai: { type: openai, api_key: x } }';
  const without = tableOf(`${providers}\nmodels: { chat: { targets: [openai/gpt-5] } }`, listed);
  assert.match(without, /^images +missing +no model of type image: name one under models, such as openai\/dall-e-3$/m);
  assert.match(without, /^speech +real +openai\/tts-1$/m, 'the contract names it');
  const named = tableOf(`${providers}\nmodels: { draw: { type: image, targets: [openai/dall-e-3] } }`, listed);
  assert.match(named, /^images +real +openai\/dall-e-3$/m);
  const claude = 'providers: { claude: { type: anthropic, api_key: x } }';
  assert.match(tableOf(`${claude}\nmodels: { chat: { targets: [claude/x] } }`), /^images +missing /m);
});

test('found servers are told: how to use them, or what stands in the way', () => {
  const server = { models: [], note: null, use: 'provider' } as const;
  const table = tableOf(
    '',
    {},
    {
      found: [
        { ...server, type: 'kokoro', title: 'Kokoro-FastAPI', url: 'http://127.0.0.1:8880/v1' },
        {
          ...server,
          type: 'comfyui',
          title: 'ComfyUI',
          url: 'http://127.0.0.1:8188',
          use: 'listed',
          note: 'it draws by workflows',
        },
      ],
    },
  );
  assert.match(
    table,
    /^Found Kokoro-FastAPI at http:\/\/127\.0\.0\.1:8880\/v1, not used: start with CULVERT_AUTODETECT=1/m,
  );
  assert.match(table, /^Found ComfyUI at http:\/\/127\.0\.0\.1:8188, not used: it draws by workflows\.$/m);
});

test('where nobody has named a model, those of assistants are answered by the first that chats, and the start says so', () => {
  const line = /^(\S+) answers for models that nobody here has, .*; server\.unknown_models: refuse /m;
  assert.equal(line.exec(tableOf(''))?.[1], 'sim/chat');
  const ollama = { 'ollama http://127.0.0.1:11434/v1': ['bge-m3', 'qwen3'] };
  const wanted = 'server: { unknown_models: nearest }\nproviders: { home: { type: ollama } }';
  assert.equal(line.exec(tableOf(wanted, ollama))?.[1], 'qwen3');
  assert.equal(line.exec(tableOf('server: { unknown_models: refuse }')), null);
  assert.equal(line.exec(tableOf('simulator: off')), null);
  const openai = { 'openai https://api.openai.com/v1': ['gpt-5'] };
  assert.equal(line.exec(tableOf('', openai, { env: { OPENAI_API_KEY: 'x' } })), null, 'its key is a configuration');
  assert.equal(line.exec(tableOf('providers: { openai: { type: openai, api_key: x } }', openai)), null);
});
