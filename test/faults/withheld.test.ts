import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { callerIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { startGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';

const blocked = {
  responseId: 'r',
  usageMetadata: { trafficType: 'ON_DEMAND' },
  promptFeedback: { blockReason: 'SAFETY' },
};

test('F69 words of ours for an answer that was withheld are nobody’s tokens', async (t) => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const streams = request.url!.includes('streamGenerateContent');
      const body = JSON.stringify(blocked);
      response
        .writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' })
        .end(streams ? `data: ${body}\r\n\r\n` : body);
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1beta`;
  const gateway = await startGateway(t, {
    providers: { google: { type: 'gemini', base_url: url, api_key: 'x' } },
    models: { chat: { targets: ['google/g'] } },
  });
  for (const caller of callerIds) {
    const format = callerFormats[caller];
    for (const delivery of ['whole', 'stream'] as const) {
      const json = format.body('chat', { say: 'Hello', maxTokens: 64 }, delivery);
      const response = await gateway.fetch(format.path('chat', delivery), { json });
      const said = await response.text();
      assert.equal(response.status, 200, said);
      if (caller !== 'gemini') assert.match(said, /The provider blocked the prompt \(SAFETY\)/);
      assert.equal((await explained(gateway, response)).usage.output_tokens, 0, `${caller} ${delivery}`);
    }
  }
});
