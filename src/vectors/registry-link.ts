import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { createLink } from '../kernel/threads/link.ts';
import { remoteOf } from '../kernel/threads/remote.ts';
import type { VectorRegistry } from './registry.ts';

/*
 * The registry in a thread without a database: requests go to the main thread, which has one. Both ends of it. Messages
 * are small: rows of one tenant, or a page.
 */

/** A port for one thread, to be transferred to it. It ends with the thread. */
export function registryPort(registry: VectorRegistry): MessagePort {
  const { port1: here, port2: there } = new MessageChannel();
  const link = createLink((message) => here.postMessage(message), registry);
  here.on('message', link.take);
  // A stopping server does not wait for it.
  here.unref();
  return there;
}

/** The other end, in the thread. When the port closes, waiting calls fail: 503. */
export function linkRegistry(port: MessagePort): VectorRegistry {
  const link = createLink<VectorRegistry>((message) => port.postMessage(message), {});
  port.on('message', link.take);
  port.on('close', () => link.closed({ kind: 'overloaded', message: 'The vector store is stopping. Retry it.' }));
  port.unref();
  return remoteOf<VectorRegistry>((name, args) => link.ask(name, ...(args as never)));
}
