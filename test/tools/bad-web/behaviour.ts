import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** One way in which a page misbehaves (F59), and what whoever scrapes it must see. */
export interface Behaviour {
  answer(response: ServerResponse, request: IncomingMessage): void;
  expect: Expected;
  /** Members of the scrape request beside the URL. */
  asked?: Readonly<Record<string, unknown>>;
}

export type Expected =
  /** 200: the page, or what of it can be given. */
  | { page: RegExp; status?: number; warning?: RegExp; url?: RegExp }
  /** Our refusal. */
  | { refused: Refusal | readonly Refusal[] };

export type Refusal =
  | 'page_timeout'
  | 'page_unreachable'
  | 'page_broken'
  | 'page_unreadable'
  | 'page_redirects'
  | 'page_too_large'
  | 'url_blocked';

export type Behaviours = Readonly<Record<string, Behaviour>>;

/** For pages that never end by themselves: what they are waited for. */
export const shortMs = 1_500;

/** Writes these bytes instead of an answer, and leaves the connection open. */
export function raw(write: (socket: Socket) => void): Behaviour['answer'] {
  return (response) => {
    const socket = response.socket!;
    socket.on('error', () => undefined);
    response.detachSocket(socket);
    write(socket);
  };
}

/** These bytes, then the end of the connection. */
export const rawText = (text: string | Buffer): Behaviour['answer'] => raw((socket) => void socket.end(text));

export function html(body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Behaviour['answer'] {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers });
    response.end(body);
  };
}

/** Writes for as long as somebody reads. */
export function pour(into: NodeJS.WritableStream, closes: NodeJS.EventEmitter, piece: string | Buffer): void {
  const block = Buffer.concat(Array.from({ length: Math.ceil(65_536 / piece.length) }, () => Buffer.from(piece)));
  let gone = false;
  closes.once('close', () => {
    gone = true;
  });
  into.on('error', () => undefined);
  const more = () => {
    while (!gone && into.write(block));
    if (!gone) into.once('drain', more);
  };
  more();
}

/** Something every 20 ms for as long as somebody reads. */
export function drip(into: NodeJS.WritableStream, closes: NodeJS.EventEmitter, piece: string): void {
  into.on('error', () => undefined);
  const timer = setInterval(() => into.write(piece), 20);
  closes.once('close', () => clearInterval(timer));
}
