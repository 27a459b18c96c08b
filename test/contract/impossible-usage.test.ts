import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Providers that count wrong: no caller pays for it, and the books stay whole. */

/** The provider's next counts, as it writes them, in place of every count. */
let told = '0';
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (bytes) => (body += String(bytes)));
  request.on('end', () => {
    const isStream = body.includes('"stream":true');
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
    response.end((isStream ? streamOfZeros : answerAt(request.url!)).replaceAll('"TOLD"', told));
  });
});
const base = await listening({ after }, server);

const chunk = '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m"';
const streamOfZeros = `data: ${chunk},"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}

data: ${chunk},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: ${chunk},"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}

data: [DONE]

`;

function answerAt(url: string): string {
  if (url.includes('/embeddings'))
    return '{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":"TOLD","total_tokens":"TOLD"}}';
  if (url.includes('/messages'))
    return '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":"TOLD","output_tokens":"TOLD"}}';
  if (url.includes('/responses'))
    return '{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello","annotations":[]}]}],"usage":{"input_tokens":"TOLD","output_tokens":"TOLD","total_tokens":"TOLD"}}';
  if (url.includes(':generateContent'))
    return '{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"TOLD","candidatesTokenCount":"TOLD","totalTokenCount":"TOLD"}}';
  return '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":"TOLD","completion_tokens":"TOLD","total_tokens":"TOLD"}}';
}

const provider = (type: string, path = '/v1') => ({ type, base_url: base + path, api_key: 'k' });
const target = (name: string) => [{ provider: name, model: 'm', stream: false, price: { input: 1, output: 1 } }];
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      chat: provider('openai'),
      responses: { ...provider('openai'), dialects: ['openai-responses'] },
      claude: provider('anthropic'),
      google: provider('gemini', ''),
    },
    models: {
      chat: { targets: target('chat') },
      streamed: { targets: [{ provider: 'chat', model: 'm', price: { input: 1, output: 1 } }] },
      responses: { targets: target('responses') },
      claude: { targets: target('claude') },
      google: { targets: target('google') },
      embed: { type: 'embedding', targets: target('chat') },
    },
    plans: { default: { windows: 'off', rpm: 'off', tokens: { month: 1_000_000 }, budget: { month: 1 } } },
  },
);

interface Kept {
  usage: { input_tokens: number; output_tokens: number; source: string };
}

const messages = [{ role: 'user', content: 'Hi' }];
const asked: [alias: string, path: string, body: object][] = [
  ['chat', '/v1/chat/completions', { messages }],
  ['responses', '/v1/responses', { input: 'Hi' }],
  ['claude', '/v1/messages', { messages, max_tokens: 9 }],
  ['google', '/v1beta/models/google:generateContent', { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }],
  ['responses', '/v1/chat/completions', { messages }],
  ['claude', '/v1/chat/completions', { messages }],
  ['google', '/v1/chat/completions', { messages }],
  ['embed', '/v1/embeddings', { input: 'Hi' }],
];

for (const [alias, path, body] of asked) {
  test(`§11 ${path} over ${alias}: counts that nobody can have used are not believed, and ours stand in the books`, async () => {
    for (told of ['0', '1e15', '9007199254740993', '1e300', '-5', '2.5', 'NaN', 'null', '"7"']) {
      const response = await gateway.fetch(path, {
        json: path.startsWith('/v1beta') ? body : { model: alias, ...body },
      });
      assert.equal(response.status, 200, `${told}: ${await response.clone().text()}`);
      await response.text();
      const record = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
      const { usage } = (await record.json()) as Kept;
      assert.equal(usage.source, 'counted', told);
      assert.ok(usage.input_tokens > 0 && usage.input_tokens < 100 && usage.output_tokens < 100, told);
    }
  });
}

test('§11 zeros for a streamed answer are counts of nobody, whoever asks: ours count and cost', async () => {
  for (const [path, body] of [
    ['/v1/chat/completions', { messages }],
    ['/v1/messages', { messages, max_tokens: 9 }],
  ] as const) {
    const response = await gateway.fetch(path, { json: { model: 'streamed', stream: true, ...body } });
    assert.match(await response.text(), /Hello/);
    const record = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
    const { usage, cost_usd } = (await record.json()) as Kept & { cost_usd: number };
    assert.equal(usage.source, 'counted');
    assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0 && cost_usd > 0, path);
  }
});
