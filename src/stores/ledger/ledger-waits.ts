import { FailureError } from '../../kernel/failure.ts';

/** How long a row waits to be written, and how many may, whatever the database: what callers are promised of the books. */

/**
 * A reservation that is not committed by then is refused, queueing and connecting included: the caller is to have the
 * 503 within 250 ms (design §11), its way there and back included. Our own loop's lag is left out (kernel/loop-clock).
 */
export const openTimeoutMs = 230;
/** A close that cannot be written is kept in memory this long; then its reservation is charged at the estimate. */
export const closeRetryMs = 30_000;
/** The same when the process stops: a supervisor kills it soon, mostly after 10 s. */
export const stopRetryMs = 5_000;
/** Waiting reservations beyond these are refused: memory stays bounded while the database is away. */
export const queuedOpensMax = 20_000;
/**
 * Nobody waits for a close, so closes are written many at a time: that halves the commits (measured with SQLite: 19 µs
 * a request against 32 at one open a turn). A crash within the delay leaves reservations that are charged at their
 * estimate.
 */
export const closeBatchRows = 32;
export const closeDelayMs = 20;

/** For a refused reservation; `reason` names no host. */
export function notRecorded(reason: string, cause?: 'disk-full'): FailureError {
  return new FailureError({
    kind: 'quota-unavailable',
    ...(cause !== undefined && { cause }),
    message: `The usage ledger cannot record the request now, so it was not sent (${reason}). Retry it.`,
  });
}

/** A sink that no process took for so long holds back nothing any more. */
export const sinkForgottenMs = 7 * 86_400_000;
