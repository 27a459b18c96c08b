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
 * `serve`, for one request of a connection at a time. Pipelined ones wait, their connection unread; where more are
 * written at once than may wait, the connection closes behind those that do. Node would begin them all: 2,300 stand in
 * 64 KB, and nobody else has a turn before the last one.
 */
export function oneAtATime(serve: Serve): Serve {
  const lines = new WeakMap<Socket, Waiting[]>();

  function next(socket: Socket): void {
    const line = lines.get(socket)!;
    const first = socket.destroyed ? undefined : line.shift();
    if (first === undefined) {
      lines.delete(socket);
      socket.resume();
      return;
    }
    first.response.once('close', () => next(socket));
    serve(first.request, first.response);
  }

  function lineBehind(before: ServerResponse, socket: Socket): Waiting[] {
    const line: Waiting[] = [];
    lines.set(socket, line);
    before.once('close', () => next(socket));
    // Node resumes it when it has read this request to its end, which is before the microtask. By then a quick answer may
    // be out, and this request be served: the rest of its body must come.
    queueMicrotask(() => {
      if (line.length > 0) socket.pause();
    });
    return line;
  }

  return (request, response) => {
    // Node gives a response its connection when those before it are out.
    const before = response.socket === null ? responseOf(request.socket) : null;
    if (before === null) return serve(request, response);
    const { socket } = request;
    const line = lines.get(socket) ?? lineBehind(before, socket);
    if (line.length < waitingMax) line.push({ request, response });
    else endBehind(line.at(-1)!.response, socket);
  };
}

/** The response that a connection is at. Node keeps it on the socket, and has no public name for it. */
export function responseOf(socket: Socket): ServerResponse | null {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

/** `last` is the connection's last answer, and nothing more that was written to it is read. */
function endBehind(last: ServerResponse, socket: Socket): void {
  last.shouldKeepAlive = false;
  // What an upgraded request gives back: the parser stops there. No public way ends it in the middle of what it has read,
  // and a chunk of 2,300 requests takes 10 ms to its end. Without it they are read, and dropped.
  const { parser } = socket as { parser?: { onIncoming?: unknown } };
  if (typeof parser?.onIncoming === 'function') parser.onIncoming = () => 2;
}
