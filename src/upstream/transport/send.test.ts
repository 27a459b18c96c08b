// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import zlib from 'node:zlib';
import {
  listen,
  listenAndKeep,
  onRequest,
  originOf,
  send,
  testTransport,
  textOf,
} from '../../../test/loopback-transport.ts';

const ok = 'HTTP/1.1 200 OK\r\n';

test('a request arrives as it was given, and its answer comes back whole', async (t) => {
  const { origin, heads, bodies } = await listenAndKeep(
    t,
    `${ok}Content-Length: 5\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nX-Thing: é\r\n\r\nhello`,
  );
  const told = send(testTransport(t), origin, { headers: ['x-api-key', 'k', 'content-type', 'application/json'] });
  assert.equal(await told.end, 'ended');
  assert.equal(told.status, 200);
  assert.equal(textOf(told), 'hello');
  assert.equal(told.headers?.get('set-cookie'), 'a=1, b=2');
  assert.equal(told.headers?.get('x-thing'), 'é');
  assert.equal(told.headers?.get('absent'), undefined);
  assert.match(heads[0] ?? '', /^POST \/v1\/chat\/completions HTTP\/1\.1\r\n/);
  assert.match(heads[0] ?? '', /\r\nx-api-key: k\r\n/);
  assert.match(heads[0] ?? '', /\r\naccept-encoding: identity\r\n/);
  assert.deepEqual(bodies, ['{"model":"m"}']);
});

test('exchanges one after the other share a socket, those at once do not', async (t) => {
  let sockets = 0;
  const origin = await listen(t, (socket) => {
    sockets += 1;
    onRequest(socket, () => socket.write(`${ok}Content-Length: 2\r\n\r\nok`));
  });
  const transport = testTransport(t);
  for (let i = 0; i < 20; i++) await send(transport, origin).end;
  assert.equal(sockets, 1);
  await Promise.all([1, 2, 3].map(() => send(transport, origin).end));
  assert.equal(sockets, 3);
  assert.equal(transport.counts.running, 0);
});

test('a redirect is an answer, not a way to go', async (t) => {
  let requests = 0;
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      requests += 1;
      socket.write('HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n');
    }),
  );
  const told = send(testTransport(t), origin);
  assert.equal(await told.end, 'ended');
  assert.equal(told.status, 307);
  assert.equal(requests, 1);
});

test('early hints before the answer and trailers after it are not shown', async (t) => {
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
      socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n`);
    }),
  );
  const transport = testTransport(t);
  for (let i = 0; i < 2; i++) {
    const told = send(transport, origin);
    assert.equal(await told.end, 'ended');
    assert.equal(told.status, 200);
    assert.equal(told.heads, 1);
    assert.equal(told.headers?.get('link'), undefined);
    assert.equal(told.headers?.get('x-trailer'), undefined);
    assert.equal(textOf(told), 'abc');
  }
});

test('F1 a closed port fails at once as connect', async (t) => {
  const server = net.createServer();
  const origin = await originOf(server);
  await new Promise((closed) => server.close(closed));
  const told = send(testTransport(t), origin);
  assert.deepEqual(await told.end, {
    kind: 'connect',
    message: 'the connection was refused or could not be made (ECONNREFUSED)',
  });
});

test('F3 accepted and never answered fails at the headers timeout, and the socket is closed', async (t) => {
  const closed = Promise.withResolvers<void>();
  const origin = await listen(t, (socket) => socket.resume().on('close', () => closed.resolve()));
  const told = send(testTransport(t), origin, { headersTimeoutMs: 50 });
  assert.deepEqual(await told.end, { kind: 'headers-timeout', message: 'no answer came in time' });
  await closed.promise;
});

test('F5 silence in the middle fails at the body timeout', async (t) => {
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`)),
  );
  const told = send(testTransport(t), origin, { bodyTimeoutMs: 50 });
  assert.deepEqual(await told.end, { kind: 'body-timeout', message: 'the answer stopped in the middle' });
  assert.equal(textOf(told), 'abc');
});

