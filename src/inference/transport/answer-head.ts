import type { UpstreamHeaders } from './upstream-call.ts';
import { WireFailure } from './wire-failure.ts';

/** The first lines of an answer, and how its body ends by RFC 9112 §6.3. */
export interface AnswerHead {
  status: number;
  headers: UpstreamHeaders;
  /** `close`: with the connection. */
  bodyEnds: 'at once' | 'by length' | 'by chunks' | 'by close';
  /** Of a body that ends by length. */
  bodyBytes: number;
  /** Whether the connection may carry another exchange. */
  keptAlive: boolean;
  /** Seconds of the `keep-alive: timeout=` hint; null without one. */
  keepAliveHintS: number | null;
}

const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [^\r\n]*)?$/;
/**
 * Whole lines of name, colon, value. No folded lines, no bare CR or LF, no blank before the colon: what two readers could
 * read differently is no answer.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not stand there.
const fieldLines = /^(?:[\w!#$%&'*+.^`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*$/;
const wholeNumber = /^\d{1,15}$/;

/** `text`: everything before the empty line, its last line's CRLF included; one character a byte. Throws WireFailure. */
export function readAnswerHead(text: string): AnswerHead {
  const firstEnd = text.indexOf('\r\n');
  const first = statusLine.exec(text.slice(0, firstEnd));
  const fields = text.slice(firstEnd + 2);
  if (first === null || !fieldLines.test(fields)) throw new WireFailure('not-http');
  const headers = new ReadHeaders(fields);
  const status = Number(first[2]);
  const keepAlive = headers.get('keep-alive');
  return {
    status,
    headers,
    ...bodyOf(status, headers),
    keptAlive: keptAlive(first[1] === '1', headers.get('connection')),
    keepAliveHintS: keepAlive === undefined ? null : hintS(keepAlive),
  };
}

function bodyOf(status: number, headers: UpstreamHeaders): Pick<AnswerHead, 'bodyEnds' | 'bodyBytes'> {
  const coding = headers.get('transfer-encoding');
  const length = headers.get('content-length');
  if (coding !== undefined) {
    // Both would be two ends; of codings under chunks we speak none.
    if (length !== undefined || coding.toLowerCase() !== 'chunked') throw new WireFailure('not-http');
  } else if (length !== undefined && !wholeNumber.test(length)) throw new WireFailure('not-http');
  if (status < 200 || status === 204 || status === 304) return { bodyEnds: 'at once', bodyBytes: 0 };
  if (coding !== undefined) return { bodyEnds: 'by chunks', bodyBytes: 0 };
  if (length === undefined) return { bodyEnds: 'by close', bodyBytes: 0 };
  return { bodyEnds: length === '0' ? 'at once' : 'by length', bodyBytes: Number(length) };
}

function keptAlive(is11: boolean, connection: string | undefined): boolean {
  if (connection === undefined) return is11;
  const words = connection.toLowerCase().split(',');
  if (words.some((word) => word.trim() === 'close')) return false;
  return is11 || words.some((word) => word.trim() === 'keep-alive');
}

function hintS(keepAlive: string): number | null {
  const timeout = /(?:^|[,;\s])timeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return timeout === undefined ? null : Number(timeout);
}

class ReadHeaders implements UpstreamHeaders {
  /** Name, value, name, value…; names in lower case. */
  private readonly list: string[] = [];

  constructor(fields: string) {
    for (let at = 0; at < fields.length; ) {
      const colon = fields.indexOf(':', at);
      const end = fields.indexOf('\r\n', colon);
      this.list.push(fields.slice(at, colon).toLowerCase(), fields.slice(colon + 1, end).trim());
      at = end + 2;
    }
  }

  get(name: string): string | undefined {
    let found: string | undefined;
    for (let at = 0; at < this.list.length; at += 2) {
      if (this.list[at] !== name) continue;
      found = found === undefined ? this.list[at + 1]! : `${found}, ${this.list[at + 1]!}`;
    }
    return found;
  }
}
