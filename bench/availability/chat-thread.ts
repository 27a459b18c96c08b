import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { type CallSeen, type Calls, openLoop } from '../../test/faults/many-calls.ts';

interface Order {
  calls: Calls;
  perSecond: number;
}

/**
 * `openLoop` in a thread of its own: the one that sends what another tenant takes would measure itself. Resolves when the
 * first call goes out.
 */
export async function startOpenLoop(calls: Calls, perSecond: number): Promise<{ seen: Promise<CallSeen[]> }> {
  const order: Order = { calls, perSecond };
  const thread = new Worker(new URL(import.meta.url), { workerData: order });
  await once(thread, 'message');
  return { seen: once(thread, 'message').then(([seen]) => seen as CallSeen[]) };
}

if (parentPort !== null) {
  const { calls, perSecond } = workerData as Order;
  parentPort.postMessage('begun');
  parentPort.postMessage(await openLoop(calls, perSecond));
}
