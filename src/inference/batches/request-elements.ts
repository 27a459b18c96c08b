import { FailureError, invalid } from '../../kernel/failure.ts';
import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote } from '../../kernel/json-marks.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';

/**
 * The elements of the top-level member `requests` of a JSON body that comes in pieces, each as its bytes. Only one of
 * them is in memory, of at most `elementBytesMax`. What is around them is read over: it need not be JSON.
 * Throws a FailureError for a body that has none, or breaks off.
 */
export async function* requestElements(body: AsyncIterable<Buffer>, elementBytesMax: number): AsyncGenerator<Buffer> {
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** The last string of the top level: a key, when an array begins behind it. */
  let key = '';
  let inRequests = false;
  let found = 0;
  /** Pieces of the present element. */
  let parts: Buffer[] = [];
  let bytes = 0;

  for await (const piece of body) {
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
        if (depth === 1 && inString && key.length <= keyCharsMax) key += String.fromCharCode(byte);
        continue;
      }
      switch (byte) {
        case quote:
          inString = true;
          if (depth === 1) key = '';
          if (inRequests && depth === 2) throw notAnObject(found);
          break;
        case openBrace:
        case openBracket:
          depth += 1;
          if (depth > jsonDepthMax) throw tooDeep(inRequests ? `requests.${found}` : null);
          if (depth === 2 && byte === openBracket && key === 'requests') inRequests = true;
          else if (inRequests && depth === 3) {
            if (byte === openBracket) throw notAnObject(found);
            from = at;
          }
          break;
        case closeBrace:
        case closeBracket:
          depth -= 1;
          if (inRequests && depth === 2) {
            parts.push(piece.subarray(from, at + 1));
            if (bytes + at + 1 - from > elementBytesMax) throw tooLong(`requests.${found}`, elementBytesMax);
            yield Buffer.concat(parts);
            parts = [];
            bytes = 0;
            found += 1;
          } else if (depth === 1) {
            inRequests = false;
            key = '';
          }
          break;
        default:
          if (inRequests && depth === 2 && !between.has(byte)) throw notAnObject(found);
      }
    }
    if (inRequests && depth >= 3) {
      parts.push(Buffer.from(piece.subarray(from)));
      bytes += piece.length - from;
      if (bytes > elementBytesMax) throw tooLong(`requests.${found}`, elementBytesMax);
    }
  }
  if (depth !== 0 || inString) throw new FailureError(invalid(null, 'The request body is not valid JSON.'));
  if (found === 0) throw new FailureError(invalid('requests', "'requests' must be an array of at least one request."));
}

function tooLong(param: string, bytesMax: number): FailureError {
  return new FailureError(invalid(param, `'${param}' is longer than ${bytesMax} bytes.`));
}

const keyCharsMax = 16;
const between: ReadonlySet<number> = new Set([comma, 0x20, 0x0a, 0x0d, 0x09]);

function tooDeep(param: string | null): FailureError {
  const what = param === null ? 'The request body' : `'${param}'`;
  return new FailureError(invalid(param, `${what} nests deeper than ${jsonDepthMax} levels.`));
}

function notAnObject(at: number): FailureError {
  return new FailureError(invalid(`requests.${at}`, `'requests.${at}' must be an object.`));
}
