import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listening } from '../listening.ts';
import { wavOf } from '../scripted-transcriber.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { startGatewayProcess } from './gateway-process.ts';

/* The gateway is a process of its own: one that hangs shall not hang the test, too. */

const signal = () => AbortSignal.timeout(30_000);

test('F25 a credential like a placeholder of a hundred words is read at once', async (t) => {
  const { url } = await startGatewayProcess(t, {});
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
  for (const api_key of [`your_${'a_'.repeat(100)}!!`, `your_${'a_'.repeat(100)}key`]) {
    const body = JSON.stringify({ name: 'one', type: 'openai', api_key });
    const answer = await fetch(`${url}/admin/v1/providers`, { method: 'POST', headers, body, signal: signal() });
    const text = await answer.text();
    assert.equal(answer.status, api_key.endsWith('!!') ? 201 : 400, text);
    if (answer.status === 400) assert.match(text, /placeholder of an example/);
  }
});

test('F25 an engine that answers a transcription with blanks without end holds nobody up', async (t) => {
  const engine = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ text: `one\n\n two${' '.repeat(1_000_000)}three\n` }));
    });
  });
  const { url } = await startGatewayProcess(t, {
    providers: { engine: { type: 'whispercpp', base_url: await listening(t, engine) } },
    models: { hears: { type: 'transcription', targets: ['engine/whisper'] } },
  });
  const body = new FormData();
  body.append('model', 'hears');
  body.append('file', new Blob([new Uint8Array(wavOf(0.1))]), 'a.wav');
  const headers = { authorization: `Bearer ${testKey}` };
  const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', headers, body, signal: signal() });
  assert.deepEqual(await answer.json(), { text: `one two${' '.repeat(1_000_000)}three` });
});

test('F25 a page with a name of a megabyte, or with as many blanks, is read as any other', async (t) => {
  const prose = `<p>${'The quick brown fox jumps over the lazy dog, and sleeps for a while in the sun. '.repeat(60)}</p>`;
  const pages: Readonly<Record<string, string>> = {
    '/name': `<body><div class="sidebar teaser-list ${'a'.repeat(1_000_000)}">${prose}</div>${prose}</body>`,
    '/blanks': `<body><article>${prose}<pre>a${' '.repeat(1_000_000)}b</pre></article></body>`,
  };
  const site = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(pages[request.url!] ?? '');
  });
  const address = await listening(t, site);
  const { url } = await startGatewayProcess(t, { fetch: { allow_private: [new URL(address).host] } });
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  for (const path of Object.keys(pages)) {
    const body = JSON.stringify({ url: address + path });
    const answer = await fetch(`${url}/v1/tools/scrape`, { method: 'POST', headers, body, signal: signal() });
    const text = await answer.text();
    assert.equal(answer.status, 200, text.slice(0, 300));
    assert.ok(!/"warnings?":/.test(text) && text.includes('The quick brown fox'), text.slice(0, 300));
  }
});
