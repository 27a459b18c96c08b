import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBareServer } from '../../../test/contract/bare-server.ts';
import { sendWhole } from '../../inference/spine/sink.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { Route } from '../exchange.ts';
import { mcpRoutes } from './mcp.ts';
import { toolErrors } from './tools/tool-errors.ts';

/** A server of `/mcp` behind which `scrape` is handled so. */
async function startMcp(t: TestContext, handle: Route['handle']) {
  const errors: [unknown, string][] = [];
  let released = 0;
  const scrape: Route = {
    method: 'POST',
    path: '/v1/tools/scrape',
    auth: 'key',
    quota: 'one',
    endpoint: 'scrape',
    summary: '',
    dialect: toolErrors,
    handle,
  };
  const mcp = mcpRoutes({
    routes: () => [scrape],
    services: {
      admission: {
        admit: () => ({ kind: 'admitted', headers: [], calls: [], form: 'openai', release: () => released++ }),
        reserve: () => Promise.reject(new Error('no reservations here')),
        left: async () => null,
      },
      clock: systemClock,
      snapshots: { current: { steps: null, config: {} as never } },
    },
    version: '0.0.0-test',
    sharing: null,
    upstream: {
      none: true,
      has: () => false,
      barred: () => null,
      instructions: async () => [],
      complete: () => Promise.reject(new Error('no other servers here')),
      lists: () => Promise.reject(new Error('no other servers here')),
      prepare: () => Promise.reject(new Error('no other servers here')),
    },
    onUnexpected: (error, requestId) => errors.push([error, requestId]),
  });
  const server = await startBareServer(t, { routes: mcp });
  const params = { name: 'scrape', arguments: { url: 'https://example.org' } };
  const scraped = () =>
    fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'one', method: 'tools/call', params }),
    });
  return { server, errors, scraped, released: () => released };
}

test('a fault of ours behind a tool is told to the log, and to the assistant without what it was', async (t) => {
  const fault = () => Promise.reject(new Error('a secret of ours'));
  const { server, errors, scraped, released } = await startMcp(t, fault);
  const response = await scraped();
  assert.equal(response.status, 200);
  const text = await response.text();
  const { id, result } = JSON.parse(text) as { id: string; result: { isError: boolean; content: { text: string }[] } };
  assert.equal(id, 'one');
  assert.equal(result.isError, true);
  assert.match(result.content[0]!.text, /Something went wrong inside Culvert/);
  assert.doesNotMatch(text, /secret of ours/);
  assert.equal(released(), 1);
  assert.deepEqual(errors, [[new Error('a secret of ours'), response.headers.get('x-culvert-request-id')]]);
  assert.deepEqual(server.unexpected, []);
});

test('a screenshot is an image for the assistant, beside the markdown, and stands nowhere else', async (t) => {
  const data = { markdown: '# Words', screenshot: 'data:image/png;base64,iVBORw==', metadata: { statusCode: 200 } };
  const { scraped } = await startMcp(t, ({ client }) => {
    sendWhole(client, [], JSON.stringify({ success: true, data }));
  });
  const { result } = (await (await scraped()).json()) as { result: unknown };
  assert.deepEqual(result, {
    content: [
      { type: 'text', text: '# Words' },
      { type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
    ],
    structuredContent: { success: true, data: { markdown: '# Words', metadata: { statusCode: 200 } } },
  });
});
