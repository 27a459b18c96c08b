// The upstream of all proxies: a fixed 2 KB answer, or a stream of the asked kind. Raw sockets, so that it is cheap.
import { createServer, type Socket } from 'node:net';
import {
  anthropicFrames,
  monotonicUs,
  openAiFrames,
  type StreamFrames,
  type StreamKind,
  stamp,
  wholeAnswer,
} from './wire.ts';

/** Messages of the load process over the IPC channel, and their answers. */
export type UpstreamOrder = { ask: 'facts' };
export interface UpstreamFacts {
  openStreams: number;
  /** µs of the monotonic clock at which the last stream was closed by the other side. */
  lastClosedUs: number;
  /** Bytes that the flood streams got rid of. */
  floodBytes: number;
}

const chunkIntervalMs = 20;
const slots = chunkIntervalMs;
const slowIntervalMs = 5_000;
const shortChunks = 3;

const whole = Buffer.concat([
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${wholeAnswer.length}\r\n\r\n`),
  wholeAnswer,
]);
const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const modelList = JSON.stringify({ object: 'list', data: [{ id: 'bench-model', object: 'model' }] });

const facts: UpstreamFacts = { openStreams: 0, lastClosedUs: 0, floodBytes: 0 };
/** Paced streams by the millisecond of the interval in which they write: upstreams do not all speak at once. */
const paced: Map<Socket, StreamFrames>[] = Array.from({ length: slots }, () => new Map());
const slow = new Map<Socket, StreamFrames>();
let opened = 0;
let tick = 0;

const asChunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

function stampedChunks(): Map<StreamFrames, Buffer> {
  const now = stamp(monotonicUs());
  return new Map([openAiFrames, anthropicFrames].map((frames) => [frames, Buffer.from(asChunk(frames.chunk(now)))]));
}

function speak(streams: ReadonlyMap<Socket, StreamFrames>): void {
  if (streams.size === 0) return;
  const chunks = stampedChunks();
  for (const [socket, frames] of streams) socket.write(chunks.get(frames)!);
}

let nextTickUs = monotonicUs();
setInterval(() => {
  // Catches up what the timer slept over, so that the pace holds on a busy machine.
  for (const now = monotonicUs(); nextTickUs <= now; nextTickUs += 1_000) {
    speak(paced[tick % slots]!);
    tick += 1;
  }
}, 1);
setInterval(() => speak(slow), slowIntervalMs);

function openStream(socket: Socket, kind: StreamKind, frames: StreamFrames): void {
  const first = asChunk(frames.head) + asChunk(frames.chunk(stamp(monotonicUs())));
  if (kind === 'short') {
    const rest = asChunk(frames.chunk(stamp(0))).repeat(shortChunks) + asChunk(frames.tail) + asChunk('');
    socket.write(streamHead + first + rest);
    return;
  }
  facts.openStreams += 1;
  const slot = paced[opened % slots]!;
  opened += 1;
  socket.once('close', () => {
    facts.openStreams -= 1;
    facts.lastClosedUs = monotonicUs();
    slot.delete(socket);
    slow.delete(socket);
  });
  switch (kind) {
    case 'paced':
      socket.write(streamHead + first);
      slot.set(socket, frames);
      return;
    case 'slow':
      socket.write(streamHead + first);
      slow.set(socket, frames);
      return;
    case 'flood':
      socket.write(streamHead + first);
      flood(socket, Buffer.from(asChunk(frames.chunk(stamp(0))).repeat(350)));
  }
}

function flood(socket: Socket, block: Buffer): void {
  const before = socket.bytesWritten - socket.writableLength;
  const pour = () => {
    while (!socket.destroyed && socket.write(block))
      facts.floodBytes = socket.bytesWritten - socket.writableLength - before;
  };
  socket.on('drain', pour);
  const watch = setInterval(() => {
    if (socket.destroyed) clearInterval(watch);
    else facts.floodBytes = socket.bytesWritten - socket.writableLength - before;
  }, 50);
  pour();
}

const kindMark = Buffer.from('bench:');

function answer(socket: Socket, request: Buffer): void {
  const at = request.indexOf(kindMark);
  // A GET: the list of models that a gateway asks for when it starts.
  if (at < 0) {
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${modelList.length}\r\n\r\n${modelList}`,
    );
    return;
  }
  // `whole`: by its first letter, the cheapest way to see it.
  if (request[at + kindMark.length] === 0x77) {
    socket.write(whole);
    return;
  }
  const kind = /^[a-z]+/.exec(
    request.toString('latin1', at + kindMark.length, at + kindMark.length + 8),
  )?.[0] as StreamKind;
  openStream(socket, kind, request.includes('/messages ') ? anthropicFrames : openAiFrames);
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer | null = null;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    const request: Buffer = pending === null ? chunk : Buffer.concat([pending, chunk]);
    pending = isWhole(request) ? null : request;
    if (pending === null) answer(socket, request);
  });
});

/** One request at a time on a connection: no proxy here pipelines. */
function isWhole(request: Buffer): boolean {
  const headEnd = request.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const head = request.toString('latin1', 0, headEnd);
  if (/transfer-encoding: *chunked/i.test(head)) return request.subarray(-5).equals(Buffer.from('0\r\n\r\n'));
  const length = /content-length: *(\d+)/i.exec(head)?.[1];
  return request.length >= headEnd + 4 + Number(length ?? 0);
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : null });
});
process.on('message', (order: UpstreamOrder) => {
  if (order.ask === 'facts') process.send?.(facts);
});
process.on('disconnect', () => process.exit(0));
