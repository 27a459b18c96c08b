import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

const answer = {
  ...{ id: 'c1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** Words of Groq, xAI and Ollama. */
const refusals = [
  '`reasoning_effort` is not supported with this model',
  'Model grok-4 does not support parameter reasoningEffort.',
  '"llama3.2:latest" does not support thinking',
];

test('a model that refuses to be told how long to think is asked without, and then at once', async (t) => {
  const sent: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      if (request.method === 'GET') return response.end('{"data":[]}');
      const { model, reasoning_effort: effort } = JSON.parse(text) as JsonObject & { model: string };
      sent.push(effort as string | undefined);
      const message = refusals[Number(model)];
      const refuses = message === undefined ? effort === 'none' : effort !== undefined;
      response.statusCode = refuses ? 400 : 200;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(refuses ? { error: { message: message ?? "reasoning_effort: 'none'" } } : answer));
    });
  });
  const url = await listening(t, server);
  const gateway = await startGateway(t, {
    providers: {
      vllm: { type: 'vllm', base_url: `${url}/v1` },
      openai: { type: 'openai', base_url: `${url}/v1`, api_key: 'k' },
    },
    models: Object.fromEntries(
      ['0', '1', '2', 'o3', 'gpt-4o'].map((model) => [
        model,
        { targets: [{ provider: model.startsWith('gpt') ? 'openai' : 'vllm', model }] },
      ]),
    ),
  });
  async function ask(model: string, type: string, path = '/v1/messages') {
    sent.length = 0;
    const messages = [{ role: 'user', content: 'x' }];
    const json =
      path === '/v1/messages'
        ? { model, max_tokens: 9, thinking: { type }, messages }
        : { model, messages, reasoning_effort: type };
    const { status, headers } = await gateway.fetch(path, { json });
    return [status, headers.get('x-culvert-dropped'), ...sent];
  }
  for (const model of ['0', '1', '2']) {
    assert.deepEqual(await ask(model, 'adaptive'), [200, 'thinking', 'medium', undefined], refusals[Number(model)]);
    assert.deepEqual(await ask(model, 'adaptive'), [200, 'thinking', undefined]);
    // OpenAI's own format says exactly this.
    assert.deepEqual(await ask(model, 'low', '/v1/chat/completions'), [400, null, 'low']);
  }
  // Claude Code asks for titles without thoughts: open models think unless they are told not to.
  assert.deepEqual(await ask('o3', 'adaptive'), [200, null, 'medium']);
  assert.deepEqual(await ask('o3', 'disabled'), [200, null, 'none', undefined]);
  assert.deepEqual(await ask('o3', 'disabled'), [200, null, undefined]);
  assert.deepEqual(await ask('o3', 'adaptive'), [200, null, 'medium']);
  assert.deepEqual(await ask('gpt-4o', 'disabled'), [200, null, undefined]);
});
