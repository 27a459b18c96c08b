import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { aliasTable } from '../../inference/models/create-alias.ts';
import { providerTypes } from './catalog.ts';
import { type DiscoveryGet, discoverModels } from './discover.ts';
import type { DiscoveredModel } from './provider.ts';
import { createConnection, type ProviderConnection } from './provider-connection.ts';
import { listedModelsMax, readModelList } from './read-model-list.ts';

function connection(type: string, name = type): ProviderConnection {
  const provider = providerTypes.get(type);
  assert.ok(provider);
  const result = createConnection({
    name,
    provider,
    baseUrl: provider.baseUrl ?? 'https://x.example',
    secrets: ['k'],
    headers: {},
    apiVersion: null,
  });
  if (!result.ok) assert.fail(result.message);
  return result.connection;
}

/** Lists in the shape that each service documents; what must be read of them. */
const lists: Readonly<Record<string, { path: string; body: unknown; models: DiscoveredModel[] }>> = {
  openai: {
    path: '/v1/models',
    body: {
      object: 'list',
      data: [
        { id: 'gpt-4o', object: 'model', created: 1_715_367_049, owned_by: 'system' },
        { id: 'text-embedding-3-small', object: 'model', created: 1, owned_by: 'system' },
        { id: 'whisper-1', object: 'model' },
        { id: 'gpt-4o-transcribe', object: 'model' },
        { id: 'tts-1-hd', object: 'model' },
        { id: 'gpt-4o-mini-tts', object: 'model' },
        { id: 'dall-e-3', object: 'model' },
        { id: 'gpt-image-1', object: 'model' },
        { id: 'omni-moderation-latest', object: 'model' },
        { id: 'gpt-4o-realtime-preview', object: 'model' },
        { id: 'sora-2', object: 'model' },
        { id: 'babbage-002', object: 'model' },
      ],
    },
    models: [
      { id: 'gpt-4o', type: 'chat', createdS: 1_715_367_049 },
      { id: 'text-embedding-3-small', type: 'embedding', createdS: 1 },
      { id: 'whisper-1', type: 'transcription' },
      { id: 'gpt-4o-transcribe', type: 'transcription' },
      { id: 'tts-1-hd', type: 'speech' },
      { id: 'gpt-4o-mini-tts', type: 'speech' },
      { id: 'dall-e-3', type: 'image' },
      { id: 'gpt-image-1', type: 'image' },
      { id: 'omni-moderation-latest', type: 'moderation' },
      { id: 'gpt-4o-realtime-preview', type: 'realtime' },
      { id: 'sora-2', type: 'video' },
    ],
  },
  gemini: {
    path: '/v1beta/models?pageSize=1000',
    body: {
      models: [
        {
          name: 'models/gemini-2.5-flash',
          inputTokenLimit: 1_048_576,
          outputTokenLimit: 65_536,
          supportedGenerationMethods: ['generateContent', 'countTokens', 'batchGenerateContent'],
        },
        { name: 'models/gemini-embedding-001', inputTokenLimit: 2048, supportedGenerationMethods: ['embedContent'] },
        { name: 'models/gemini-2.5-flash-image', supportedGenerationMethods: ['generateContent'] },
        { name: 'models/gemini-2.5-flash-preview-tts', supportedGenerationMethods: ['generateContent'] },
        { name: 'models/gemini-live-2.5-flash-preview', supportedGenerationMethods: ['bidiGenerateContent'] },
        { name: 'models/imagen-4.0', supportedGenerationMethods: ['predict'] },
        { name: 'models/../x', supportedGenerationMethods: ['generateContent'] },
        { displayName: 'nameless' },
        7,
      ],
    },
    models: [
      { id: 'gemini-2.5-flash', type: 'chat', contextWindow: 1_048_576, maxOutputTokens: 65_536 },
      { id: 'gemini-embedding-001', type: 'embedding', contextWindow: 2048 },
      { id: 'gemini-2.5-flash-image', type: 'image' },
      { id: 'gemini-2.5-flash-preview-tts', type: 'speech' },
      { id: 'imagen-4.0', type: 'image' },
    ],
  },
  anthropic: {
    path: '/v1/models?limit=1000',
    body: {
      data: [
        {
          type: 'model',
          id: 'claude-x',
          display_name: 'Claude X',
          created_at: '2026-02-03T00:00:00Z',
          max_input_tokens: 200_000,
          max_tokens: 64_000,
          lifecycle: 'active',
          retires_at: null,
        },
        { type: 'model', id: 'claude-old', lifecycle: 'deprecated', retires_at: '2027-01-22T17:00:00-08:00' },
        { type: 'model', id: 'claude-gone', lifecycle: 'retired', retires_at: '2026-11-30T00:00:00Z' },
      ],
      has_more: false,
    },
    models: [
      { id: 'claude-x', type: 'chat', contextWindow: 200_000, maxOutputTokens: 64_000, createdS: 1_770_076_800 },
      { id: 'claude-old', type: 'chat', retiresOn: '2027-01-23' },
    ],
  },
  groq: {
    path: '/openai/v1/models',
    body: {
      data: [
        { id: 'llama-3.3-70b', active: true, context_window: 131_072, max_completion_tokens: 32_768, created: 5 },
        { id: 'gone', active: false, context_window: 8_192 },
        { id: 'whisper-large-v3', active: true, context_window: 448 },
        { id: 'meta-llama/llama-guard-4-12b', active: true },
      ],
    },
    models: [
      { id: 'llama-3.3-70b', type: 'chat', contextWindow: 131_072, maxOutputTokens: 32_768, createdS: 5 },
      { id: 'whisper-large-v3', type: 'transcription', contextWindow: 448 },
    ],
  },
  mistral: {
    path: '/v1/models',
    body: {
      data: [
        {
          id: 'mistral-small-latest',
          capabilities: { completion_chat: true, vision: true },
          max_context_length: 131_072,
          type: 'base',
        },
        { id: 'mistral-embed', capabilities: { completion_chat: false }, max_context_length: 8_192 },
        { id: 'mistral-moderation-latest', capabilities: { completion_chat: false, classification: true } },
        { id: 'mistral-ocr-latest', capabilities: { completion_chat: false, ocr: true } },
      ],
    },
    models: [
      { id: 'mistral-small-latest', type: 'chat', contextWindow: 131_072 },
      { id: 'mistral-embed', type: 'embedding', contextWindow: 8_192 },
      { id: 'mistral-moderation-latest', type: 'moderation' },
      { id: 'mistral-ocr-latest', type: 'ocr' },
    ],
  },
  openrouter: {
    path: '/api/v1/models',
    body: {
      data: [
        {
          id: 'openai/gpt-4o',
          context_length: 128_000,
          architecture: { output_modalities: ['text'] },
          top_provider: { max_completion_tokens: 16_384 },
          pricing: { prompt: '0.1' },
        },
        { id: 'a/painter', context_length: 1_000, architecture: { output_modalities: ['image'] } },
        { id: 'a/painter-and-writer', architecture: { output_modalities: ['image', 'text'] } },
      ],
    },
    models: [
      { id: 'openai/gpt-4o', type: 'chat', contextWindow: 128_000, maxOutputTokens: 16_384 },
      { id: 'a/painter', type: 'image', contextWindow: 1_000 },
      { id: 'a/painter-and-writer', type: 'chat' },
    ],
  },
  together: {
    path: '/v1/models',
    body: [
      { id: 'a/b', type: 'chat', context_length: 4_096, created: 9 },
      { id: 'c/d', type: 'moderation' },
      { id: 'e/f', type: 'image' },
    ],
    models: [
      { id: 'a/b', type: 'chat', contextWindow: 4_096, createdS: 9 },
      { id: 'e/f', type: 'image' },
    ],
  },
  cohere: {
    path: '/v1/models?page_size=1000',
    body: {
      models: [
        { name: 'command-a', endpoints: ['generate', 'chat', 'summarize'], context_length: 256_000 },
        { name: 'embed-v4', endpoints: ['embed', 'classify'], context_length: 8_192 },
        { name: 'rerank-v4', endpoints: ['rerank'] },
        { name: 'command-old', endpoints: ['chat'], is_deprecated: true },
      ],
    },
    models: [
      { id: 'command-a', type: 'chat', contextWindow: 256_000 },
      { id: 'embed-v4', type: 'embedding', contextWindow: 8_192 },
      { id: 'rerank-v4', type: 'rerank' },
    ],
  },
  ollama: {
    path: '/v1/models',
    body: {
      object: 'list',
      data: [
        { id: 'qwen3:8b', object: 'model', created: 3, owned_by: 'library' },
        { id: 'nomic-embed-text:latest', object: 'model' },
      ],
    },
    models: [
      { id: 'qwen3:8b', type: 'chat', createdS: 3 },
      { id: 'nomic-embed-text:latest', type: 'embedding' },
    ],
  },
  lmstudio: {
    path: '/api/v0/models',
    body: {
      object: 'list',
      data: [
        { id: 'qwen2-vl', type: 'vlm', state: 'loaded', max_context_length: 32_768 },
        { id: 'nomic', type: 'embeddings', state: 'not-loaded', max_context_length: 2_048 },
      ],
    },
    models: [
      { id: 'qwen2-vl', type: 'chat', contextWindow: 32_768 },
      { id: 'nomic', type: 'embedding', contextWindow: 2_048 },
    ],
  },
  llamacpp: {
    path: '/v1/models',
    body: {
      models: [{ name: 'x.gguf', capabilities: ['completion'] }],
      object: 'list',
      data: [{ id: 'x.gguf', owned_by: 'llamacpp', created: 4, meta: { n_ctx: 16_384, n_ctx_train: 131_072 } }],
    },
    models: [{ id: 'x.gguf', type: 'chat', contextWindow: 16_384, createdS: 4 }],
  },
  vllm: {
    path: '/v1/models',
    body: { object: 'list', data: [{ id: 'meta/llama', owned_by: 'vllm', max_model_len: 8_192, created: 6 }] },
    models: [{ id: 'meta/llama', type: 'chat', contextWindow: 8_192, createdS: 6 }],
  },
};

