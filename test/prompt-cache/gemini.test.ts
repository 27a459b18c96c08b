import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';

/* A cache that a caller made at Google itself: the request names it, and nothing of that is changed. */

const bodies: string[] = [];
const usageMetadata = {
  promptTokenCount: 5_000,
  cachedContentTokenCount: 4_000,
  candidatesTokenCount: 10,
  totalTokenCount: 5_010,
};
const candidates = [{ index: 0, content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }];
const google = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.method !== 'POST') return void response.writeHead(404).end();
  bodies.push(body);
  const answer = JSON.stringify({ candidates, usageMetadata, modelVersion: 'gemini-2.5-pro' });
  const isStream = request.url?.includes('streamGenerateContent') === true;
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  response.end(isStream ? `data: ${answer}\n\n` : answer);
});
const url = await listening({ after } as TestContext, google);
const price = { input: 1_000, output: 2_000, cached_input: 100 };
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    google: { type: 'gemini', base_url: `${url}/v1beta`, api_key: 'k', shared_objects: ['cachedContents/manual'] },
  },
  models: { gem: { prompt_cache: 'auto', targets: [{ provider: 'google', model: 'gemini-2.5-pro', price }] } },
});
beforeEach(() => bodies.splice(0));

const words = 'A page of the manual. '.repeat(800);

for (const [name, member] of Object.entries({ named: 'cachedContents/manual', 'in no cache': undefined })) {
  for (const stream of [false, true]) {
    test(`a prompt ${name} goes out as it came, and what Google read is shown and priced: ${stream}`, async () => {
      const contents = [{ role: 'user', parts: [{ text: member === undefined ? words : 'What is on page 2?' }] }];
      const json = { contents, ...(member !== undefined && { cachedContent: member }) };
      const path = `/v1beta/models/gem:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
      const response = await gateway.fetch(path, { json });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      // With `auto`, too: no explicit cache is made, and no mark is set.
      assert.deepEqual(
        bodies.map((body) => JSON.parse(body)),
        [json],
      );
      assert.ok(text.includes('"cachedContentTokenCount":4000'), text);
      const id = response.headers.get('x-culvert-request-id');
      interface Row {
        status: number;
        cost_usd: number;
        saved_usd: number;
        usage: { input_tokens: number; cached_input_tokens: number };
      }
      let row: Row | null = null;
      await until('the row is written', async () => {
        const found = await callAdmin<Row>(gateway, 'GET', `/requests/${id}`);
        row = found.status === 200 && found.body.status !== 0 ? found.body : null;
        return row !== null;
      });
      const { usage, cost_usd, saved_usd } = row as unknown as Row;
      assert.deepEqual([usage.input_tokens, usage.cached_input_tokens], [5_000, 4_000]);
      const nano = (usd: number) => Math.round(usd * 1e9);
      assert.equal(nano(cost_usd), nano((1_000 * 1_000 + 4_000 * 100 + 10 * 2_000) / 1e6));
      assert.equal(nano(saved_usd), nano((4_000 * 900) / 1e6));
    });
  }
}
