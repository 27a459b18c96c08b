import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { eventsOf } from '../conversion/responses-frames.ts';
import { packings } from '../packings.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { codexHeaders, codexTurn } from './codex-body.ts';

/* Codex's requests, and the parts of answers that it reads: finished items, the end, words of errors. */

const formats = {
  responses: { type: 'openai', dialects: ['openai-responses'], path: '/v1/responses' },
  chat: { type: 'openai', path: '/v1/chat/completions' },
  anthropic: { type: 'anthropic', path: '/v1/messages' },
} as const;

type Format = keyof typeof formats;

async function open(t: TestContext, format: Format): Promise<{ gateway: TestGateway; upstream: Upstream }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { path: _path, ...provider } = formats[format];
  const gateway = await startGateway(t, {
    providers: { up: { ...provider, base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['up/mock/ok'] } },
    plans: { default: { windows: { week: 20 }, rpm: 'off' } },
  });
  return { gateway, upstream };
}

/** As Codex reads a stream: the items, and its end. */
async function run(gateway: TestGateway, body: JsonObject): Promise<{ items: JsonObject[]; end: JsonObject | null }> {
  const answer = await gateway.fetch('/v1/responses', { json: body, headers: codexHeaders });
  assert.equal(answer.status, 200, await answer.clone().text());
  const events = eventsOf(await answer.text());
  return {
    items: events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item as JsonObject),
    end: events.at(-1) ?? null,
  };
}

for (const format of Object.keys(formats) as Format[]) {
  test(`codex: a turn with a shell call and a patch, and the next one (${format} upstream)`, async (t) => {
    const { gateway, upstream } = await open(t, format);
    const words = 'Please call shell and then call apply_patch';
    const first = await run(gateway, codexTurn(words));
    assert.equal(first.end?.type, 'response.completed');
    const calls = first.items.filter(({ type }) => type !== 'reasoning');
    assert.deepEqual(
      calls.map(({ type, name }) => [type, name]),
      [
        ['function_call', 'shell'],
        ['custom_tool_call', 'apply_patch'],
      ],
    );
    const [shell, patch] = calls as [JsonObject, JsonObject];
    assert.ok(Array.isArray((JSON.parse(shell.arguments as string) as JsonObject).command));
    assert.equal(patch.input, 'mock');
    const second = await run(
      gateway,
      codexTurn(words, [
        ...first.items,
        { type: 'function_call_output', call_id: shell.call_id!, output: '{"output":"a.txt","exit_code":0}' },
        { type: 'custom_tool_call_output', call_id: patch.call_id!, output: 'Done!' },
      ]),
    );
    assert.equal(second.end?.type, 'response.completed');
    const message = second.items.at(-1) as { type: string; content: [{ text: string }] };
    assert.match(message.content[0].text, /^Mock answer to: /);
    const sent = JSON.stringify(upstream.requests().at(-1)!.body);
    assert.equal(sent.includes('web_search'), format === 'responses', 'only its own provider gets its tools');
    assert.ok(sent.includes('Done!'));
  });

  test(`codex: a turn that was cut is sent again with its partial answer (${format} upstream)`, async (t) => {
    const { gateway, upstream } = await open(t, format);
    upstream.script(formats[format].path, ['chunks=20;eof=12events']);
    const cut = await run(gateway, codexTurn('Tell me something longer than that'));
    assert.equal(cut.end?.type, 'response.failed');
    const { response } = cut.end as { response: { error: JsonObject } };
    assert.equal(response.error.code, 'server_error');
    const partial = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Mock ans' }] };
    const again = await run(gateway, codexTurn('Tell me something longer than that', [partial]));
    assert.equal(again.end?.type, 'response.completed');
  });
}

for (const [encoding, pack] of Object.entries(packings)) {
  test(`codex: a turn that it packed as ${encoding}, as it does behind a login of OpenAI's, is read`, async (t) => {
    const { gateway, upstream } = await open(t, 'responses');
    const words = `Read this: ${'a long file of words '.repeat(2_000)}`;
    const packed = pack(JSON.stringify(codexTurn(words)));
    assert.ok(packed.length < 10_000);
    const headers = { ...codexHeaders, 'content-type': 'application/json', 'content-encoding': encoding };
    const answer = await gateway.fetch('/v1/responses', { method: 'POST', body: new Uint8Array(packed), headers });
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.equal(eventsOf(await answer.text()).at(-1)!.type, 'response.completed');
    const sent = upstream.requests().at(-1)!;
    assert.equal(sent.headers['content-encoding'], undefined);
    assert.ok(JSON.stringify(sent.body).includes(words));
  });
}

test('codex: a spent window has the code at which it stops and shows the message', async (t) => {
  const { gateway } = await open(t, 'chat');
  for (let i = 0; i < 20; i++) await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'x' } });
  const answer = await gateway.fetch('/v1/responses', { json: codexTurn('Hi'), headers: codexHeaders });
  assert.equal(answer.status, 429);
  assert.equal(answer.headers.get('retry-after'), null);
  const { error } = (await answer.json()) as { error: JsonObject };
  assert.equal(error.code, 'insufficient_quota');
});
