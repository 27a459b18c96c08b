import type { ServerResponse } from 'node:http';
import type { Step } from './answer-steps.ts';
import type { Delivery, Ending } from './faults/disturb.ts';
import type { Exchange } from './recording.ts';

/**
 * A reset throws away what the kernel has not delivered yet; this much time lets the reader take it, so that `cut=120`
 * means that 120 bytes arrive.
 */
const settleMs = 5;

/** Writes a delivery to its socket: with backpressure, pauses and its ending. Stops when the client leaves. */
export function deliver(response: ServerResponse, delivery: Delivery, exchange: Exchange): void {
  response.writeHead(delivery.status, delivery.headers);
  const { body } = delivery;
  if (typeof body === 'string') {
    exchange.bytesSent = Buffer.byteLength(body);
    response.end(body);
    return;
  }
  pump(response, body[Symbol.iterator](), delivery.ending, exchange);
}

function pump(response: ServerResponse, steps: Iterator<Step>, ending: Ending, exchange: Exchange): void {
  let timer: NodeJS.Timeout | undefined;
  let flushed = false;

  function run(): void {
    while (!response.destroyed) {
      const step = steps.next();
      if (step.done) {
        response.off('close', stop);
        finish(response, ending, exchange);
        return;
      }
      if (typeof step.value === 'number') {
        // The headers must not wait for the first byte.
        if (!flushed) response.flushHeaders();
        flushed = true;
        if (step.value === 0) setImmediate(run);
        else timer = setTimeout(run, step.value);
        return;
      }
      flushed = true;
      exchange.bytesSent += typeof step.value === 'string' ? Buffer.byteLength(step.value) : step.value.length;
      if (!response.write(step.value)) {
        response.once('drain', run);
        return;
      }
    }
  }
  function stop(): void {
    clearTimeout(timer);
    steps.return?.();
  }
  response.once('close', stop);
  run();
}

function finish(response: ServerResponse, ending: Ending, exchange: Exchange): void {
  if (ending === 'end') {
    response.end();
    return;
  }
  response.flushHeaders();
  if (ending === 'stall') return;
  exchange.endedByUs = 'yes';
  onceFlushed(response, () => {
    if (ending === 'reset') response.socket?.resetAndDestroy();
    else response.socket?.end();
  });
}

function onceFlushed(response: ServerResponse, then: () => void): void {
  setTimeout(() => {
    if (response.destroyed) return;
    if (response.writableLength > 0) onceFlushed(response, then);
    else then();
  }, settleMs);
}
