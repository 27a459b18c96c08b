import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

/* Usage in vendors' own forms (docs of Groq and xAI): the record counts it, whichever form the caller uses. */

const answer = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' };
const delta = (content: string, finish: string | null) => ({
  ...answer,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish }],
});
const thought = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 45,
  completion_tokens_details: { reasoning_tokens: 30 },
};
const plain = { prompt_tokens: 10, completion_tokens: 35, total_tokens: 45 };

const onlyThought = { ...thought, completion_tokens: 0, completion_tokens_details: { reasoning_tokens: 35 } };

/** Per vendor: what ends its streams, and the usage of its whole answers. */
const vendors = {
  groq: { last: { ...delta('', 'stop'), x_groq: { id: 'req_1', usage: plain } }, whole: plain },
  xai: { last: { ...delta('', 'stop'), usage: thought }, whole: thought },
  together: { last: { ...delta('', 'stop'), usage: onlyThought }, whole: onlyThought },
} as const;
type Vendor = keyof typeof vendors;

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const vendor = vendors[request.url!.split('/')[1] as Vendor];
    if (!(JSON.parse(body || '{}') as { stream?: boolean }).stream) {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ ...answer, choices, usage: vendor.whole }));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frames = [delta('Hi', null), vendor.last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    response.end(`${frames.join('')}data: [DONE]\n\n`);
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const gateway = await startGateway(
  { after: after as never },
  {
    providers: Object.fromEntries(
      Object.keys(vendors).map((type) => [type, { type, base_url: `${url}/${type}/v1`, api_key: 'k' }]),
    ),
    models: Object.fromEntries(Object.keys(vendors).map((type) => [type, { targets: [`${type}/m`] }])),
  },
);

for (const vendor of Object.keys(vendors) as Vendor[]) {
  for (const path of ['/v1/chat/completions', '/v1/messages']) {
    for (const stream of [false, true]) {
      test(`${vendor} asked by ${path}, ${stream ? 'streamed' : 'whole'}: 10 tokens in, 35 out`, async () => {
        const messages = [{ role: 'user', content: 'Hello' }];
        const response = await gateway.fetch(path, { json: { model: vendor, max_tokens: 64, stream, messages } });
        const text = await response.text();
        assert.equal(response.status, 200, text);
        // The thoughts, which its answer counts apart, are not told as the answer's, too.
        if (vendor === 'together') assert.doesNotMatch(text, /"completion_tokens":[1-9]/);
        const id = response.headers.get('x-culvert-request-id');
        const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
          usage: { input_tokens: number; output_tokens: number };
        };
        assert.deepEqual([record.usage.input_tokens, record.usage.output_tokens], [10, 35], text);
      });
    }
  }
}
