import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { BriefMap } from '../kernel/brief.ts';
import { type Failure, FailureError } from '../kernel/failure.ts';
import type { VectorRegistry } from './registry.ts';

/**
 * The registry in a thread without a database: requests go to the main thread, which has one. Both ends of it. Messages
 * are small: rows of one tenant, or a page.
 */
interface Question {
  number: number;
  method: Method;
  args: unknown[];
}

type Answer =
  | { number: number; result: unknown }
  | { number: number; failure: Failure }
  | { number: number; defect: string };

type Method = keyof VectorRegistry;
type AnyMethod = (...args: unknown[]) => Promise<unknown>;

/** A port for one thread, to be transferred to it. It ends with the thread. */
export function registryPort(registry: VectorRegistry): MessagePort {
  const { port1: here, port2: there } = new MessageChannel();
  here.on('message', async ({ number, method, args }: Question) => {
    here.postMessage(await answer(registry, number, method, args));
  });
  // A stopping server does not wait for it.
  here.unref();
  return there;
}

async function answer(registry: VectorRegistry, number: number, method: Method, args: unknown[]): Promise<Answer> {
  try {
    return { number, result: await (registry[method] as AnyMethod)(...args) };
  } catch (error) {
    if (error instanceof FailureError) return { number, failure: error.failure };
    return { number, defect: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** The other end, in the thread. When the port closes, waiting calls fail: 503. */
export function linkRegistry(port: MessagePort): VectorRegistry {
  const waiting = new BriefMap<{ resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let questions = 0;
  let closed = false;

  port.on('message', (message: Answer) => {
    const asker = waiting.take(String(message.number));
    if ('failure' in message) asker?.reject(new FailureError(message.failure));
    else if ('defect' in message) asker?.reject(new Error(message.defect));
    else asker?.resolve(message.result);
  });
  port.on('close', () => {
    closed = true;
    for (const { reject } of waiting.values()) reject(stopping());
    waiting.clear();
  });
  port.unref();

  function ask(method: Method, args: unknown[]): Promise<unknown> {
    if (closed) return Promise.reject(stopping());
    const number = ++questions;
    return new Promise((resolve, reject) => {
      waiting.set(String(number), { resolve, reject });
      port.postMessage({ number, method, args } satisfies Question);
    });
  }

  function asking<M extends Method>(method: M) {
    return (...args: Parameters<VectorRegistry[M]>) => ask(method, args) as ReturnType<VectorRegistry[M]>;
  }

  return {
    find: asking('find'),
    list: asking('list'),
    create: asking('create'),
    drop: asking('drop'),
    configure: asking('configure'),
    indexes: asking('indexes'),
    index: asking('index'),
    forgetIndex: asking('forgetIndex'),
    aliases: asking('aliases'),
    changeAliases: asking('changeAliases'),
    all: asking('all'),
    adopt: asking('adopt'),
    purge: asking('purge'),
    dueDeletions: asking('dueDeletions'),
    deleted: asking('deleted'),
    deleteLater: asking('deleteLater'),
  };
}

function stopping(): FailureError {
  return new FailureError({ kind: 'overloaded', message: 'The vector store is stopping. Retry it.' });
}
