/** One request as its first lines say it. */
export interface HeadFacts {
  method: 'POST' | 'GET';
  /** Path and query. */
  path: string;
  /** Host and port, as the Host header has them. */
  host: string;
  /** Flat list name, value, name, value…; without Host, Content-Length, Accept-Encoding. */
  headers: readonly string[];
  /** Null: no body at all. */
  bodyBytes: number | null;
}

/** The lines of a list of headers; lists are mostly one a credential, so each is looked at and joined once. */
const knownLines = new WeakMap<readonly string[], string>();

/**
 * The first lines of a request, to be written as latin1. Null for what would not be one line each: a line break in a
 * path or a value would be the beginning of another request.
 */
export function requestHead({ method, path, host, headers, bodyBytes }: HeadFacts): string | null {
  const lines = linesOf(headers);
  if (lines === null || notInPath.test(path)) return null;
  const length = bodyBytes === null ? '' : `content-length: ${bodyBytes}\r\n`;
  // Compressing tokens one by one costs both sides more than it saves; who compresses all the same is understood.
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${lines}accept-encoding: identity\r\n${length}\r\n`;
}

function linesOf(headers: readonly string[]): string | null {
  const known = knownLines.get(headers);
  if (known !== undefined) return known;
  let lines = '';
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!;
    const value = headers[at + 1]!;
    if (!headerName.test(name) || notInValue.test(value)) return null;
    lines += `${name}: ${value}\r\n`;
  }
  knownLines.set(headers, lines);
  return lines;
}

/** RFC 9112 §3.2, a little wider: what no careful client sends is refused by upstreams, not by us. */
const notInPath = /[^\x21-\x7e\x80-\xff]/;
/** RFC 9110 §5.6.2 and §5.5. */
const headerName = /^[\w!#$%&'*+.^`|~-]+$/;
const notInValue = /[^\t\x20-\x7e\x80-\xff]/;
