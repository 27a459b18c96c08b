import type { LocalServerType } from './local-fingerprint.ts';
import { type LocalServer, probeBodyBytesMax } from './probe-local.ts';

/** Answers of each kind of server by path (`[status, body]`, a text or JSON), hand-made from the documented shapes. */
export const genuineServers: readonly {
  name: string;
  answers: Record<string, unknown>;
  type: LocalServerType;
  models: string[];
  note: RegExp | null;
  /** Default: its type's provider can use it, below `/v1`. */
  use?: LocalServer['use'];
  basePath?: '';
}[] = [
  {
    name: 'Ollama',
    type: 'ollama',
    answers: {
      '/': 'Ollama is running',
      '/api/version': { version: '0.40.12' },
      '/api/tags': {
        models: [
          { name: 'qwen3:8b', model: 'qwen3:8b', digest: 'ab12', details: {} },
          { name: 'nomic-embed-text', digest: 'cd' },
        ],
      },
      '/v1/models': { object: 'list', data: [{ id: 'qwen3:8b', owned_by: 'library' }] },
    },
    models: ['qwen3:8b', 'nomic-embed-text'],
    note: null,
  },
  {
    name: 'Ollama without a model',
    type: 'ollama',
    answers: { '/': 'Ollama is running', '/api/version': { version: '0.12.0' }, '/api/tags': { models: [] } },
    models: [],
    note: /ollama pull/,
  },
  {
    name: 'llama.cpp',
    type: 'llamacpp',
    answers: {
      '/props': { build_info: 'b9992-abc', total_slots: 4, modalities: { vision: false } },
      '/v1/models': { object: 'list', data: [{ id: 'x.gguf', owned_by: 'llamacpp', meta: { n_ctx: 4_096 } }] },
      '/health': { status: 'ok' },
      // Its shim of Ollama's list must not make it one.
      '/api/tags': { models: [{ name: 'x.gguf', digest: '' }] },
    },
    models: ['x.gguf'],
    note: null,
  },
  {
    name: 'LM Studio, today’s list',
    type: 'lmstudio',
    answers: {
      '/lmstudio-greeting': { lmstudio: true },
      '/api/v1/models': {
        models: [
          { key: 'qwen/qwen3-8b', type: 'llm', publisher: 'qwen', loaded_instances: [], max_context_length: 32_768 },
        ],
      },
      '/v1/models': { data: [{ id: 'qwen/qwen3-8b', owned_by: 'organization_owner' }] },
    },
    models: ['qwen/qwen3-8b'],
    note: null,
  },
  {
    name: 'LM Studio, the older list without a greeting',
    type: 'lmstudio',
    answers: {
      '/api/v0/models': {
        data: [{ id: 'm', type: 'llm', publisher: 'p', compatibility_type: 'gguf', state: 'loaded' }],
      },
    },
    models: ['m'],
    note: null,
  },
  {
    name: 'LM Studio that asks for a token',
    type: 'lmstudio',
    answers: {
      '/lmstudio-greeting': { lmstudio: true },
      '/api/v1/models': [401, { error: 'token' }],
      '/api/v0/models': [401, {}],
    },
    models: [],
    note: /token/,
  },
  {
    name: 'vLLM',
    type: 'vllm',
    answers: {
      '/v1/models': { data: [{ id: 'meta/llama', owned_by: 'vllm', max_model_len: 8_192 }] },
      '/version': { version: '0.11.0' },
    },
    models: ['meta/llama'],
    note: null,
  },
  {
    name: 'SGLang',
    type: 'sglang',
    answers: {
      '/v1/models': { data: [{ id: 'qwen', owned_by: 'sglang', max_model_len: 8_192 }] },
      '/get_model_info': { model_path: 'qwen', is_generation: true },
    },
    models: ['qwen'],
    note: null,
  },
  {
    name: 'LocalAI',
    type: 'localai',
    answers: {
      '/.well-known/localai.json': {
        version: 'v3.8.0',
        endpoints: { chat: '/v1/chat/completions' },
        capabilities: { chat: true },
      },
      '/v1/models': { object: 'list', data: [{ id: 'whisper-1', object: 'model' }, { id: 'tts-1' }, { id: 'llama' }] },
      '/readyz': 'OK',
    },
    models: ['whisper-1', 'tts-1', 'llama'],
    note: null,
  },
  {
    name: 'LocalAI that asks for a key',
    type: 'localai',
    answers: {
      '/.well-known/localai.json': { version: 'v3.8.0', endpoints: {}, capabilities: {} },
      '/v1/models': [401, { error: 'key' }],
    },
    models: [],
    note: /key/,
  },
  {
    name: 'Text Embeddings Inference',
    type: 'tei',
    answers: {
      '/info': {
        model_id: 'BAAI/bge-m3',
        model_type: { embedding: { pooling: 'cls' } },
        max_client_batch_size: 32,
        max_input_length: 8_192,
        version: '1.8.1',
      },
    },
    models: ['BAAI/bge-m3'],
    note: null,
    basePath: '',
  },
  {
    name: 'infinity',
    type: 'infinity',
    answers: {
      '/models': {
        object: 'list',
        data: [
          {
            id: 'bge-small',
            owned_by: 'infinity',
            stats: { queue_fraction: 0 },
            backend: 'torch',
            capabilities: ['embed'],
          },
        ],
      },
    },
    models: ['bge-small'],
    note: null,
    basePath: '',
  },
  {
    name: 'Kokoro-FastAPI',
    type: 'kokoro',
    answers: {
      '/health': { status: 'healthy' },
      '/v1/audio/voices': { voices: ['af_heart', 'bm_george'] },
      '/v1/models': {
        data: [
          { id: 'tts-1', owned_by: 'kokoro' },
          { id: 'kokoro', owned_by: 'kokoro' },
        ],
      },
    },
    models: ['tts-1', 'kokoro'],
    note: null,
  },
  {
    name: 'Kokoro-FastAPI with voices as objects and without a list of models',
    type: 'kokoro',
    answers: {
      '/health': { status: 'healthy', uptime: 3 },
      '/v1/audio/voices': { voices: [{ id: 'af_heart', name: 'Heart' }] },
    },
    models: ['kokoro'],
    note: null,
  },
  {
    name: 'speaches',
    type: 'speaches',
    answers: {
      '/health': 'OK',
      '/api/ps': { models: ['Systran/faster-whisper-small'] },
      '/v1/models': {
        data: [
          { id: 'Systran/faster-whisper-small', owned_by: 'Systran', task: 'automatic-speech-recognition' },
          { id: 'speaches-ai/Kokoro-82M-v1.0-ONNX', owned_by: 'speaches-ai', task: 'text-to-speech' },
        ],
      },
    },
    models: ['Systran/faster-whisper-small', 'speaches-ai/Kokoro-82M-v1.0-ONNX'],
    note: null,
  },
  {
    name: 'speaches without a model',
    type: 'speaches',
    answers: { '/health': 'OK', '/api/ps': { models: [] }, '/v1/models': { data: [] } },
    models: [],
    note: /no model yet/,
  },
  {
    name: 'Stable Diffusion web UI',
    type: 'a1111',
    answers: {
      '/sdapi/v1/options': { samples_format: 'png', sd_model_checkpoint: 'v1-5.safetensors [6ce0161689]', sd_vae: 'x' },
      '/sdapi/v1/sd-models': [
        200,
        [{ title: 'v1-5.safetensors [6ce0161689]', model_name: 'v1-5', hash: '6ce0161689', filename: '/x' }],
      ],
      '/': '<html><title>Stable Diffusion</title><script src="gradio.js"></script></html>',
    },
    models: ['default', 'v1-5'],
    note: null,
    basePath: '',
  },
  {
    name: 'Stable Diffusion web UI without its API',
    type: 'a1111',
    answers: {
      '/': '<html><head><title>Stable Diffusion</title></head><script>window.gradio_config = {}</script></html>',
    },
    models: [],
    note: /--api/,
    use: 'listed',
    basePath: '',
  },
  {
    name: 'stable-diffusion.cpp on LM Studio’s port',
    type: 'sd-server',
    answers: {
      '/sdapi/v1/options': { samples_format: 'png', sd_model_checkpoint: 'model' },
      '/sdapi/v1/sd-models': [200, [{ title: 'model', model_name: 'model', hash: '8888888888', sha256: '8' }]],
    },
    models: ['default'],
    note: null,
    basePath: '',
  },
  {
    name: 'ComfyUI',
    type: 'comfyui',
    answers: {
      '/system_stats': { system: { os: 'posix', comfyui_version: '0.3.71' }, devices: [{ name: 'cuda:0' }] },
      '/queue': { queue_running: [], queue_pending: [] },
    },
    models: [],
    note: /workflows/,
    use: 'listed',
    basePath: '',
  },
  {
    name: 'SearXNG that refuses JSON',
    type: 'searxng',
    answers: {
      '/config': { instance_name: 'SearXNG', engines: [{ name: 'wikipedia' }], version: '2025.1' },
      '/search?format=json': [403, 'Forbidden'],
    },
    models: [],
    note: /search\.formats/,
    use: 'listed',
    basePath: '',
  },
  {
    name: 'SearXNG whose list of engines is longer than is read',
    type: 'searxng',
    answers: {
      '/config': 'x'.repeat(probeBodyBytesMax + 1),
      '/': '<html><meta name="generator" content="searxng/2025.11.20"></html>',
      '/search?format=json': [400, 'No query'],
    },
    models: [],
    note: null,
    use: 'search',
    basePath: '',
  },
  {
    name: 'whisper.cpp, which shows no more than a page',
    type: 'whispercpp',
    answers: { '/': '<html><title>Whisper.cpp Server</title><body><h2>/inference</h2><h2>/load</h2></body></html>' },
    models: [],
    note: /type whispercpp/,
    use: 'listed',
    basePath: '',
  },
];

