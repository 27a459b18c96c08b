import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerTypes } from './catalog.ts';
import { encodeUpstream } from './encode.ts';
import { createConnection } from './provider-connection.ts';

function connect(type: string, baseUrl: string | null) {
  const provider = providerTypes.get(type)!;
  const made = createConnection({ name: 'p', provider, baseUrl, secrets: ['k'], headers: {}, apiVersion: null });
  assert.ok(made.ok);
  return made.connection;
}

const pathsOf = (type: string, baseUrl: string | null) => Object.fromEntries(connect(type, baseUrl).forwardPaths);

test('each service’s endpoints stand where its documentation says', () => {
  assert.deepEqual(pathsOf('openai', null), {
    completions: '/v1/completions',
    fim: '/v1/completions',
    decisions: '/v1/decisions',
    moderations: '/v1/moderations',
  });
  assert.deepEqual(pathsOf('cohere', null), { rerank: '/v2/rerank' });
  assert.deepEqual(pathsOf('jina', null), { rerank: '/v1/rerank' });
  assert.deepEqual(pathsOf('jina', 'https://api.jina.ai/v1/rerank'), { rerank: '/v1/rerank' });
  assert.deepEqual(pathsOf('deepseek', 'https://api.deepseek.com/v1'), {
    completions: '/beta/completions',
    fim: '/beta/completions',
  });
  assert.deepEqual(pathsOf('openrouter', null), {
    completions: '/api/v1/completions',
    rerank: '/api/v1/rerank',
    fim: '/api/v1/completions',
  });
  assert.deepEqual(pathsOf('dashscope', null), { rerank: '/compatible-api/v1/reranks' });
  const china = 'https://dashscope.aliyuncs.com/compatible-mode/v1';
  assert.deepEqual(pathsOf('dashscope', china), { rerank: '/compatible-api/v1/reranks' });
  assert.deepEqual(pathsOf('anthropic', null), {});
});

test('a server of OpenAI’s format at another address is taken to rerank too', () => {
  assert.equal(pathsOf('openai', 'http://gpu-box:7997').rerank, '/rerank');
  assert.equal(pathsOf('openai', 'https://api.openai.com/v1').rerank, undefined);
});

test('an endpoint has its own path and the credential of its provider', () => {
  const call = { credential: 'p#0', model: 'm', answer: 'whole', callerHeaders: {} } as const;
  const address = encodeUpstream(connect('cohere', null), { ...call, endpoint: 'rerank' });
  assert.equal(address.origin + address.path, 'https://api.cohere.com/v2/rerank');
  assert.ok(address.headers.includes('Bearer k'));
  assert.throws(() => encodeUpstream(connect('cohere', null), { ...call, endpoint: 'moderations' }), /does not serve/);
});
