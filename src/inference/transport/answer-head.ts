import { areFieldLines } from './field-lines.ts';
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
const wholeNumber = /^\d{1,15}$/;
const tabbedCoding = /^transfer-encoding:.*\t/im;

/** `text`: everything before the empty line, its last line's CRLF included; one character a byte. Throws WireFailure. */
export function readAnswerHead(text: string): AnswerHead {
  const firstEnd = text.indexOf('\r\n');
  const first = statusLine.exec(text.slice(0, firstEnd));
  const fields = text.slice(firstEnd + 2);
  if (first === null || !areFieldLines(fields)) throw new WireFailure('not-http');
  const headers = new ReadHeaders(fields);
  const is11 = first[1] === '1';
  const status = Number(first[2]);
  const body = bodyOf(status, headers, fields);
  const keepAlive = headers.get('keep-alive');
  return {
    status,
    headers,
    ...body,
    // HTTP/1.0 knows no chunks: whoever passed them on may not have read them (RFC 9112 §6.1).
    keptAlive: keptAlive(is11, headers) && (is11 || body.bodyEnds !== 'by chunks'),
    keepAliveHintS: keepAlive === undefined ? null : hintS(keepAlive),
  };
}

function bodyOf(status: number, headers: UpstreamHeaders, fields: string): Pick<AnswerHead, 'bodyEnds' | 'bodyBytes'> {
  const coding = headers.get('transfer-encoding');
  const length = headers.get('content-length');
  if (coding !== undefined) {
    // Both would be two ends; of codings under chunks we speak none.
    if (length !== undefined || coding.toLowerCase() !== 'chunked') throw new WireFailure('not-http');
    // A blank by the RFC, another coding to node's parser.
    if (tabbedCoding.test(fields)) throw new WireFailure('not-http');
  } else if (length !== undefined && !wholeNumber.test(length)) throw new WireFailure('not-http');
  if (status < 200 || status === 204 || status === 304) return { bodyEnds: 'at once', bodyBytes: 0 };
  if (coding !== undefined) return { bodyEnds: 'by chunks', bodyBytes: 0 };
  if (length === undefined) return { bodyEnds: 'by close', bodyBytes: 0 };
  return { bodyEnds: length === '0' ? 'at once' : 'by length', bodyBytes: Number(length) };
}

function keptAlive(is11: boolean, headers: UpstreamHeaders): boolean {
  const connection = headers.get('connection') ?? '';
  // Nobody is asked for that one, but whoever says it will close.
  if (says(connection, 'close') || says(headers.get('proxy-connection') ?? '', 'close')) return false;
  return is11 || says(connection, 'keep-alive');
}

function says(list: string, word: string): boolean {
  if (list === '' || list === word) return list === word;
  const words = list.toLowerCase().split(',');
  return words.some((one) => trimBlanks(one) === word);
}

function hintS(keepAlive: string): number | null {
  const timeout = /(?:^|[,;\s])timeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return timeout === undefined ? null : Number(timeout);
}

/** Of spaces and tabs alone (RFC 9110 §5.5): `trim` takes a no-break space too, which makes another value of this one. */
function trimBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start += 1;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

class ReadHeaders implements UpstreamHeaders {
  /** Name, value, name, value…; names in lower case. */
  private readonly list: string[] = [];

  constructor(fields: string) {
    for (let at = 0; at < fields.length; ) {
      const colon = fields.indexOf(':', at);
      const end = fields.indexOf('\r\n', colon);
      this.list.push(fields.slice(at, colon).toLowerCase(), trimBlanks(fields.slice(colon + 1, end)));
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
