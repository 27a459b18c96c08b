import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import OpenAI from 'openai';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';

/* Responses that their provider keeps, asked for by their ids. */

test('a response that its provider keeps is read, listed and deleted there, by its own key alone', async (t) => {
  const asked: string[] = [];
  const response = { id: 'resp_there', object: 'response', created_at: 1, model: 'm', status: 'completed' };
  const message = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
  };
  const whole = { ...response, output: [{ id: 'msg_1', status: 'completed', ...message }] };
  let status = 200;
  const server = createServer((request, answer) => {
    request.resume();
    if (request.url?.startsWith('/v1/responses/')) asked.push(`${request.method} ${request.url}`);
    answer.writeHead(status, { 'content-type': 'application/json' });
    const items = { object: 'list', data: [{ id: 'item_1', type: 'message' }], has_more: false };
    const deleted = { id: 'resp_there', object: 'response', deleted: true };
    const body = request.method === 'DELETE' ? deleted : request.url?.includes('input_items') ? items : whole;
    answer.end(JSON.stringify(status === 200 ? body : { error: { message: 'no' } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const gateway = await startGateway(t, {
    providers: { native: { type: 'openai', base_url: base, api_key: 'k', dialects: ['openai-responses'] } },
    models: { native: { targets: ['native/m'] } },
  });
  const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  const [client, stranger] = [clientOf(testKey), clientOf(otherKey)];

  const { id } = await client.responses.create({ model: 'native', input: 'Hi' });
  assert.equal((await client.responses.retrieve(id, { include: ['reasoning.encrypted_content'] })).output_text, 'Hi');
  assert.equal((await client.responses.inputItems.list(id, { limit: 5 })).data[0]!.id, 'item_1');
  for (const refused of [stranger.responses.retrieve(id), stranger.responses.delete(id)])
    await assert.rejects(refused, { status: 404 });
  await client.responses.delete(id);
  assert.deepEqual(asked, [
    `GET /v1/responses/${id}?include%5B%5D=reasoning.encrypted_content`,
    `GET /v1/responses/${id}/input_items?limit=5`,
    `DELETE /v1/responses/${id}`,
  ]);
  status = 404;
  await assert.rejects(client.responses.retrieve(id), { status: 404 });
  status = 500;
  await assert.rejects(client.responses.retrieve(id), { status: 503 });
});