const cutAnswers = {
  chunked: `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
  'chunked, not kept alive': `${ok}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
  'of a known length': `${ok}Content-Length: 10\r\n\r\nabc`,
  'of a known length, not kept alive': `${ok}Connection: close\r\nContent-Length: 10\r\n\r\nabc`,
};
for (const [name, answer] of Object.entries(cutAnswers)) {
  test(`F7 a clean close in the middle of an answer ${name} is a reset, after the bytes that came`, async (t) => {
    const origin = await listen(t, (socket) => onRequest(socket, () => socket.end(answer)));
    const told = send(testTransport(t), origin);
    const end = await told.end;
    assert.equal(end !== 'ended' && end.kind, 'reset');
    assert.equal(textOf(told), 'abc');
    assert.equal(told.ends, 1);
  });

  test(`F6 a reset in the middle of an answer ${name} is a reset`, async (t) => {
    const origin = await listen(t, (socket) =>
      onRequest(socket, () => socket.write(answer, () => setTimeout(() => socket.resetAndDestroy(), 5))),
    );
    const told = send(testTransport(t), origin);
    const end = await told.end;
    assert.equal(end !== 'ended' && end.kind, 'reset');
    assert.equal(told.ends, 1);
  });
}

test('an answer without a length ends when the connection is closed', async (t) => {
  const origin = await listen(t, (socket) => onRequest(socket, () => socket.end('HTTP/1.0 200 OK\r\n\r\nold')));
  const told = send(testTransport(t), origin);
  assert.equal(await told.end, 'ended');
  assert.equal(textOf(told), 'old');
});

