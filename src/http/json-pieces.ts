import { type Failure, FailureError } from '../kernel/failure.ts';
import type { Exchange } from './exchange.ts';
import { BodyPace, wrongEncoding, wrongMediaType } from './read-body.ts';

/**
 * The JSON body of a request in pieces as they come, for bodies that are never whole in memory. Throws a FailureError for
 * another content type (415), more than `bytesMax` (413), one that comes too slowly (408), and one that breaks off.
 */
export async function* jsonPieces(exchange: Exchange, bytesMax: number): AsyncGenerator<Buffer> {
  const refused = exchange.givenBody === null ? wrongMediaType(exchange.request.headers['content-type']) : null;
  if (refused !== null) throw new FailureError(refused);
  yield* bodyPieces(exchange, bytesMax);
}

/** The same for a body of any content type. */
export async function* bodyPieces(exchange: Exchange, bytesMax: number): AsyncGenerator<Buffer> {
  if (exchange.givenBody !== null) {
    yield exchange.givenBody;
    return;
  }
  const { request, response } = exchange;
  const { 'content-encoding': encoding, 'content-length': declared, expect } = request.headers;
  const refused = wrongEncoding(encoding);
  if (refused !== null) throw new FailureError(refused);
  if (declared !== undefined && Number(declared) > bytesMax) throw new FailureError(tooLarge(bytesMax));
  if (expect !== undefined) response.writeContinue();
  let tooSlow: Failure | null = null;
  const pace = new BodyPace(request, bytesMax, (failure) => {
    tooSlow = failure;
    stop();
  });
  let stop: () => void = () => {};
  const stopped = new Promise<'stopped'>((resolve) => {
    stop = () => resolve('stopped');
  });
  const pieces = request.iterator({ destroyOnReturn: false });
  let bytes = 0;
  try {
    for (;;) {
      const next = await Promise.race([pieces.next(), stopped]);
      if (next === 'stopped') throw new FailureError(tooSlow!);
      if (next.done === true) return;
      const piece = next.value as Buffer;
      bytes += piece.length;
      if (bytes > bytesMax) throw new FailureError(tooLarge(bytesMax));
      pace.came(piece.length);
      yield piece;
    }
  } catch (error) {
    if (error instanceof FailureError) throw error;
    // The caller left while it sent: nobody gets this.
    throw new FailureError({ kind: 'request-timeout', message: 'The request body broke off.' });
  } finally {
    pace.end();
    // It waits behind a piece that is awaited. Once it listens no more, what is left of the body is read over: the
    // connection would serve no other request before.
    pieces.return?.().catch(() => undefined);
    setImmediate(() => request.resume());
  }
}

function tooLarge(limitBytes: number): Failure {
  return { kind: 'body-too-large', limitBytes };
}
