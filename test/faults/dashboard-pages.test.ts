import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { startGateway } from '../start-gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'culvert-pages-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const pages = join(folder, 'dist');
mkdirSync(join(pages, 'assets'), { recursive: true });
const index = '<!doctype html><title>Culvert</title>';
const script = 'console.log("culvert");'.repeat(50);
writeFileSync(join(folder, 'secret.txt'), 'canary');
writeFileSync(join(pages, '.hidden.txt'), 'canary');
for (const [name, text] of [
  ['index.html', index],
  ['assets/app-1a2b.js', script],
] as const) {
  writeFileSync(join(pages, name), text);
  writeFileSync(join(pages, `${name}.br`), brotliCompressSync(text));
  writeFileSync(join(pages, `${name}.gz`), gzipSync(text));
}
const gateway = await startGateway({ after: after as never }, {}, { pagesFolder: pages });
const empty = await startGateway({ after: after as never }, {}, { pagesFolder: join(folder, 'nothing') });

/** As it came over the wire; the path is sent unchanged. */
function get(path: string, headers: Record<string, string> = {}, url = gateway.url) {
  return new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    request({ hostname, port, path, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(parts) }),
      );
    })
      .on('error', reject)
      .end();
  });
}

test('every path of the application is the application, which is asked for anew each time', async () => {
  for (const path of ['/dashboard', '/dashboard/', '/dashboard/requests/req_1', '/account', '/account/keys']) {
    const { status, headers, bytes } = await get(path);
    assert.deepEqual([status, bytes.toString(), headers['cache-control']], [200, index, 'no-store'], path);
  }
});

test('files with a hash in their name are kept for good, and come compressed as they lie there', async () => {
  const path = '/dashboard/assets/app-1a2b.js';
  const plain = await get(path);
  assert.equal(plain.bytes.toString(), script);
  assert.match(String(plain.headers['cache-control']), /max-age=31536000, immutable/);
  assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8');
  const brotli = await get(path, { 'accept-encoding': 'gzip, deflate, br, zstd' });
  assert.equal(brotli.headers['content-encoding'], 'br');
  assert.equal(brotliDecompressSync(brotli.bytes).toString(), script);
  const gzip = await get(path, { 'accept-encoding': 'gzip, deflate' });
  assert.equal(gzip.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(gzip.bytes).toString(), script);
  const gone = await get('/dashboard/assets/app-0000.js');
  assert.equal(gone.status, 404, 'a file of an older version is no page');
  assert.equal(gone.headers['cache-control'], 'no-store');
});

test('whatever stands below /dashboard runs no script but our own and stands in no frame', async () => {
  for (const path of ['/dashboard', '/dashboard/assets/app-1a2b.js', '/dashboard/assets/none.js', '/account']) {
    const { headers } = await get(path);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'self'; script-src 'self'; style-src 'self'/, path);
    assert.match(policy, /frame-ancestors 'none'; base-uri 'none'/, path);
    assert.doesNotMatch(policy, /unsafe|\*/, path);
    assert.equal(headers['x-content-type-options'], 'nosniff', path);
    assert.equal(headers['referrer-policy'], 'no-referrer', path);
  }
});

test('S13 no path below /dashboard leaves the folder of the pages', async () => {
  for (const path of [
    '/dashboard/../secret.txt',
    '/dashboard/..%2fsecret.txt',
    '/dashboard/%2e%2e/secret.txt',
    '/dashboard/assets/../../secret.txt',
    '/dashboard/assets/..%5c..%5csecret.txt',
    '/dashboard//etc/passwd',
    '/dashboard/.hidden.txt',
    '/dashboard/%00secret.txt',
    `/dashboard/${'a'.repeat(3_000)}.js`,
  ]) {
    const { status, bytes } = await get(path);
    assert.doesNotMatch(bytes.toString(), /canary|root:/, path);
    assert.ok(status === 200 || status === 404, `${path}: ${status}`);
  }
});

test('pages that are not built say which command builds them', async () => {
  const { status, headers, bytes } = await get('/dashboard', {}, empty.url);
  assert.equal(status, 503);
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
  assert.match(bytes.toString(), /npm run build:web/);
});
