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

/** Answers every order with what `done` makes of it or with its error, and reports that the thread has loaded. */
export function answerOrders<Order extends { id: number }>(done: (order: Order) => unknown): void {
  threadPort().on('message', async (order: Order) => {
    const { id } = order;
    try {
      threadPort().postMessage({ id, result: await done(order) });
    } catch (error) {
      threadPort().postMessage(
        error instanceof FailureError ? { id, failure: error.failure } : { id, error: String(error) },
      );
    }
  });
  threadPort().postMessage({});
}
