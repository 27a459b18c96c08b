import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { mp3Frames } from '../../src/simulator/media/sound-assets.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startService } from './start-service.ts';

/*
 * An answer that had come and that a guard refuses: its record says what its caller saw, and where nothing of it had gone
 * on, it costs nothing.
 */

const upstream = await startUpstream();
after(upstream.close);
const service = await startService(after);
service.play = ({ body }) => ({ verdict: body.includes('"output"') ? 'block' : 'pass' });
const site = createServer((_, response) => {
  response.setHeader('content-type', 'text/html').end('<h1>Page</h1><p>A forbidden zebrafish swims here.</p>');
});
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
after(() => site.close());
const { port } = site.address() as AddressInfo;

const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  guards: {
    fish: { check: 'words', words: ['zebrafish', 'Mock transcript'], action: 'block', on: ['output'] },
    far: { check: 'webhook', url: `${service.url}/check`, action: 'block', deadline: '5s', on: ['output'] },
  },
  server: { guards: ['fish'] },
  fetch: { allow_private: ['127.0.0.1/32'], ports: [port] },
  models: {
    says: { targets: [{ provider: 'openai', model: 'mock/text=zebrafish', price: { input: 1, output: 1 } }] },
    judged: { targets: ['openai/mock/text=Hello'], guards: ['far'] },
    kept: { targets: ['openai/mock/text=zebrafish,too'], cache: { ttl: '1h' } },
    hears: { type: 'transcription', targets: ['openai/mock/ok'] },
  },
});

async function recorded(response: Response) {
  const text = await response.text();
  const id = response.headers.get('x-culvert-request-id');
  let row: { status?: number; class?: string; units?: number } = {};
  await until('the record is written', async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const found = await fetch(`${gateway.url}/admin/v1/requests/${id}`, { headers });
    row = (await found.json()) as typeof row;
    return found.ok;
  });
  const { status, class: outcome, units } = row;
  return { text, row: { status, outcome, units }, cost: response.headers.get('x-culvert-cost') };
}

const refused = { status: 400, outcome: 'guard-blocked', units: 0 };

const requests: Readonly<Record<string, () => Promise<Response>>> = {
  'a completion': () => gateway.fetch('/v1/completions', { json: { model: 'says', prompt: 'Hi' } }),
  'a completion that a service judges': () =>
    gateway.fetch('/v1/completions', { json: { model: 'judged', prompt: 'Hi' } }),
  'a streamed completion that a service judges': () =>
    gateway.fetch('/v1/completions', { json: { model: 'judged', prompt: 'Hi', stream: true } }),
  'a completion that is kept': () => gateway.fetch('/v1/completions', { json: { model: 'kept', prompt: 'Hi' } }),
  'the same from the cache': () => gateway.fetch('/v1/completions', { json: { model: 'kept', prompt: 'Hi' } }),
  'a transcript': () => {
    const body = new FormData();
    body.append('model', 'hears');
    body.append('file', new Blob([mp3Frames]), 'a.mp3');
    return gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body });
  },
  'a page': () => gateway.fetch('/v1/tools/scrape', { json: { url: `http://127.0.0.1:${port}/` } }),
};

for (const [what, ask] of Object.entries(requests)) {
  test(`${what} that a guard refuses is free, and its record says so`, async () => {
    const response = await ask();
    assert.equal(response.status, 400);
    assert.equal(response.headers.get('x-culvert-cost-usd'), null);
    const { text, row, cost } = await recorded(response);
    assert.match(text, /guard_blocked/);
    assert.deepEqual([row, cost], [refused, '0'], text);
  });
}

test('a streamed completion that a guard ends is paid once, and its record names the guard', async () => {
  const json = { model: 'says', prompt: 'Hi', stream: true };
  const { text, row } = await recorded(await gateway.fetch('/v1/completions', { json }));
  assert.match(text, /guard_blocked/);
  assert.deepEqual(row, { status: 200, outcome: 'guard-blocked', units: 1 });
});
