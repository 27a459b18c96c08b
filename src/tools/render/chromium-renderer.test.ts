import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { chromiumMissing } from '../../../test/chromium.ts';
import type { FetchRules, ResolveAddresses } from '../../net/fetch-guard.ts';
import type { RenderOrder } from '../page-renderer.ts';
import { createChromiumRenderer } from './chromium-renderer.ts';

const nobody: ResolveAddresses = async () => Promise.reject(new Error('ENOTFOUND'));

interface World {
  rules?: Partial<FetchRules>;
  resolve?: ResolveAddresses;
  chromium?: string;
}

function open(t: TestContext, { rules, resolve = nobody, chromium }: World = {}) {
  const troubles: string[] = [];
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  const renderer = createChromiumRenderer({
    rules: () => ({ ports: [80, 443], allow_private: [], ...rules }),
    resolve,
    dataDir,
    chromium: () => chromium,
    userAgent: () => 'Culvert/0',
    nowMs: () => performance.now(),
    onTrouble: (message) => troubles.push(message),
  });
  t.after(async () => {
    await renderer.close();
    rmSync(dataDir, { recursive: true });
  });
  const render = (url: string, options: Partial<RenderOrder> = {}) =>
    renderer.render({
      tenant: 'a',
      url,
      headers: {},
      mobile: false,
      waitForMs: 0,
      screenshot: null,
      mayFollow: null,
      bytesMax: 100_000,
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      ...options,
    });
  return { renderer, render, troubles };
}

async function serve(t: TestContext, host: string, port: number, listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(port, host);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A program in Chromium's place. */
function inItsPlace(t: TestContext, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-chromium-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'chromium');
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

test('F27 a name that moves to a private address after the page has come is not followed there', {
  skip: chromiumMissing || (process.platform === 'linux' ? false : 'needs all of 127.0.0.0/8'),
}, async (t) => {
  const requests: string[] = [];
  // The crowded address chooses the port, which is free at the other one.
  const port = await serve(t, '127.0.0.1', 0, (request, response) => {
    requests.push(request.url!);
    response.end('secret');
  });
  await serve(t, '127.0.0.2', port, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<title>came</title><script>
      fetch('/secret').then(() => 'came', () => 'refused').then((end) => document.body.textContent = end);
    </script>`);
  });
  let lookups = 0;
  const resolve: ResolveAddresses = async () => [{ address: `127.0.0.${++lookups <= 2 ? 2 : 1}`, family: 4 }];
  const { render } = open(t, { rules: { ports: [port], allow_private: ['127.0.0.2/32'] }, resolve });
  const rendered = await render(`http://rebind.example:${port}/`);
  assert.ok(rendered.ok, JSON.stringify(rendered));
  assert.match(rendered.body.toString(), /<title>came<\/title>.*<body>refused<\/body>/s);
  assert.ok(lookups > 2, 'once before it, once for the page, once for its script');
  assert.deepEqual(requests, []);
});

test('S17 no datagram leaves past the proxy, whichever window WebRTC is taken from', {
  skip: chromiumMissing,
}, async (t) => {
  let datagrams = 0;
  const udp = createSocket('udp4').on('message', () => datagrams++);
  udp.bind(0, '127.0.0.1');
  await once(udp, 'listening');
  t.after(() => udp.close());
  const port = await serve(t, '127.0.0.1', 0, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<body><script>
      const frame = document.createElement('iframe');
      document.body.append(frame);
      const Peer = globalThis.RTCPeerConnection ?? frame.contentWindow.RTCPeerConnection;
      if (Peer !== undefined) {
        const peer = new Peer({ iceServers: [{ urls: 'stun:127.0.0.1:${udp.address().port}' }] });
        peer.createDataChannel('x');
        peer.createOffer().then((offer) => peer.setLocalDescription(offer));
      }
      document.body.append('done');
    </script>`);
  });
  const { render } = open(t, { rules: { allow_private: [`127.0.0.1:${port}`] } });
  const rendered = await render(`http://127.0.0.1:${port}/`, { waitForMs: 1_000 });
  assert.ok(rendered.ok && rendered.body.includes('done'), JSON.stringify(rendered));
  assert.equal(datagrams, 0);
});

test('a Chromium that does not start is said to the caller in short, and to the operator with its reason', async (t) => {
  const chromium = inItsPlace(t, 'echo "no usable sandbox!" >&2; exit 1');
  const { render, troubles } = open(t, { chromium, rules: { allow_private: ['127.0.0.1:9'] } });
  const rendered = await render('http://127.0.0.1:9/');
  assert.deepEqual(rendered, {
    ok: false,
    reason: 'unfit',
    message: 'Chromium does not start on this machine; the log says why',
  });
  assert.match(troubles.join('\n'), /could not be started: .* \| no usable sandbox!/);
});

test('a Chromium that hangs at its start keeps nobody waiting longer than they wait', async (t) => {
  const chromium = inItsPlace(t, 'exec sleep 10');
  const { render } = open(t, { chromium, rules: { allow_private: ['127.0.0.1:9'] } });
  const slow = await render('http://127.0.0.1:9/', { timeoutMs: 100 });
  assert.equal(slow.ok || slow.reason, 'timeout');
  const leaving = new AbortController();
  const rendering = render('http://127.0.0.1:9/', { signal: leaving.signal });
  leaving.abort();
  const left = await rendering;
  assert.equal(left.ok || left.reason, 'aborted');
});

test('more pages than may wait are told so at once', async (t) => {
  const chromium = inItsPlace(t, 'exec sleep 10');
  const { render } = open(t, { chromium, rules: { allow_private: ['127.0.0.1:9'] } });
  const leaving = new AbortController();
  const pages = Array.from({ length: 2 + 32 + 1 }, () => render('http://127.0.0.1:9/', { signal: leaving.signal }));
  const first = await Promise.race(pages);
  assert.equal(first.ok || first.reason, 'busy');
  leaving.abort();
  const reasons = (await Promise.all(pages)).map((one) => (one.ok ? 'ok' : one.reason));
  assert.deepEqual(reasons.toSorted(), [...Array(34).fill('aborted'), 'busy']);
});

test('without Chromium it says what to install; where it is named, that nothing is there', async (t) => {
  const { renderer } = open(t, { chromium: join(tmpdir(), 'no-such-chromium') });
  assert.match(
    renderer.missing()!,
    /the file that tools\.scrape\.chromium names does not exist\. Install both: apt-get install/,
  );
});
