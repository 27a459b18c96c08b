import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { AzureKeyCredential } from '@azure/core-auth';
import createModelClient, { isUnexpected } from '@azure-rest/ai-inference';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Embeddings of pictures by Azure AI's inference client, over a resource that has such a model. */

interface Sent {
  url: string;
  key: string | undefined;
  body: unknown;
}
const sent: Sent[] = [];
const upstream = createServer(async (request, response) => {
  if (request.method === 'GET') return void response.writeHead(404).end();
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { input?: unknown[]; model: string };
  sent.push({ url: request.url!, key: request.headers['api-key'] as string | undefined, body });
  // As the published format has it.
  const data = (body.input ?? []).map((_, index) => ({ index, object: 'embedding', embedding: [index, 0.5] }));
  const answer = { id: 'e1', object: 'list', model: body.model, data, usage: { prompt_tokens: 7, total_tokens: 7 } };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
});
const base_url = await listening({ after }, upstream);
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      azure: { type: 'azure-openai', base_url, api_key: 'k' },
      claude: { type: 'anthropic', base_url, api_key: 'k' },
    },
    models: {
      see: { type: 'embedding', targets: ['azure/cohere-embed-v4'] },
      talk: { targets: ['claude/claude-x'] },
    },
  },
);
const foundry = createModelClient(`${gateway.url}/models`, new AzureKeyCredential(gateway.key), {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
});
const image = `data:image/png;base64,${Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')}`;

test('pictures become vectors, and the request is in the ledger', async () => {
  const input = [{ image, text: 'a cat' }, { image }];
  const answer = await foundry.path('/images/embeddings').post({ body: { model: 'see', input, dimensions: 2 } });
  assert.ok(!isUnexpected(answer), JSON.stringify(answer.body));
  assert.deepEqual(
    answer.body.data.map(({ embedding }) => embedding),
    [
      [0, 0.5],
      [1, 0.5],
    ],
  );
  const [{ url, key, body }] = sent.slice(-1) as [Sent];
  assert.match(url, /^\/models\/images\/embeddings\?api-version=/);
  assert.deepEqual([key, body], ['k', { model: 'cohere-embed-v4', input, dimensions: 2 }]);
  const id = answer.headers['x-culvert-request-id' as keyof typeof answer.headers];
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    endpoint: string;
    usage: { input_tokens: number };
  };
  assert.deepEqual([record.endpoint, record.usage.input_tokens], ['image-embeddings', 7]);
});

test('a model whose provider has no such endpoint is refused, as is an unknown one', async () => {
  const input = [{ image }];
  for (const [model, status] of [
    ['talk', '400'],
    ['nobody', '404'],
  ]) {
    const answer = await foundry.path('/images/embeddings').post({ body: { model: model!, input } });
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.ok(isUnexpected(answer) && answer.body.error.message.includes(model!));
  }
});
