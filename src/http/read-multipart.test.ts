import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Failure, isFailure } from '../kernel/failure.ts';
import { openSpool, type Spool } from '../net/spool.ts';
import type { Exchange } from './exchange.ts';
import { type Multipart, type MultipartBounds, readMultipart } from './read-multipart.ts';

const oneMb = 1024 * 1024;

test('fields and files are found in any order of the parts, the bytes of a file on disk as they came', async (t) => {
  const world = await receiver(t);
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7) & 0xff));
  const asFile: [string, Blob, string] = ['file', new Blob([bytes]), 'x.wav'];
  for (const order of ['first', 'last']) {
    const form = new FormData();
    if (order === 'first') form.append(...asFile);
    form.append('model', 'whisper');
    form.append('prompt', 'Grüße, 東京');
    form.append('timestamp_granularities[]', 'word');
    form.append('timestamp_granularities[]', 'segment');
    if (order === 'last') form.append(...asFile);
    const upload = await received(world, form);
    assert.deepEqual(
      upload.fields.map(({ name, value }) => [name, value]),
      [
        ['model', 'whisper'],
        ['prompt', 'Grüße, 東京'],
        ['timestamp_granularities[]', 'word'],
        ['timestamp_granularities[]', 'segment'],
      ],
    );
    const [{ name, fileName, file }] = upload.files as [Multipart['files'][number]];
    assert.deepEqual([name, fileName, file.bytes], ['file', 'x.wav', bytes.length]);
    // Retries read it again.
    for (let i = 0; i < 2; i++) assert.deepEqual(await whole(file.read()), bytes);
    assert.deepEqual(await file.head(16), bytes.subarray(0, 16));
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
    assert.equal(world.spool.bytes, bytes.length);
    await upload.release();
    assert.deepEqual([existsSync(file.path), world.spool.bytes], [false, 0]);
  }
});

test('files stand in the order of the form, whichever the disk has room for first', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-spool-'));
  const spool = await openSpool(folder);
  const second = Promise.withResolvers<void>();
  let placed = 0;
  const lateFirst: Spool = {
    ...spool,
    async place(account) {
      placed += 1;
      if (placed === 1) await second.promise;
      else second.resolve();
      return spool.place(account);
    },
  };
  const world = await receiver(t, { bodyBytes: oneMb, files: 2 }, lateFirst, folder);
  const form = new FormData();
  for (const name of ['a', 'b']) form.append('image[]', new Blob([name]), `${name}.png`);
  const upload = await received(world, form);
  assert.deepEqual(
    upload.files.map(({ fileName }) => fileName),
    ['a.png', 'b.png'],
  );
  await upload.release();
});

test('a file that cannot be kept for an unforeseen reason is an error for the log, with its cause', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-spool-'));
  const place = async () => Promise.reject(new Error('EMFILE: too many open files'));
  const world = await receiver(t, { bodyBytes: oneMb, files: 1 }, { ...(await openSpool(folder)), place }, folder);
  const form = new FormData();
  form.append('file', new Blob(['x']), 'x.wav');
  await assert.rejects(receivedForm(world, form), /EMFILE/);
});

test('a quote in the name of a file is one, as browsers and SDKs send it', async (t) => {
  const world = await receiver(t);
  const form = new FormData();
  form.set('file', new Blob(['x']), 'the "last" one.txt');
  const body = Buffer.from(await new Response(form).arrayBuffer()).toString();
  const boundary = body.slice(2, body.indexOf('\r\n'));
  assert.match(body, /%22last%22/);
  const type = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const upload = await receivedRaw(world, [body], type);
  assert.ok(upload !== null && 'files' in upload, JSON.stringify(upload));
  assert.equal(upload.files[0]?.fileName, 'the "last" one.txt');
  await upload.release();
});

test('a form cut anywhere by the network is read the same', async (t) => {
  const world = await receiver(t);
  const body = [
    '--b',
    'Content-Disposition: form-data; name="model"',
    '',
    'm',
    '--b',
    'Content-Disposition: form-data; name="file"; filename="a.wav"',
    'Content-Type: audio/wav',
    '',
    'RIFF\r\n--no\r\n--',
    '--b--',
    '',
  ].join('\r\n');
  for (let cut = 1; cut < body.length; cut += 3) {
    const upload = await receivedRaw(world, [body.slice(0, cut), body.slice(cut)]);
    assert.ok(upload !== null && 'files' in upload, JSON.stringify(upload));
    assert.deepEqual(upload.fields, [{ name: 'model', value: 'm' }]);
    assert.equal((await whole(upload.files[0]!.file.read())).toString(), 'RIFF\r\n--no\r\n--');
    await upload.release();
  }
});

test('a body over the limit is 413 while it streams, declared or not, and nothing of it stays on disk', async (t) => {
  const world = await receiver(t, { bodyBytes: oneMb, files: 1 });
  const declared = await receivedRaw(world, [], { 'content-length': String(oneMb + 1) });
  assert.deepEqual(declared, { kind: 'body-too-large', limitBytes: oneMb });
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
  const piece = 'x'.repeat(64 * 1024);
  const streamed = await receivedRaw(world, [head, ...Array.from({ length: 17 }, () => piece)]);
  assert.deepEqual(streamed, { kind: 'body-too-large', limitBytes: oneMb });
  assert.deepEqual(world.left(), []);
});

