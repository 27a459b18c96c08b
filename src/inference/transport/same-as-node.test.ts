import assert from 'node:assert/strict';
import http from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import type { SocketOwner } from './connect.ts';
import { Connection } from './connection.ts';
import { cut, oddAnswers, type PeerEnd } from './odd-answers.ts';
import type { UpstreamHeaders } from './upstream-call.ts';
import { WireFailure } from './wire-failure.ts';

/** How a client took an answer. */
interface Taken {
  /** Null: refused, or cut short. */
  whole: { status: number; type: string | undefined; body: string } | null;
  /** Before the peer closed, the socket was good for another request. */
  reusable: boolean;
}

class ScriptedSocket extends Duplex {
  override _read(): void {}
  override _write(_: unknown, __: unknown, done: () => void): void {
    done();
  }
  // What node's agent does to a socket that it keeps.
  setKeepAlive(): void {}
  setTimeout(): void {}
  ref(): void {}
  unref(): void {}
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Node's own client, over a socket that says these bytes. */
async function askNode(pieces: readonly Buffer[], end: PeerEnd): Promise<Taken> {
  const socket = new ScriptedSocket();
  const agent = new http.Agent({ keepAlive: true });
  agent.createConnection = () => socket;
  const request = http.request({ agent });
  const body: Buffer[] = [];
  let answer = null as http.IncomingMessage | null;
  let parked = false;
  agent.on('free', () => {
    parked = true;
  });
  request.on('response', (response) => {
    answer = response;
    response.on('data', (piece: Buffer) => body.push(piece)).on('error', () => undefined);
  });
  request.on('error', () => undefined).on('upgrade', () => socket.destroy());
  socket.on('error', () => undefined);
  request.end();
  await turn();
  for (const piece of pieces) if (!socket.destroyed) socket.push(piece);
  for (let i = 0; i < 3; i++) await turn();
  const reusable = parked && !socket.destroyed;
  if (!socket.destroyed) {
    if (end === 'closes') socket.push(null);
    else socket.destroy(new WireFailure('closed'));
  }
  for (let i = 0; i < 3; i++) await turn();
  socket.destroy();
  if (answer === null || !answer.complete) return { whole: null, reusable: false };
  const types = answer.headersDistinct['content-type'];
  const whole = { status: answer.statusCode!, type: types?.join(', '), body: Buffer.concat(body).toString('latin1') };
  return { whole, reusable };
}

/** Our own, over the same. */
function askOurs(pieces: readonly Buffer[], end: PeerEnd, reader: 'takes all' | 'pauses' = 'takes all'): Taken {
  const told = new Map<string, (error?: Error) => void>();
  const nothing = (): void => undefined;
  const plain = {
    writableLength: 0,
    write: () => true,
    destroy: nothing,
    pause: nothing,
    resume: nothing,
    ref: nothing,
    unref: nothing,
  };
  const on = (event: string, listener: () => void) => told.set(event, listener);
  const socket = { ...plain, on } as unknown as Socket;
  const idle = new Set<Connection>();
  let owner!: SocketOwner;
  const connection = new Connection(
    {
      monotonicMs: () => 0,
      writeSoon: () => assert.fail('the first request is written when the socket stands'),
      keep: (one) => idle.add(one),
      forget: (one) => idle.delete(one),
      distrust: nothing,
    },
    (_, itsOwner) => {
      owner = itsOwner;
      return socket;
    },
    1_000,
  );
  const body: Buffer[] = [];
  let begun: { status: number; headers: UpstreamHeaders } | null = null;
  let ends = 0;
  let whole: Taken['whole'] = null;
  connection.send(
    { head: '', body: null, headersTimeoutMs: 1_000, bodyTimeoutMs: 1_000 },
    {
      written: nothing,
      head(status, headers) {
        assert.equal(begun, null);
        begun = { status, headers };
      },
      bytes(piece) {
        body.push(piece);
        if (reader === 'pauses') connection.pause();
      },
      over() {
        ends += 1;
        const { status, headers } = begun!;
        whole = { status, type: headers.get('content-type'), body: Buffer.concat(body).toString('latin1') };
      },
      broken() {
        ends += 1;
      },
    },
  );
  owner.connected(null, socket);
  for (const piece of pieces) owner.received(piece);
  const reusable = idle.has(connection);
  if (end === 'closes') told.get('end')!();
  else told.get('error')!(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
  told.get('close')!();
  while (connection.paused) connection.resume();
  assert.equal(ends, 1, 'an exchange ends once');
  return { whole, reusable };
}

/** What node takes and we refuse, since others take it for something else. */
const refusedAlone: Record<string, (text: string, end: PeerEnd) => boolean> = {
  'an empty line before the answer': (text) => /(?:^|\r\n\r\n)[\r\n]+HTTP/.test(text),
  'a status of no class, or another protocol': (text) => /HTTP\/1\.[01] +(?:[06-9]\d\d|101)/.test(text),
  'a coding that is not `chunked`, once': (text) =>
    [...text.matchAll(/transfer-encoding:(.*)/gi)].some(([, value], i) => i > 0 || !/^ *chunked *\r?$/i.test(value!)),
  'an answer that ends with a connection that was reset': (_, end) => end === 'resets',
};

test('F12 whatever an upstream says, an answer is what node takes it for, or it is refused', async () => {
  await fc.assert(
    fc.asyncProperty(oddAnswers, async ({ text, cuts, end }) => {
      const pieces = cut(text, cuts);
      const node = await askNode(pieces, end);
      const ours = askOurs(pieces, end);
      if (ours.whole !== null) assert.deepEqual(ours.whole, node.whole);
      else if (node.whole !== null) assert.ok(Object.values(refusedAlone).some((refused) => refused(text, end)));
      if (ours.reusable) assert.equal(node.reusable, true, 'kept a socket that node gives up');
    }),
    { numRuns: 1_500 },
  );
});

test('an answer is the same to a reader who pauses at each piece, though the socket has ended by then', () => {
  fc.assert(
    fc.property(oddAnswers, ({ text, cuts, end }) => {
      const pieces = cut(text, cuts);
      assert.deepEqual(askOurs(pieces, end, 'pauses').whole, askOurs(pieces, end).whole);
    }),
    { numRuns: 1_000 },
  );
});

test('a good part of these answers is right: where all are refused, nothing is compared', () => {
  const some = fc.sample(oddAnswers, { numRuns: 500, seed: 1 });
  const whole = some.filter(({ text, cuts, end }) => askOurs(cut(text, cuts), end).whole !== null);
  assert.ok(whole.length > 150, `${whole.length} of 500`);
});
