import { dripped, firstBytes, firstFrames, gzipped, type Step, withCrlf } from '../answer-steps.ts';
import type { Reply } from '../compose-reply.ts';
import type { FaultSpec } from './fault-spec.ts';
import type { Point } from './fault-values.ts';

/**
 * How the bytes stop: the end of the HTTP message, a TCP reset, a TCP close in the middle of the message, or not at
 * all.
 */
export type Ending = 'end' | 'reset' | 'fin' | 'stall';

/** Bytes for the wire. A string body with ending `end` is the plain case and has its length announced. */
export interface Delivery {
  status: number;
  headers: Record<string, string>;
  body: string | Iterable<Step>;
  ending: Ending;
}

/** The transport's faults, laid over a reply: where it stops and how, in which pieces, compressed or not. */
export function disturb(reply: Reply, spec: FaultSpec): Delivery {
  const { status, headers } = reply;
  const isWhole = typeof reply.body === 'string';
  const struck = strikeOf(spec);
  if (struck === null && spec.gzip === undefined && spec.drip === undefined && spec.crlf === undefined) {
    if (typeof reply.body === 'string') headers['content-length'] = String(Buffer.byteLength(reply.body));
    return { status, headers, body: reply.body, ending: 'end' };
  }
  let body: Iterable<Step> = typeof reply.body === 'string' ? [reply.body] : reply.body;
  const sizeBytes = typeof reply.body === 'string' ? Buffer.byteLength(reply.body) : null;
  if (spec.crlf && !isWhole) body = withCrlf(body);
  if (struck !== null && struck.point.unit !== 'bytes') body = stoppedAt(body, struck, reply.introFrames, sizeBytes);
  if (spec.gzip && headers['content-encoding'] === undefined) {
    headers['content-encoding'] = 'gzip';
    body = gzipped(body);
  } else if (sizeBytes !== null && struck?.ending !== 'end') {
    // The length is promised; cut, fin and stall then break the promise.
    headers['content-length'] = String(sizeBytes);
  }
  if (struck !== null && struck.point.unit === 'bytes') body = firstBytes(body, struck.point.count);
  if (spec.drip !== undefined) body = dripped(body, spec.drip.bytes, spec.drip.everyMs);
  return { status, headers, body, ending: struck?.ending ?? 'end' };
}

interface Strike {
  fault: 'cut' | 'fin' | 'eof' | 'stall';
  point: Point;
  ending: Ending;
}

function strikeOf(spec: FaultSpec): Strike | null {
  if (spec.cut !== undefined) return { fault: 'cut', point: spec.cut, ending: 'reset' };
  if (spec.fin !== undefined) return { fault: 'fin', point: spec.fin, ending: 'fin' };
  if (spec.eof !== undefined) return { fault: 'eof', point: spec.eof, ending: 'end' };
  if (spec.stall !== undefined) return { fault: 'stall', point: spec.stall, ending: 'stall' };
  return null;
}

/** Points that are not counted in bytes of the wire: frames, or the fault's own place. */
function stoppedAt(
  body: Iterable<Step>,
  struck: Strike,
  introFrames: number,
  sizeBytes: number | null,
): Iterable<Step> {
  const { point, fault } = struck;
  if (fault === 'stall' && point.unit === 'default') return firstBytes(body, 0);
  if (sizeBytes !== null) return firstBytes(body, Math.floor(sizeBytes / 2));
  if (point.unit === 'events') return firstFrames(body, point.count);
  // `eof` alone: the frames come without their end already.
  return fault === 'eof' ? body : firstFrames(body, introFrames + 1);
}
