import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { providerOf } from './catalog.ts';
import type { LocalServerType } from './local-fingerprint.ts';
import { localFingerprints } from './local-fingerprints.ts';
import { type PortOpens, type ProbeGet, portOpens, probeGet } from './probe-get.ts';
import { type LocalServer, probeBodyBytesMax, probeLocalServers } from './probe-local.ts';

/** A genuine server is found however busy this machine is. */
const patientMs = 30_000;
/** The real one on IPv4 alone: another test's server may hold the same port on [::1]. */
const onIpv4: ProbeGet = (url, bounds) =>
  url.includes('[::1]') ? Promise.resolve(null) : probeGet(url, { ...bounds, timeoutMs: patientMs });
/** And the other way round. */
const onIpv6: ProbeGet = (url, bounds) =>
  url.includes('[::1]') ? probeGet(url, { ...bounds, timeoutMs: patientMs }) : Promise.resolve(null);
/** In the time that it really has. */
const inTime: ProbeGet = (url, bounds) => (url.includes('[::1]') ? Promise.resolve(null) : probeGet(url, bounds));
const opensAtLast: PortOpens = (origin) => portOpens(origin, patientMs);

const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

interface Asked {
  method: string;
  url: string;
  headers: NodeJS.Dict<string | string[]>;
}

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<{ port: number; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    asked.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return { port: (server.address() as AddressInfo).port, asked };
}

/** Answers by path: an object as JSON, a string as text, [status, body] with that status; else 404. */
function replay(answers: Readonly<Record<string, unknown>>): RequestListener {
  return (request, response) => {
    const found = answers[request.url ?? ''];
    const [status, body] = Array.isArray(found)
      ? (found as [number, unknown])
      : [found === undefined ? 404 : 200, found ?? '{}'];
    response.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Every kind is looked for on this one port: none may be taken for another. */
function everywhere(port: number): Record<LocalServerType, number> {
  return Object.fromEntries(localFingerprints.map(({ type }) => [type, port])) as Record<LocalServerType, number>;
}

/** Hand-made from the documented shapes. */
const genuine: readonly {
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

describe('local servers are recognised by two facts', () => {
  for (const { name, answers, type, models, note, use = 'provider', basePath = '/v1' } of genuine) {
    test(name, async () => {
      const { port, asked } = await serve(replay(answers));
      const found = await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port), portOpens: opensAtLast });
      assert.deepEqual(
        found.map((server) => server.type),
        [type],
      );
      assert.equal(found[0]?.url, `http://127.0.0.1:${port}${basePath}`);
      assert.equal(found[0]?.use, use);
      assert.deepEqual(
        found[0]?.models.map((model) => model.id),
        models,
      );
      if (note === null) assert.equal(found[0]?.note, null);
      else assert.match(found[0]?.note ?? '', note);
      for (const { method, headers } of asked) {
        assert.equal(method, 'GET');
        assert.equal(headers.authorization ?? headers['x-api-key'], undefined);
      }
    });
  }

  test('each is told by a name, and has a provider that can use it unless it is only listed', () => {
    const seen = new Set(genuine.map(({ type }) => type));
    for (const { type, title, use } of localFingerprints) {
      assert.ok(seen.has(type), `${type} has no example`);
      assert.equal(use === 'provider' ? providerOf(type)?.title : title, title);
    }
  });

  test('fourteen of them at once, each on a port of its own, are told apart', async () => {
    const firsts = [...new Map(genuine.toReversed().map((server) => [server.type, server])).values()];
    assert.equal(firsts.length, localFingerprints.length);
    const ports: Partial<Record<LocalServerType, number>> = {};
    for (const { type, answers } of firsts) ports[type] = (await serve(replay(answers))).port;
    const found = await probeLocalServers({ probeGet: onIpv4, ports, portOpens: opensAtLast });
    assert.deepEqual(
      found.map(({ type }) => type),
      localFingerprints.map(({ type }) => type),
    );
  });

  test('each address is asked once, whoever wants it, and nothing where no one listens', async () => {
    const { port, asked } = await serve(replay({}));
    await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port), portOpens: opensAtLast });
    const urls = asked.map(({ url }) => url);
    assert.equal(new Set(urls).size, urls.length);
    const calls: string[] = [];
    const noting: ProbeGet = async (url) => {
      calls.push(url);
      return null;
    };
    assert.deepEqual(await probeLocalServers({ probeGet: noting, portOpens: async () => false }), []);
    assert.deepEqual(calls, []);
    assert.equal(await opensAtLast(`http://127.0.0.1:${port}`, 0), true);
    assert.equal(await opensAtLast(`http://10.0.0.1:${port}`, 0), false, 'loopback only');
  });

  const vllmRow = { id: 'm', owned_by: 'vllm' };
  const nearMisses: Readonly<Record<string, Record<string, unknown>>> = {
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
  for (const [name, answers] of Object.entries(nearMisses)) {
    test(`not enough: ${name}`, async () => {
      const { port } = await serve(replay(answers));
      assert.deepEqual(
        await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port), portOpens: opensAtLast }),
        [],
      );
    });
  }

  test('a server on [::1] alone is found there', async (context) => {
    const port = await serve(replay(genuine[0]!.answers), '::1').then(
      (served) => served.port,
      () => null,
    );
    if (port === null) return context.diagnostic('no IPv6 loopback on this machine');
    const [found] = await probeLocalServers({ probeGet: onIpv6, ports: everywhere(port), portOpens: opensAtLast });
    assert.equal(found?.url, `http://[::1]:${port}/v1`);
  });
});

