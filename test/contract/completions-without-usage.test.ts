import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';
import { dataLines } from './served.ts';

/* Providers of older text completions that report no usage: Culvert counts, for the books and for callers who ask. */

const words = 'one two three four five six seven eight';
const piece = (text: string, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'cmpl-1', object: 'text_completion', created: 1, model: 'm', choices: [{ index: 0, text, finish_reason }] })}\n\n`;

const upstream = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as { model?: string; stream?: boolean };
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' });
    const choices = [{ index: 0, text: words, finish_reason: 'stop' }];
    response.end(JSON.stringify({ id: 'cmpl-1', object: 'text_completion', created: 1, model: 'm', choices }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const word of words.split(' ')) response.write(piece(`${word} `));
  if (body.model === 'unsure') {
    const usage = { prompt_tokens: -1, completion_tokens: null, total_tokens: -1 };
    const last = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'm', usage };
    const choices = [{ index: 0, text: 'nine', finish_reason: 'stop' }];
    return response.end(`data: ${JSON.stringify({ ...last, choices })}\n\ndata: [DONE]\n\n`);
  }
  if (body.model === 'cut') setTimeout(() => response.destroy(), 50);
  else response.end(`${piece('', 'stop')}data: [DONE]\n\n`);
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => upstream.close());
const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: { plain: { type: 'openai', base_url, api_key: 'k' } },
    models: Object.fromEntries(['silent', 'cut', 'unsure'].map((name) => [name, { targets: [`plain/${name}`] }])),
  },
);
const prompt = 'Count from one to eight, in words, please.';

interface Row {
  usage: { source: string; input_tokens: number; output_tokens: number } | null;
}

async function assertCharged(response: Response): Promise<void> {
  const id = response.headers.get('x-culvert-request-id');
  const read = async () => (await gateway.fetch(`/v1/requests/${id}`)).json() as Promise<Partial<Row>>;
  await until('its row is written', async () => (await read()).usage != null);
  const { usage } = await read();
  assert.ok(usage!.source === 'counted' && usage!.input_tokens > 5 && usage!.output_tokens > 5, JSON.stringify(usage));
}

interface Usage {
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

function assertCounted({ usage }: Usage): void {
  assert.ok(usage !== undefined && usage.prompt_tokens > 5 && usage.completion_tokens > 5);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
}

test('a whole answer without usage gets the counts of the gateway', async () => {
  const response = await gateway.fetch('/v1/completions', { json: { model: 'silent', prompt } });
  assertCounted((await response.json()) as Usage);
  await assertCharged(response);
});

for (const path of ['/v1/completions', '/v1/fim/completions']) {
  test(`a stream without usage ends with the counts of the gateway where its caller wants them: ${path}`, async () => {
    const json = { model: 'silent', prompt, stream: true };
    const response = await gateway.fetch(path, { json: { ...json, stream_options: { include_usage: true } } });
    const lines = dataLines(await response.text());
    assert.equal(lines.at(-1), '[DONE]');
    assertCounted(JSON.parse(lines.at(-2)!) as Usage);
    const silent = dataLines(await (await gateway.fetch(path, { json })).text());
    assert.ok(!silent.join('').includes('prompt_tokens'));
    await assertCharged(response);
  });
}

test('counts that cannot be are replaced beside the last words, too', async () => {
  const json = { model: 'unsure', prompt, stream: true, stream_options: { include_usage: true } };
  const response = await gateway.fetch('/v1/completions', { json });
  const last = dataLines(await response.text()).find((line) => line.includes('nine'))!;
  assertCounted(JSON.parse(last) as Usage);
  await assertCharged(response);
});

test('a stream without usage that is cut is charged for its part', async () => {
  const json = { model: 'cut', prompt, stream: true };
  const response = await gateway.fetch('/v1/completions', { json });
  await response.text();
  await assertCharged(response);
});
