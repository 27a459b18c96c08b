import type { IncomingMessage } from 'node:http';

const bodyBytesMax = 64 * 1024 * 1024;

/** Reads a request's body and calls back once, at its end; null when it is larger than 64 MB. Never, if it breaks off. */
export function collectBody(request: IncomingMessage, then: (text: string | null) => void): void {
  let first: Buffer | null = null;
  let rest: Buffer[] | null = null;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) {
      first = null;
      rest = null;
    } else if (first === null) first = chunk;
    else if (rest === null) rest = [first, chunk];
    else rest.push(chunk);
  });
  request.on('end', () => {
    if (bytes > bodyBytesMax) then(null);
    else then(rest === null ? (first === null ? '' : first.toString()) : Buffer.concat(rest).toString());
  });
}