describe('liars are not taken for a server', () => {
  let strayed = 0;
  const liars: Readonly<Record<string, (elsewhere: number) => RequestListener>> = {
    'HTML 200 everywhere': () => (_, response) => response.end('<html>Ollama is running</html>'),
    'an endless body': () => (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    'a redirect to another host': (elsewhere) => (request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${elsewhere}${request.url}` }).end(),
    'wrong JSON everywhere': () => (_, response) =>
      response.end('{"version":1,"models":[7],"data":[null],"lmstudio":"true"}'),
    'a server that hangs': () => () => {},
    '401 everywhere': () => (_, response) => response.writeHead(401).end('{"error":"unauthorized"}'),
  };
  for (const [name, liar] of Object.entries(liars)) {
    test(name, async () => {
      const genuineReplay = replay(genuine[0]!.answers);
      const elsewhere = await serve((request, response) => {
        strayed++;
        genuineReplay(request, response);
      });
      const { port } = await serve(liar(elsewhere.port));
      assert.deepEqual(
        await probeLocalServers({ probeGet: inTime, ports: everywhere(port), portOpens: opensAtLast }),
        [],
      );
      assert.equal(strayed, 0, 'the probe followed a redirect');
    });
  }
});

test('the probe reaches loopback only, and gives up at its bounds', async () => {
  const bounds = { timeoutMs: 100, bodyBytesMax: 64 };
  const { port } = await serve((request, response) => response.end('x'.repeat(request.url === '/big' ? 65 : 64)));
  const other = await serve((_, response) => response.end('x'), '127.0.0.2');
  const elsewhere = [`http://127.0.0.2:${other.port}/`, `http://localhost:${port}/`, `https://127.0.0.1:${port}/`];
  for (const url of elsewhere) assert.equal(await probeGet(url, bounds), null, url);
  assert.equal(other.asked.length, 0);
  assert.equal((await probeGet(`http://127.0.0.1:${port}/`, bounds))?.body.length, 64);
  assert.equal(await probeGet(`http://127.0.0.1:${port}/big`, bounds), null);
  assert.equal(probeBodyBytesMax, 65_536);
});

test('every address is asked before any has answered', async () => {
  const waiting: (() => void)[] = [];
  const paths = new Set(localFingerprints.flatMap(({ paths }) => paths));
  const probeGet: ProbeGet = (url) =>
    new Promise((resolve) => {
      waiting.push(() => resolve(null));
      // On both addresses.
      if (waiting.length === paths.size * 2) for (const answer of waiting) answer();
      assert.ok(url.startsWith('http://'));
    });
  assert.deepEqual(await probeLocalServers({ probeGet, ports: everywhere(1), portOpens: async () => true }), []);
});

test('nothing on any port: an empty finding, whatever the probe throws', async () => {
  assert.deepEqual(
    await probeLocalServers({ probeGet: () => Promise.reject(new Error('boom')), portOpens: async () => true }),
    [],
  );
});
