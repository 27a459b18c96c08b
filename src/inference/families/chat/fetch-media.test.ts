// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { mediaTypeOf } from '../../../formats/neutral/media-type.ts';
import type { MediaUrl } from '../../../formats/neutral/media-urls.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { createRoom } from '../../../kernel/sharing/room.ts';
import { createMediaFetcher, createRequestMedia, type MediaRequest } from './fetch-media.ts';
import { InlineMedia } from './inline-media.ts';

const pngStart = Buffer.from('89504e470d0a1a0a', 'hex');
let asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(request.url ?? '');
  const url = new URL(request.url ?? '/', 'http://x');
  if (url.pathname === '/hang') return;
  const bytes = Number(url.searchParams.get('bytes') ?? 100);
  const type = url.searchParams.get('type') ?? 'image/png';
  response.writeHead(200, { 'content-type': type });
  response.end(type.startsWith('image/') ? Buffer.concat([pngStart, Buffer.alloc(bytes)]) : 'a,b');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => {
  server.closeAllConnections();
  server.close();
});
const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;

const fetcher = () =>
  createMediaFetcher({
    rules: () => ({ ports: [443], allow_private: [place] }),
    resolve: () => Promise.reject(new Error('ENOTFOUND')),
  });
const wanted = (path: string, i = 0, kind: MediaUrl['kind'] = 'image'): MediaUrl => ({
  url: `http://${place}${path}`,
  param: `messages[0].content[${i}]`,
  kind,
});
const room = createRoom('bodies', () => ({ bytesMax: 1024 ** 3, accountBytesMax: 1024 ** 3 }));
const owner = (tenant = 'a', of = room) => ({ tenant, held: of.hold(tenant) });
const patient = new AbortController().signal;

async function refusal(list: readonly MediaUrl[], timeoutMs = 5_000): Promise<string> {
  const failure = await fetcher().fetch(list, owner(), timeoutMs, patient);
  assert.ok(isFailure(failure));
  return failure.kind === 'invalid-request' ? `${failure.param}: ${failure.message}` : failure.kind;
}

test('each URL is fetched once, however many parts name it', async () => {
  asked = [];
  const fetched = await fetcher().fetch([wanted('/a'), wanted('/b', 1), wanted('/a', 2)], owner(), 5_000, patient);
  assert.ok(!isFailure(fetched));
  assert.deepEqual(asked.sort(), ['/a', '/b']);
  assert.deepEqual(Object.keys(fetched).sort(), [`http://${place}/a`, `http://${place}/b`]);
  assert.equal(fetched[`http://${place}/a`]!.mediaType, 'image/png');
});

test('files are told by their bytes, else by what their server calls them', async () => {
  const one = wanted('/f?type=text/csv;charset=utf-8', 0, 'document');
  const fetched = await fetcher().fetch([one], owner(), 5_000, patient);
  assert.deepEqual(!isFailure(fetched) && fetched[one.url], { mediaType: 'text/plain', bytes: Buffer.from('a,b') });
  assert.match(
    await refusal([wanted('/f?type=application/zip', 3, 'document')]),
    /^messages\[0\]\.content\[3\]: .*not a file/,
  );
  assert.match(await refusal([wanted('/f?type=text/html')]), /not a picture/);
});

test('S18 a request gets 20 MB and 32 places in all', async () => {
  const six = 6 * 1024 * 1024;
  const large = Array.from({ length: 4 }, (_, i) => wanted(`/l${i}?bytes=${six}`, i));
  assert.match(await refusal(large), /larger than 20971520 bytes/);
  assert.ok(!isFailure(await fetcher().fetch(large.slice(0, 3), owner(), 5_000, patient)));
  asked = [];
  const many = Array.from({ length: 33 }, (_, i) => wanted(`/m${i}`, i));
  assert.match(await refusal(many), /^messages\[0\]\.content\[32\]: .*at most 32/);
  assert.deepEqual(asked, []);
});

test('the first failure ends the others, and time is bounded', async () => {
  assert.match(await refusal([wanted('/hang'), wanted('/x?type=text/html', 1)]), /^messages\[0\]\.content\[1\]/);
  assert.match(await refusal([wanted('/hang')], 50), /took too long/);
});

test('S17 places that are not excepted are refused, naming the part and no address', async () => {
  const said = await refusal([{ url: 'http://127.0.0.1:1/', param: 'messages[4].content[0]', kind: 'image' }]);
  assert.match(said, /^messages\[4\]\.content\[0\]: The picture of 'messages\[4\]\.content\[0\]' could not be fetched/);
  assert.doesNotMatch(said, /127\.0\.0\.1/);
});