test('what is no whole form is 400 in words, and nothing of it stays on disk', async (t) => {
  const world = await receiver(t);
  const part = (name: string, value = 'x', more = '') =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const end = '--b--\r\n';
  const cases: [string, string[], RegExp][] = [
    ['no closing boundary', [part('model')], /last boundary/],
    ['cut inside a file', [part('file', 'abc', '; filename="a"').slice(0, -3)], /last boundary/],
    ['nothing at all', [''], /last boundary/],
    ['another boundary', ['--c\r\n\r\n--c--\r\n'], /last boundary/],
    ['100 parts', [...Array.from({ length: 100 }, (_, i) => part(`f${i}`)), end], /more than 64 parts/],
    [
      'two files',
      [part('file', 'a', '; filename="a"'), part('file', 'b', '; filename="b"'), end],
      /more than 1 file\./,
    ],
    ['a long field', [part('prompt', 'x'.repeat(2_200_000)), end], /'prompt' is longer than/],
    ['long fields', [...Array.from({ length: 6 }, (_, i) => part(`p${i}`, 'x'.repeat(1_600_000))), end], /fields hold/],
    ['no name', ['--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n', end], /no name/],
    ['a file without a name', ['--b\r\nContent-Disposition: form-data; filename="x"\r\n\r\nx\r\n', end], /no name/],
  ];
  for (const [what, chunks, words] of cases) {
    const failure = await receivedRaw(world, chunks);
    assert.ok(isFailure(failure) && failure.kind === 'invalid-request', `${what}: taken`);
    assert.match(failure.message, words, what);
    assert.deepEqual(world.left(), [], what);
  }
});

test('another content type is 415, one without its boundary 400', async (t) => {
  const world = await receiver(t);
  const json = await receivedRaw(world, ['{}'], { 'content-type': 'application/json' });
  assert.ok(isFailure(json) && json.kind === 'unsupported-media-type');
  assert.equal(json.expected, 'multipart/form-data');
  const bare = await receivedRaw(world, ['x'], { 'content-type': 'multipart/form-data' });
  assert.ok(isFailure(bare) && bare.kind === 'invalid-request');
  assert.match(bare.message, /boundary/);
});

test('a caller who leaves while sending leaves nothing on disk', async (t) => {
  const world = await receiver(t);
  const ended = receivedRaw(world, ['--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc'], {
    'content-length': '1000',
    leave: 'yes',
  });
  assert.equal(await ended, null);
  assert.deepEqual(world.left(), []);
});

test('a spool that is full refuses with 503, and what a crash left in it is gone at the next start', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-spool-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'left-by-a-crash'), 'x');
  const spool = await openSpool(folder, { bytesMax: 100_000 });
  assert.equal(existsSync(join(folder, 'left-by-a-crash')), false);
  const world = await receiver(t, { bodyBytes: oneMb, files: 1 }, spool, folder);
  const form = new FormData();
  form.append('file', new Blob([Buffer.alloc(200_000)]), 'x');
  const refused = await receivedForm(world, form);
  assert.ok(isFailure(refused));
  assert.equal(refused.kind, 'overloaded');
  assert.deepEqual([world.left(), spool.bytes], [[], 0]);
});

interface Receiver {
  url: string;
  spool: Spool;
  left(): string[];
  next(): Promise<Multipart | Failure | null>;
}

/** A server that reads every request as a form. */
async function receiver(
  t: TestContext,
  bounds: MultipartBounds = { bodyBytes: 10 * oneMb, files: 1 },
  given?: Spool,
  at?: string,
): Promise<Receiver> {
  const folder = at ?? mkdtempSync(join(tmpdir(), 'culvert-spool-'));
  const spool = given ?? (await openSpool(join(folder)));
  const waiting: ((result: Promise<Multipart | Failure | null>) => void)[] = [];
  const server = createServer((request, response) => {
    const exchange = { request, response, principal: null, held: null } as unknown as Exchange;
    const result = readMultipart(exchange, spool, bounds);
    const end = () => {
      response.end();
      waiting.shift()!(result);
    };
    void result.then(end, end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    spool,
    left: () => (existsSync(folder) ? readdirSync(folder) : []),
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
}

async function receivedForm(world: Receiver, form: FormData): Promise<Multipart | Failure | null> {
  const next = world.next();
  next.catch(() => undefined);
  await fetch(world.url, { method: 'POST', body: form }).catch(() => undefined);
  return next;
}

async function received(world: Receiver, form: FormData): Promise<Multipart> {
  const result = await receivedForm(world, form);
  assert.ok(result !== null && 'files' in result, JSON.stringify(result));
  return result;
}

/** Chunk by chunk, each in a packet of its own; `leave` closes the connection behind the last. */
async function receivedRaw(
  { url, next }: Receiver,
  chunks: readonly string[],
  { leave, ...headers }: Record<string, string> = {},
): Promise<Multipart | Failure | null> {
  const result = next();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  const framed = headers['content-length'] === undefined;
  const all = {
    host: 'x',
    'content-type': 'multipart/form-data; boundary=b',
    ...(framed && { 'transfer-encoding': 'chunked' }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST / HTTP/1.1\r\n${lines.join('')}\r\n`);
  for (const chunk of chunks) {
    if (chunk === '') continue;
    const bytes = Buffer.from(chunk);
    socket.write(framed ? `${bytes.length.toString(16)}\r\n${chunk}\r\n` : chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (leave !== undefined) socket.end();
  else if (framed) socket.write('0\r\n\r\n');
  const found = await result;
  socket.destroy();
  return found;
}

async function whole(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
