import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import type { LocalServerType } from './local-fingerprints.ts';
import { type ProbeGet, probeGet } from './probe-get.ts';
import { probeBodyBytesMax, probeLocalServers } from './probe-local.ts';

/** The real one on IPv4 alone: another test's server may hold the same port on [::1]. */
const onIpv4: ProbeGet = (url, bounds) => (url.includes('[::1]') ? Promise.resolve(null) : probeGet(url, bounds));
/** And the other way round. */
const onIpv6: ProbeGet = (url, bounds) => (url.includes('[::1]') ? probeGet(url, bounds) : Promise.resolve(null));

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
  return { ollama: port, llamacpp: port, lmstudio: port, vllm: port };
}

/** Hand-made from the documented shapes. */
const genuine: readonly {
  name: string;
  answers: Record<string, unknown>;
  type: LocalServerType;
  models: string[];
  note: RegExp | null;
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
];

describe('local servers are recognised by two facts', () => {
  for (const { name, answers, type, models, note } of genuine) {
    test(name, async () => {
      const { port, asked } = await serve(replay(answers));
      const found = await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port) });
      assert.deepEqual(
        found.map((server) => server.type),
        [type],
      );
      assert.equal(found[0]?.url, `http://127.0.0.1:${port}/v1`);
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
    'an owner named vllm alone': { '/v1/models': { data: [vllmRow] } },
    'a list of vLLM and others': {
      '/v1/models': { data: [vllmRow, { id: 'n', owned_by: 'me' }] },
      '/version': { version: '1' },
    },
  };
  for (const [name, answers] of Object.entries(nearMisses)) {
    test(`not enough: ${name}`, async () => {
      const { port } = await serve(replay(answers));
      assert.deepEqual(await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port) }), []);
    });
  }

  test('a server on [::1] alone is found there', async (context) => {
    const port = await serve(replay(genuine[0]!.answers), '::1').then(
      (served) => served.port,
      () => null,
    );
    if (port === null) return context.diagnostic('no IPv6 loopback on this machine');
    const [found] = await probeLocalServers({ probeGet: onIpv6, ports: everywhere(port) });
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
      const startedMs = performance.now();
      assert.deepEqual(await probeLocalServers({ probeGet: onIpv4, ports: everywhere(port) }), []);
      assert.equal(strayed, 0, 'the probe followed a redirect');
      assert.equal(performance.now() - startedMs < 2_000, true, 'the probes did not run side by side');
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

test('nothing on any port: an empty finding, whatever the probe throws', async () => {
  assert.deepEqual(await probeLocalServers({ probeGet: () => Promise.reject(new Error('boom')) }), []);
});