test('S30 hanging media of one tenant leave another its own, and places are given back', async () => {
  const busy = fetcher();
  const leaving = new AbortController();
  const running = Array.from({ length: 64 }, () => busy.fetch([wanted('/hang')], owner(), 5_000, leaving.signal));
  const next = await busy.fetch([wanted('/a')], owner(), 5_000, patient);
  assert.equal(isFailure(next) && next.kind, 'overloaded');
  assert.ok(!isFailure(await busy.fetch([wanted('/a')], owner('b'), 5_000, patient)));
  leaving.abort();
  await Promise.all(running);
  assert.ok(!isFailure(await busy.fetch([wanted('/a')], owner(), 5_000, patient)));
});

test('S27 what comes takes room as it comes, and where there is none the caller may come again', async () => {
  const mb = 1024 ** 2;
  const small = createRoom('bodies', () => ({ bytesMax: 24 * mb, accountBytesMax: 12 * mb }));
  const large = (at: number) => wanted(`/r${at}?bytes=${6 * mb}`, at);
  const first = owner('a', small);
  assert.ok(!isFailure(await fetcher().fetch([large(0)], first, 5_000, patient)));
  const second = owner('a', small);
  const refused = await fetcher().fetch([large(1)], second, 5_000, patient);
  assert.equal(isFailure(refused) && refused.kind, 'overloaded');
  assert.ok(!isFailure(await fetcher().fetch([large(2)], owner('b', small), 5_000, patient)), 'others have theirs');
  for (const { held } of [first, second]) held.giveBack();
  assert.ok(!isFailure(await fetcher().fetch([large(3)], owner('a', small), 5_000, patient)));
});

test('S18 media that come at once have 20 MB together', async () => {
  const mb = 1024 ** 2;
  const counted = createRoom('bodies', () => ({ bytesMax: 1024 * mb, accountBytesMax: 1024 * mb }));
  const large = Array.from({ length: 4 }, (_, at) => wanted(`/t${at}?bytes=${19 * mb}`, at));
  // A busy machine takes seconds for so many bytes.
  const refused = await fetcher().fetch(large, owner('a', counted), 60_000, patient);
  assert.match(isFailure(refused) && refused.kind === 'invalid-request' ? refused.message : '', /larger than 20971520/);
  assert.ok(counted.bytes <= (20 * mb * 4) / 3, `${counted.bytes} bytes were held`);
});

test('one request fetches once for all its attempts, and gives up when its caller goes', async () => {
  asked = [];
  const gone: (() => void)[] = [];
  const ends: (() => void)[] = [];
  const counted = createRoom('bodies', () => ({ bytesMax: 1_000, accountBytesMax: 1_000 }));
  const request: MediaRequest = {
    principal: { account: 'a', tenant: 'a' },
    leftMs: () => 5_000,
    onDisconnect: (giveUp) => gone.push(giveUp),
    atEnd: (giveBack) => ends.push(giveBack),
  };
  const media = createRequestMedia(fetcher(), counted, request);
  const [first, second] = await Promise.all([media.get([wanted('/once')]), media.get([wanted('/once')])]);
  assert.equal(first, second);
  assert.deepEqual(asked, ['/once']);
  assert.equal(counted.bytes, 144, 'base64 of 108 bytes');
  for (const giveBack of ends) giveBack();
  assert.equal(counted.bytes, 0);
  const hanging = createRequestMedia(fetcher(), counted, request);
  const waiting = hanging.get([wanted('/hang')]);
  gone.at(-1)!();
  assert.ok(isFailure(await waiting));
});

test('a body gets the content of media in each place, and texts as their own', async () => {
  const [one, other] = [Buffer.alloc(1_000_001, 'one'), Buffer.alloc(7, 'o')];
  const media = new InlineMedia({
    a: { mediaType: 'image/png', bytes: one },
    b: { mediaType: 'application/pdf', bytes: other },
    c: { mediaType: 'text/plain', bytes: Buffer.from('a text') },
  });
  const { a, b, c } = media.media;
  assert.equal(c!.base64, btoa('a text'));
  const body = (first: string, second: string) => JSON.stringify({ é: [second, first, `data:x;base64,${first}`] });
  const marked = body(a!.base64, b!.base64);
  assert.ok(marked.length < 500);
  for (const given of [marked, Buffer.from(marked)])
    assert.equal(String(await media.fill(given, 'a')), body(one.toString('base64'), other.toString('base64')));
  assert.equal(String(await new InlineMedia({}).fill('{}', 'a')), '{}');
});

test('media types by their first bytes', () => {
  const of = (hex: string) => mediaTypeOf(Buffer.from(hex, 'hex'));
  assert.equal(of('ffd8ffe000104a46'), 'image/jpeg');
  assert.equal(of('474946383961'), 'image/gif');
  assert.equal(of('52494646240a0000574542505650'), 'image/webp');
  assert.equal(of('255044462d312e37'), 'application/pdf');
  assert.equal(of('00000018667479706865696300000000'), 'image/heic');
  assert.equal(of('0000001c66747970617669660000'), 'image/avif');
  for (const other of ['', '00', '3c68746d6c3e', '3c737667', '504b0304']) assert.equal(of(other), null);
});
