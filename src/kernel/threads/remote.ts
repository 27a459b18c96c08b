import type { WorkThread } from './work-thread.ts';

/** Functions that are called elsewhere, in another thread or process: arguments and results are cloned on their way. */
export type Remote<Offers> = {
  [Name in keyof Offers]: Offers[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** All of `Offers` by `ask`, but for those that are `here`. */
export function remoteOf<Offers extends object>(
  ask: (name: keyof Offers & string, args: unknown[]) => Promise<unknown>,
  here: Partial<Remote<Offers>> = {},
): Remote<Offers> {
  return new Proxy(here as Remote<Offers>, {
    get: (_, name) => Reflect.get(here, name) ?? ((...args: unknown[]) => ask(name as keyof Offers & string, args)),
  });
}

/** One call of a thread that answers by `answerCalls`. */
export function callThread<T>(thread: Pick<WorkThread, 'ask'>, method: string, args: unknown[]): Promise<T> {
  return thread.ask<T>((id) => ({ message: { id, method, args }, transfer: [] }));
}
