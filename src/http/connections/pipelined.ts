import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that wait behind the one of their connection that is being answered. At one more they are its last. */
const waitingMax = 16;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

interface Waiting {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Serves pipelined requests one at a time, with their connection unread. When more are written at once than may wait,
 * the connection closes after those that do. Node would begin them all: 64 KB hold 2,300 requests, and nobody else has
 * a turn before the last one.
 */
export class Pipelined {
  private readonly serve: Serve;
  private readonly lines = new WeakMap<Socket, Waiting[]>();

  constructor(serve: Serve) {
    this.serve = serve;
  }

  /** Takes a request whose `response` has no connection yet: node gives it one when those before it are out. */
  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const before = responseOf(socket);
    if (before === null) return this.serve(request, response);
    const line = this.lines.get(socket) ?? this.lineBehind(before, socket);
    if (line.length < waitingMax) line.push({ request, response });
    else endBehind(line.at(-1)!.response, socket);
  }

  private lineBehind(before: ServerResponse, socket: Socket): Waiting[] {
    const line: Waiting[] = [];
    this.lines.set(socket, line);
    before.once('close', () => this.next(socket));
    // Node resumes it when it has read this request to its end, which is before the microtask. By then a quick answer may
    // be out, and this request be served: the rest of its body must come.
    queueMicrotask(() => {
      if (line.length > 0) socket.pause();
    });
    return line;
  }

  private next(socket: Socket): void {
    const line = this.lines.get(socket)!;
    const first = socket.destroyed ? undefined : line.shift();
    if (first === undefined) {
      this.lines.delete(socket);
      socket.resume();
      return;
    }
    first.response.once('close', () => this.next(socket));
    this.serve(first.request, first.response);
  }
}

/** The response that a connection is at. Node keeps it on the socket, and has no public name for it. */
export function responseOf(socket: Socket): ServerResponse | null {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

/** `last` is the connection's last answer, and nothing more that was written to it is read. */
function endBehind(last: ServerResponse, socket: Socket): void {
  last.shouldKeepAlive = false;
  // Value of an upgraded request: the parser stops there. There is no public way to end it in the middle of a chunk,
  // and a chunk of 2,300 requests takes 10 ms. Without this they are read, and dropped.
  const { parser } = socket as { parser?: { onIncoming?: unknown } };
  if (typeof parser?.onIncoming === 'function') parser.onIncoming = () => 2;
}
