import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { answerTo } from '../send-bytes.ts';
import { overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Callers that send all of a body before they look for an answer, as many HTTP clients do. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as never },
  { ...overUpstreams(upstream.url), server: { body_limit: '1mb', upload_limit: '2mb' } },
);
const port = Number(new URL(gateway.url).port);
const sentBytes = 24 * 1024 * 1024;

/** The answer's first line, read after the whole body was sent; an error of the connection instead. */
function sendsAll(path: string, headers: readonly string[], framing: 'length' | 'chunks'): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    const inChunks = framing === 'chunks';
    const length = inChunks ? 'transfer-encoding: chunked' : `content-length: ${sentBytes}`;
    const head = [`POST ${path} HTTP/1.1`, 'host: x', ...headers, length];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const piece = Buffer.alloc(64 * 1024, 'x');
    let left = sentBytes;
    const send = () => {
      while (left > 0) {
        left -= piece.length;
        if (!socket.write(inChunks ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece)) return;
      }
      socket.off('drain', send);
      let answer = '';
      socket.on('data', (bytes) => {
        answer += bytes.toString();
      });
      socket.on('end', () => resolve(answer.split('\r\n')[0]!));
      socket.resume();
    };
    socket.on('drain', send);
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`${error.code} with ${left} bytes to send`));
    send();
  });
}

const asKey = `authorization: Bearer ${testKey}`;
const cases = {
  'JSON above the limit': ['/v1/chat/completions', [asKey, 'content-type: application/json'], 413],
  'a form above the limit': ['/v1/images/edits', [asKey, 'content-type: multipart/form-data; boundary=x'], 413],
  'an unknown key': ['/v1/chat/completions', ['authorization: Bearer sk-cv-no', 'content-type: application/json'], 401],
  'an unknown path': ['/v1/nothing', [asKey, 'content-type: application/json'], 404],
} as const;

for (const [name, [path, headers, status]] of Object.entries(cases)) {
  for (const framing of ['length', 'chunks'] as const) {
    test(`${name}: a caller that still sends its body gets the answer, not a reset (${framing})`, async () => {
      assert.match(await sendsAll(path, headers, framing), new RegExp(`^HTTP/1\\.1 ${status} `));
    });
  }
}

/** The head of the answer to a request whose body does not come. */
async function headBeforeBody(method: string, header: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`${method} /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return bytes.toString();
}

test('a refused body of up to 1 MiB leaves the connection open for the next request, a larger one does not', async () => {
  const mib = 1024 * 1024;
  for (const [header, kept] of [
    [`content-length: ${mib}`, true],
    [`content-length: ${mib + 1}`, false],
    ['transfer-encoding: chunked', false],
  ] as const) {
    for (const method of ['POST', 'PUT', 'GET']) {
      const head = await headBeforeBody(method, header);
      assert.match(head, /^HTTP\/1\.1 40[15] /);
      assert.equal(!/\r\nconnection: close\r\n/i.test(head), kept, `${method} ${header}: ${head}`);
    }
  }
});

test('a caller that stops sending is not waited for', async () => {
  // Its side stays open, so that it would be held for as long as it likes.
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${asKey}\r\ncontent-type: application/json\r\n`);
  socket.write(`content-length: ${sentBytes}\r\n\r\n{`);
  socket.resume();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('end', () => {
    // Bytes to a connection that is closed by then come back as a reset.
    const poke = setInterval(() => socket.write('x'), 3_000);
    socket.once('error', () => undefined);
    socket.once('close', () => {
      clearInterval(poke);
      resolve(true);
    });
  });
  assert.ok(await promise);
});

const part = (name: string, value: string) =>
  `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (bytes: number) => part('file"; filename="a.wav', 'x'.repeat(bytes));
const forms = {
  'too many parts': part('a', 'b').repeat(65) + file(900_000),
  'a part without a name': part('', 'b').replace('name=""', 'x=""') + file(900_000),
  'a field that is too long': part('model', 'm'.repeat(300_000)) + file(600_000),
  'one file too many': file(10) + file(900_000),
};

for (const [name, form] of Object.entries(forms)) {
  test(`a form with ${name}: its connection serves the next request`, async () => {
    const body = `${form}--x--\r\n`;
    const head = (first: string, more: string) => `${first} HTTP/1.1\r\nhost: x\r\n${asKey}\r\n${more}\r\n`;
    const type = `content-type: multipart/form-data; boundary=x\r\ncontent-length: ${body.length}\r\n`;
    const upload = head('POST /v1/audio/transcriptions', type) + body;
    const { statuses } = await answerTo(gateway.url, upload + head('GET /v1/models', 'connection: close\r\n'), {
      patienceMs: 10_000,
    });
    assert.deepEqual(statuses, [400, 200]);
  });
}