const vllmRow = { id: 'm', owned_by: 'vllm' };
/** Servers like one of them, but not enough to be taken for it. */
export const nearMisses: Readonly<Record<string, Record<string, unknown>>> = {
  'the words of Ollama alone': { '/': 'Ollama is running' },
  'an Ollama API without its greeting': {
    '/api/version': { version: '0.9.0' },
    '/api/tags': { models: [{ name: 'm', digest: 'a' }] },
  },
  'an Ollama with empty digests': {
    '/': 'Ollama is running',
    '/api/version': { version: '0.9.0' },
    '/api/tags': { models: [{ name: 'm', digest: '' }] },
  },
  'props of llama.cpp without its list': {
    '/props': { build_info: 'b1', total_slots: 1 },
    '/v1/models': { data: [{ id: 'm', owned_by: 'me' }] },
  },
  'a list of llama.cpp without its props': {
    '/v1/models': { data: [{ id: 'm', owned_by: 'llamacpp' }] },
    '/health': { status: 'ok' },
  },
  'the greeting of LM Studio alone': {
    '/lmstudio-greeting': { lmstudio: true },
    '/api/v1/models': { error: 'Unexpected endpoint' },
  },
  'a list of LM Studio without its own words': {
    '/api/v0/models': { data: [{ id: 'm', publisher: 'p', state: 'loaded' }] },
  },
  '401 without the greeting of LM Studio': { '/api/v1/models': [401, {}] },
  'an owner named sglang alone': { '/v1/models': { data: [{ id: 'm', owned_by: 'sglang' }] } },
  'what LocalAI says of itself alone': {
    '/.well-known/localai.json': { version: '1', endpoints: {}, capabilities: {} },
  },
  'half of what TEI says': { '/info': { model_id: 'm', model_type: { embedding: {} } } },
  'an owner named infinity alone': { '/models': { data: [{ id: 'm', owned_by: 'infinity' }] } },
  'the health of Kokoro-FastAPI alone': { '/health': { status: 'healthy' } },
  'voices without Kokoro’s health': { '/v1/audio/voices': { voices: ['af_heart'] } },
  'other voices': { '/health': { status: 'healthy' }, '/v1/audio/voices': { voices: ['alloy'] } },
  'the health of speaches alone': { '/health': 'OK' },
  'models of speaches as objects, which is Ollama’s': { '/health': 'OK', '/api/ps': { models: [{ name: 'm' }] } },
  'options of Stable Diffusion without its models': { '/sdapi/v1/options': { sd_model_checkpoint: 'm' } },
  'a Gradio page of something else': { '/': '<title>My app</title><script>window.gradio_config</script>' },
  'the statistics of ComfyUI without a version': { '/system_stats': { system: {}, devices: [] } },
  'a page that SearXNG made, without its search': { '/': '<meta name="generator" content="searxng/1">' },
  'a page about whisper.cpp': { '/': '<title>All about whisper.cpp</title>' },
  'an owner named vllm alone': { '/v1/models': { data: [vllmRow] } },
  'a list of vLLM and others': {
    '/v1/models': { data: [vllmRow, { id: 'n', owned_by: 'me' }] },
    '/version': { version: '1' },
  },
};