describe('the list of each service is asked where it stands and read as it is', () => {
  for (const [type, { path, body, models }] of Object.entries(lists)) {
    test(type, async () => {
      const requests: string[] = [];
      const get: DiscoveryGet = async (_, askedPath) => {
        requests.push(askedPath);
        return { status: 200, body };
      };
      assert.deepEqual(await discoverModels(connection(type), get), { ok: true, models });
      assert.deepEqual(requests, [path]);
    });
  }
});

test('LM Studio without its own list (404, or 200 with an error) is asked for OpenAI’s', async () => {
  for (const missing of [
    { status: 404, body: undefined },
    { status: 200, body: { error: 'Unexpected endpoint or method.' } },
  ]) {
    const get: DiscoveryGet = async (_, path) =>
      path === '/v1/models' ? { status: 200, body: { data: [{ id: 'm' }] } } : missing;
    assert.deepEqual(await discoverModels(connection('lmstudio'), get), {
      ok: true,
      models: [{ id: 'm', type: 'chat' }],
    });
  }
});

test('a failed list says why and never rejects', async () => {
  const answering = (status: number, body: unknown) =>
    discoverModels(connection('openai', 'mine'), async () => ({ status, body }));
  assert.deepEqual(await answering(401, {}), {
    ok: false,
    reason: 'bad_credential',
    message: 'mine answered 401 when asked for its models',
  });
  assert.deepEqual(await answering(503, '<html>'), {
    ok: false,
    reason: 'transient',
    message: 'mine answered 503 when asked for its models',
  });
  assert.deepEqual(await answering(200, '<html>'), {
    ok: false,
    reason: 'malformed',
    message: 'mine sent no list of models',
  });
  assert.deepEqual(
    await discoverModels(connection('openai', 'mine'), () => Promise.reject(new Error('ECONNREFUSED'))),
    {
      ok: false,
      reason: 'transient',
      message: 'mine did not answer',
    },
  );
  // A wrong key is a 400 there, which the words alone tell from other faults.
  const message = {
    gemini: 'API key not valid. Please pass a valid API key.',
    xai: 'Incorrect API key provided: xa***y.',
  };
  for (const [type, error] of Object.entries(message)) {
    const found = await discoverModels(connection(type), async () => ({
      status: 400,
      body: type === 'xai' ? { code: 'Client specified an invalid argument', error } : { error: { message: error } },
    }));
    assert.equal(found.ok === false && found.reason, 'bad_credential', type);
  }
  const result = await discoverModels(connection('jina'), () => assert.fail('nothing to ask'));
  assert.equal(result.ok === false && result.reason, 'not-listed');
});

