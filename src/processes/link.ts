/** Functions that one end of a link offers to the other. Arguments and results are cloned on their way. */
export type Offers = object;

type Args<F> = F extends (...args: infer A) => unknown ? A : never;
type Result<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;

/** The offers of the other process, over messages. */
export interface Link<Theirs extends Offers> {
  /** Calls `name` there. Rejects with the message of what it threw, and when the other process is gone. */
  ask<Name extends keyof Theirs & string>(name: Name, ...args: Args<Theirs[Name]>): Promise<Result<Theirs[Name]>>;
  /** The same without an answer. */
  tell<Name extends keyof Theirs & string>(name: Name, ...args: Args<Theirs[Name]>): void;
  /** Takes a message of the other process. */
  take(message: unknown): void;
  /** Rejects what waits, and all later questions. */
  gone(why: string): void;
}

type Message =
  | { link: 'ask'; id: number | null; name: string; args: unknown[] }
  | { link: 'answer'; id: number; result: unknown }
  | { link: 'failed'; id: number; message: string };

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** `send` gives a message to the other process, and may throw where that is gone. */
export function createLink<Theirs extends Offers>(send: (message: object) => void, ours: Offers): Link<Theirs> {
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let over: string | null = null;

  /** A process that is about to end cannot be sent to; its end rejects what waits. */
  function post(message: Message): void {
    try {
      send(message);
    } catch {
      // The link learns of the end by `gone`.
    }
  }

  async function answer({ id, name, args }: Message & { link: 'ask' }): Promise<void> {
    try {
      const offer: unknown = Reflect.get(ours, name);
      if (typeof offer !== 'function') throw new Error(`this process has no ${name}`);
      const result: unknown = await Reflect.apply(offer, ours, args);
      if (id !== null) post({ link: 'answer', id, result });
    } catch (error) {
      if (id === null) throw error;
      post({ link: 'failed', id, message: error instanceof Error ? error.message : String(error) });
    }
  }

  return {
    ask(name, ...args) {
      if (over !== null) return Promise.reject(new Error(over));
      asked += 1;
      const id = asked;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve: (result) => resolve(result as never), reject });
        post({ link: 'ask', id, name, args });
      });
    },
    tell: (name, ...args) => post({ link: 'ask', id: null, name, args }),
    take(message) {
      if (!isMessage(message)) return;
      if (message.link === 'ask') return void answer(message);
      const one = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.link === 'answer') one?.resolve(message.result);
      else one?.reject(new Error(message.message));
    },
    gone(why) {
      over = why;
      for (const one of waiting.values()) one.reject(new Error(why));
      waiting.clear();
    },
  };
}

/** `cluster` sends messages over the same channel. */
function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'link' in message;
}
