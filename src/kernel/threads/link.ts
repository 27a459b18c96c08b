import { BriefMap } from '../brief.ts';
import { type Failure, FailureError } from '../failure.ts';

/** Functions that one end of a link offers to the other. Arguments and results are cloned on their way. */
export type Offers = object;

type Args<F> = F extends (...args: infer A) => unknown ? A : never;
type Result<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;

/** The offers of another process or thread, over messages: one for all that a turn of the loop says, in its order. */
export interface Link<Theirs extends Offers> {
  /**
   * Calls `name` there. Rejects with what it threw (a FailureError as such, of others the message), and when the other
   * process is gone.
   */
  ask<Name extends keyof Theirs & string>(name: Name, ...args: Args<Theirs[Name]>): Promise<Result<Theirs[Name]>>;
  /** The same without an answer. */
  notify<Name extends keyof Theirs & string>(name: Name, ...args: Args<Theirs[Name]>): void;
  /** Takes a message of the other process. */
  take(message: unknown): void;
  /** Questions without an answer. */
  readonly pending: number;
  /** Rejects what waits, and all later questions. */
  closed(why: string | Failure): void;
}

/** Arrays, because every name of a member would be sent with each. `id` 0: nobody waits for an answer. */
type LinkMessage =
  | [kind: 'ask', id: number, name: string, args: unknown[]]
  | [kind: 'answer', id: number, result: unknown]
  | [kind: 'failed', id: number, message: string, failure: Failure | null];

/** `send` gives a message to the other process, and may throw where that is gone. */
export function createLink<Theirs extends Offers>(send: (message: object) => void, ours: Offers): Link<Theirs> {
  const waiting = new BriefMap<{ resolve(result: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let over: string | Failure | null = null;
  let outgoing: LinkMessage[] = [];

  /** A process that is about to end cannot be sent to; its end rejects what waits. */
  function flush(): void {
    if (outgoing.length === 0) return;
    const link = outgoing;
    outgoing = [];
    try {
      send({ link });
    } catch (error) {
      // Else the link learns of the end by `closed`.
      if (error instanceof Error && error.name === 'DataCloneError') sendApart(link, error);
    }
  }

  /** One that cannot be cloned must not take the others with it. */
  function sendApart(all: readonly LinkMessage[], error: Error): void {
    for (const one of all) {
      const failed: LinkMessage = ['failed', one[1], String(error), null];
      if (all.length === 1 && one[0] === 'ask') takeOne(failed);
      else {
        outgoing = [all.length === 1 ? failed : one];
        flush();
      }
    }
  }

  function enqueue(one: LinkMessage): void {
    if (outgoing.push(one) === 1) setImmediate(flush);
  }

  const answer = createAnswers(ours, enqueue);

  function takeOne(one: LinkMessage): void {
    if (one[0] === 'ask') return answer(one[1], one[2], one[3]);
    const asker = waiting.take(String(one[1]));
    if (one[0] === 'answer') asker?.resolve(one[2]);
    else asker?.reject(errorOf(one[3] ?? one[2]));
  }

  return {
    ask(name, ...args) {
      if (over !== null) return Promise.reject(errorOf(over));
      return new Promise((resolve, reject) => {
        lastId += 1;
        waiting.set(String(lastId), { resolve: (result) => resolve(result as never), reject });
        enqueue(['ask', lastId, name, args]);
      });
    },
    notify: (name, ...args) => enqueue(['ask', 0, name, args]),
    take(message) {
      if (!isMessage(message)) return;
      for (const one of message.link) takeOne(one);
    },
    get pending() {
      return waiting.size;
    },
    closed(why) {
      over = why;
      for (const one of waiting.values()) one.reject(errorOf(why));
      waiting.clear();
    },
  };
}

function errorOf(why: string | Failure): Error {
  return typeof why === 'string' ? new Error(why) : new FailureError(why);
}

/** Answers questions by what is offered. */
function createAnswers(ours: Offers, enqueue: (one: LinkMessage) => void) {
  function failed(id: number, error: unknown): void {
    if (id === 0) return throwLater(error);
    const message = error instanceof Error ? error.message : String(error);
    enqueue(['failed', id, message, error instanceof FailureError ? error.failure : null]);
  }

  return function answer(id: number, name: string, args: unknown[]): void {
    try {
      const offer: unknown = Reflect.get(ours, name);
      if (typeof offer !== 'function') throw new Error(`this process has no ${name}`);
      const result: unknown = Reflect.apply(offer, ours, args);
      // What is known at once costs no promise.
      if (result instanceof Promise)
        result.then(
          (late) => id !== 0 && enqueue(['answer', id, late]),
          (error) => failed(id, error),
        );
      else if (id !== 0) enqueue(['answer', id, result]);
    } catch (error) {
      failed(id, error);
    }
  };
}

/** It comes to the log, and the rest of the message is taken. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** `cluster` sends messages over the same channel. */
function isMessage(message: unknown): message is { link: LinkMessage[] } {
  return typeof message === 'object' && message !== null && 'link' in message && Array.isArray(message.link);
}