test('a list is bounded, its ids are unique and cannot carry anything but a name', () => {
  const many = readModelList({ data: Array.from({ length: 5_000 }, (_, i) => ({ id: `m${i}` })) });
  assert.equal(many?.length, listedModelsMax);
  const odd = [
    'ok',
    'ok',
    'a b',
    'a\r\nb',
    '<script>',
    '"',
    'a\\b',
    '',
    '-flag',
    '../up',
    'ü',
    'x'.repeat(300),
    7,
    null,
    '@cf/meta/llama-3',
    // OpenRouter's name for the newest of a line.
    '~anthropic/claude-opus-latest',
  ];
  assert.deepEqual(
    readModelList({ data: odd.map((id) => ({ id })) })?.map((model) => model.id),
    ['ok', '@cf/meta/llama-3', '~anthropic/claude-opus-latest'],
  );
});

test('any JSON is read without a throw', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      readModelList(a);
      readModelList({
        data: [a, b, { id: 'x', capabilities: a, architecture: b, endpoints: [a], type: b, meta: a, created_at: b }],
      });
    }),
    { numRuns: 300 },
  );
});

test('aliases: qualified always, plain where one provider has it, a qualified name is never taken by a plain one', () => {
  const chat = (id: string): DiscoveredModel => ({ id, type: 'chat' });
  const table = aliasTable(
    new Map([
      ['openai', [chat('gpt-4o'), chat('o3')]],
      ['azure', [chat('gpt-4o')]],
      ['openrouter', [chat('openai/o3'), chat('z/one')]],
    ]),
  );
  assert.deepEqual(
    [...table].map(([alias, { provider, model }]) => `${alias} → ${provider} ${model.id}`),
    [
      'openai/gpt-4o → openai gpt-4o',
      'openai/o3 → openai o3',
      'azure/gpt-4o → azure gpt-4o',
      'openrouter/openai/o3 → openrouter openai/o3',
      'openrouter/z/one → openrouter z/one',
      'o3 → openai o3',
      'z/one → openrouter z/one',
    ],
  );
});
