import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/** The entry for the public board, read and driven as its harness does: its format is in deploy/bench/README.md. */
const folder = new URL('../../deploy/bench/culvert/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
const definition = JSON.parse(read('definition.json'));
const formats = ['openai', 'openai-responses', 'anthropic', 'gemini', 'cohere', 'bedrock'] as const;
type Format = (typeof formats)[number];

/** The least answer of each format, by what its path ends with. */
const usage = { input_tokens: 10, output_tokens: 2 };
const answers: Record<Format, { path: RegExp; body: unknown }> = {
  openai: {
    path: /\/chat\/completions$/,
    body: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'mock',
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
    },
  },
  'openai-responses': {
    path: /\/responses$/,
    body: {
      id: 'resp_x',
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'mock',
      output: [
        {
          type: 'message',
          id: 'msg_x',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'ok', annotations: [] }],
        },
      ],
      usage: { ...usage, total_tokens: 12 },
    },
  },
  anthropic: {
    path: /\/messages$/,
    body: {
      id: 'msg_x',
      type: 'message',
      role: 'assistant',
      model: 'mock',
      content: [{ type: 'text', text: 'ok' }],
      stop_reason: 'end_turn',
      usage,
    },
  },
  gemini: {
    path: /enerateContent$/,
    body: {
      candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
    },
  },
  cohere: {
    path: /\/v2\/chat$/,
    body: {
      id: 'x',
      finish_reason: 'COMPLETE',
      message: { role: 'assistant', content: [{ type: 'text', text: 'ok' }] },
      usage: { tokens: usage },
    },
  },
  bedrock: {
    path: /\/converse$/,
    body: {
      output: { message: { role: 'assistant', content: [{ text: 'ok' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 },
    },
  },
};

/** Paths, bodies and headers with which the harness asks in each format. */
const callers: Record<Format, (model: string) => { path: string; body: unknown; header: [string, string] }> = {
  openai: (model) => ({
    path: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 16 },
    header: ['authorization', `Bearer ${definition.auth}`],
  }),
  'openai-responses': (model) => ({
    path: '/v1/responses',
    body: { model, input: 'hello' },
    header: ['authorization', `Bearer ${definition.auth}`],
  }),
  anthropic: (model) => ({
    path: '/v1/messages',
    body: { model, max_tokens: 64, messages: [{ role: 'user', content: 'hello' }] },
    header: ['x-api-key', definition.auth],
  }),
  gemini: (model) => ({
    path: `/v1beta/models/${model}:generateContent`,
    body: { contents: [{ parts: [{ text: 'hello' }] }] },
    header: ['x-goog-api-key', definition.auth],
  }),
  cohere: (model) => ({
    path: '/v2/chat',
    body: { model, messages: [{ role: 'user', content: 'hello' }] },
    header: ['authorization', `Bearer ${definition.auth}`],
  }),
  bedrock: (model) => ({
    path: `/model/${model}/converse`,
    body: { messages: [{ role: 'user', content: [{ text: 'hello' }] }] },
    header: ['authorization', `Bearer ${definition.auth}`],
  }),
};

const mock = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://mock');
  const format = formats.find((name) => answers[name].path.test(decodeURIComponent(pathname)));
  if (format !== undefined) asked.push(format);
  response.setHeader('content-type', 'application/json');
  request
    .resume()
    .on('end', () => response.end(JSON.stringify(format === undefined ? { data: [] } : answers[format].body)));
});
/** Formats in which the mock was asked. */
const asked: Format[] = [];
const file = { after } as TestContext;
const mockPort = new URL(await listening(file, mock)).port;
const gateway = await startGateway(file, parse(rendered(read(definition.config_files[0].template))));

for (const [row, from] of formats.entries())
  test(`the board's row ${from} is as declared`, async () => {
    for (const [column, to] of formats.entries()) {
      const caller = callers[from](definition.egress_models[to]);
      assert.equal(definition.matrix[row][column], '1', `${from} to ${to}`);
      asked.length = 0;
      const response = await fetch(gateway.url + caller.path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', [caller.header[0]]: caller.header[1] },
        body: JSON.stringify(caller.body),
      });
      const text = await response.text();
      assert.equal(response.status, 200, `${from} to ${to}: ${text}`);
      assert.match(text, /"ok"/, `${from} to ${to}`);
      assert.deepEqual(asked, [to], `${from} to ${to}`);
    }
  });

test('the definition has what the harness demands, and each setting its reason', () => {
  for (const field of ['name', 'display', 'repo', 'path', 'model', 'auth', 'lang', 'class'])
    assert.match(definition[field], /^[^$]+$/, field);
  assert.deepEqual(definition.config, []);
  assert.deepEqual([definition.runtime.kind, definition.launch.kind], ['docker', 'docker']);
  assert.equal(definition.launch.mounts[0].host_path, definition.config_files[0].output);

  const reasons = [...read('why').matchAll(/^([^#\s]+)\s+(\S+)/gm)];
  for (const [, setting, reason] of reasons) assert.match(reason ?? '', /^(boot|upstream|ingress|bind)$/, setting);
  const claimed = reasons.map(([, setting = '']) => new RegExp(`^${setting.replace('*', '.*')}$`));
  const text = rendered(read(definition.config_files[0].template)) + rendered(read('env')).replaceAll('=', ':');
  const settings = [...text.matchAll(/^[ -]*([^#\s:]+):/gm)].map(([, name = '']) => name);
  const unclaimed = settings.filter((name) => !claimed.some((claim) => claim.test(name)));
  assert.deepEqual(unclaimed, []);
  for (const claim of claimed)
    assert.ok(
      settings.some((name) => claim.test(name)),
      `nothing is ${claim}`,
    );
});

/** Names in braces are the harness's, and doubled braces are braces. */
function rendered(template: string): string {
  const values: Record<string, string> = {
    MOCK_PORT: mockPort,
    GW_PORT: String(definition.port),
    GW_MODEL: definition.model,
    GW_AUTH: definition.auth,
  };
  return template.replace(/\{\{|\}\}|\{(\w+)\}/g, (whole, name: string | undefined) => {
    if (name === undefined) return whole[0] ?? '';
    const value = values[name];
    assert.ok(value !== undefined, `the harness does not supply ${name}`);
    return value;
  });
}
