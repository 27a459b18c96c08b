import { type MessagePort, parentPort } from 'node:worker_threads';
import { FailureError } from '../failure.ts';

/** The port to the thread that started this one. Throws in the main thread, which has none. */
export function threadPort(): MessagePort {
  if (parentPort === null) throw new Error('this file runs in a worker thread');
  return parentPort;
}

/** Answers calls of what is offered, by name (`callThread`). */
export function answerCalls<Offers extends object>(offers: Offers): void {
  answerOrders(({ method, args }: { id: number; method: keyof Offers & string; args: unknown[] }) =>
    Reflect.apply(offers[method] as (...args: unknown[]) => unknown, offers, args),
  );
}

/**
 * Answers every order with what `done` makes of it or with its error, and reports that the thread has loaded. `memoryOf`:
 * parts of a result that move to the thread that asked; absent: all of it is copied.
 */
export function answerOrders<Order extends { id: number }, Result>(
  done: (order: Order) => Result,
  memoryOf: (result: Awaited<Result>) => ArrayBuffer[] = () => [],
): void {
  threadPort().on('message', async (order: Order) => {
    const { id } = order;
    try {
      const result = await done(order);
      threadPort().postMessage({ id, result }, memoryOf(result));
    } catch (error) {
      threadPort().postMessage(
        error instanceof FailureError ? { id, failure: error.failure } : { id, error: String(error) },
      );
    }
  });
  threadPort().postMessage({});
}