test('F12 what is not HTTP, or too much of it, is a protocol fault', async (t) => {
  const answers = [
    'SSH-2.0-OpenSSH_9\r\n',
    `${ok}X: ${'x'.repeat(110_000)}\r\n\r\n`,
    `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
  ];
  const transport = testTransport(t);
  for (const answer of answers) {
    const origin = await listen(t, (socket) => onRequest(socket, () => socket.write(answer)));
    const end = await send(transport, origin).end;
    assert.equal(end !== 'ended' && end.kind, 'protocol', answer.slice(0, 20));
  }
});

test('TLS spoken to a server that knows none is a tls fault', async (t) => {
  const origin = await listen(t, (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
  const end = await send(testTransport(t), origin.replace('http:', 'https:')).end;
  assert.equal(end !== 'ended' && end.kind, 'tls');
});

test('no failure tells an address, a port or a name', async (t) => {
  const server = net.createServer();
  const origin = await originOf(server);
  await new Promise((closed) => server.close(closed));
  const transport = testTransport(t);
  for (const url of [origin, 'http://no-such-name.invalid', 'http://[::1]:1']) {
    const end = await send(transport, url, { connectTimeoutMs: 500 }).end;
    assert.ok(end !== 'ended');
    assert.doesNotMatch(end.message, /127|::1|:\d|invalid/);
  }
});

test('a request that cannot be written fails, but not before send has returned', async (t) => {
  const transport = testTransport(t);
  for (const request of [{ path: '/a b\r\nc' }, { headers: ['x', 'a\r\nb: c'] }]) {
    const told = send(transport, 'http://127.0.0.1:1', request);
    assert.equal(told.ends, 0);
    const end = await told.end;
    assert.equal(end !== 'ended' && end.kind, 'protocol');
  }
  assert.equal(transport.counts.running, 0);
});

test('a caller that pauses a compressed answer gets no more of it until it goes on', async (t) => {
  const size = 8 * 1024 * 1024;
  const packed = zlib.gzipSync(Buffer.alloc(size));
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => {
      socket.write(`${ok}Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`);
      socket.write(packed);
    }),
  );
  const told = send(testTransport(t), origin);
  await told.began;
  told.call.pause();
  const before = told.bodyBytes;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(told.bodyBytes, before);
  assert.ok(before < size);
  told.call.resume();
  assert.equal(await told.end, 'ended');
  assert.equal(told.bodyBytes, size);
});

const encoders = {
  gzip: zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync,
  zstd: zlib.zstdCompressSync,
};
for (const [encoding, encode] of Object.entries(encoders)) {
  const head = `${ok}Content-Encoding: ${encoding}\r\nConnection: close\r\n\r\n`;

  test(`an answer in ${encoding} comes out plain, however it is cut`, async (t) => {
    const text = JSON.stringify(Array.from({ length: 300 }, (_, i) => `token ${i}`));
    const packed = encode(Buffer.from(text));
    const origin = await listen(t, (socket) =>
      onRequest(socket, () => {
        socket.setNoDelay(true);
        socket.write(head);
        for (let at = 0; at < packed.length; at += 100) socket.write(packed.subarray(at, at + 100));
        socket.end();
      }),
    );
    const told = send(testTransport(t), origin);
    assert.equal(await told.end, 'ended');
    assert.equal(textOf(told), text);
  });

  test(`an answer in ${encoding} that is cut short fails as decode`, async (t) => {
    const packed = encode(Buffer.alloc(10_000, 'ab'));
    const origin = await listen(t, (socket) =>
      onRequest(socket, () => {
        socket.write(head);
        socket.end(packed.subarray(0, packed.length - 6));
      }),
    );
    const told = send(testTransport(t), origin);
    const end = await told.end;
    assert.equal(end !== 'ended' && end.kind, 'decode');
    assert.equal(told.ends, 1);
  });

  test(`F16 a ${encoding} bomb is cut at the limit, and its socket closed`, async (t) => {
    const decompressedBytesMax = 1024 * 1024;
    const closed = Promise.withResolvers<void>();
    const bomb = encode(Buffer.alloc(8 * 1024 * 1024));
    const origin = await listen(t, (socket) => {
      socket.on('close', () => closed.resolve());
      onRequest(socket, () => {
        socket.write(head);
        socket.write(bomb);
      });
    });
    const told = send(testTransport(t, { decompressedBytesMax }), origin);
    assert.deepEqual(await told.end, {
      kind: 'decode',
      message: `the ${encoding} answer is larger than 1048576 bytes`,
    });
    assert.ok(told.bodyBytes <= decompressedBytesMax);
    await closed.promise;
  });
}

test('an encoding nobody knows fails as decode before anything is shown', async (t) => {
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => socket.write(`${ok}Content-Encoding: compress\r\nContent-Length: 1\r\n\r\nx`)),
  );
  const told = send(testTransport(t), origin);
  const end = await told.end;
  assert.equal(end !== 'ended' && end.kind, 'decode');
  assert.equal(told.status, 0);
});

test('F14 an answer that comes byte by byte arrives', async (t) => {
  const text = 'data: {"delta":"slowly"}\n\n'.repeat(10);
  const server = http.createServer(async (_, response) => {
    for (const byte of Buffer.from(text)) await new Promise((sent) => response.write(Buffer.of(byte), sent));
    response.end();
  });
  t.after(() => server.close());
  const told = send(testTransport(t), await originOf(server));
  assert.equal(await told.end, 'ended');
  assert.equal(textOf(told), text);
});

test('close waits for running exchanges, then closes the sockets; later requests are refused', async (t) => {
  let finish = (): void => undefined;
  const closed = Promise.withResolvers<void>();
  const origin = await listen(t, (socket) => {
    socket.on('close', () => closed.resolve());
    onRequest(socket, () => {
      socket.write(`${ok}Content-Length: 2\r\n\r\no`);
      finish = () => socket.write('k');
    });
  });
  const transport = testTransport(t);
  const told = send(transport, origin);
  await told.began;
  const closing = transport.close();
  const late = await send(transport, origin).end;
  assert.equal(late !== 'ended' && late.kind, 'connect');
  finish();
  assert.equal(await told.end, 'ended');
  await closing;
  await closed.promise;
});

test('destroy fails what runs, and repeats nothing', async (t) => {
  const origin = await listen(t, (socket) =>
    onRequest(socket, () => socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`)),
  );
  const transport = testTransport(t);
  const answering = send(transport, origin);
  await answering.began;
  const connecting = send(transport, origin);
  transport.destroy();
  for (const told of [answering, connecting]) {
    assert.deepEqual(await told.end, { kind: 'reset', message: 'the gateway closed its connections' });
  }
  assert.equal(transport.counts.running, 0);
});

test('of more origins than allowed, the longest unused is closed, never one at work', async (t) => {
  const closed: string[] = [];
  const open = async (name: string, answer: string) =>
    listen(t, (socket) => {
      socket.on('close', () => closed.push(name));
      onRequest(socket, () => socket.write(answer));
    });
  const busy = await open('busy', `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`);
  const a = await open('a', `${ok}Content-Length: 1\r\n\r\na`);
  const b = await open('b', `${ok}Content-Length: 1\r\n\r\nb`);
  const transport = testTransport(t, { originsMax: 2 });
  await send(transport, busy).began;
  await send(transport, a).end;
  await send(transport, b).end;
  await send(transport, b).end;
  assert.deepEqual(closed, ['a']);
});
