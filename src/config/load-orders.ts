import { yieldToMainThread } from '../kernel/priority.ts';
import { answerOrders } from '../kernel/threads/thread-port.ts';
import { type LoadOptions, loadConfig } from './load.ts';
import { keepManagedSecrets, type ManagedSecret } from './managed-secrets.ts';

/** A file to load, with what managers answered for it. */
export interface LoadOrder {
  id: number;
  options: LoadOptions;
  managed: ReadonlyMap<string, ManagedSecret>;
}

/** Loads files in this thread, for the one that started it (`load-beside`). */
export function answerLoads(): void {
  yieldToMainThread();
  answerOrders(({ options, managed }: LoadOrder) => {
    keepManagedSecrets(managed);
    return loadConfig(options);
  });
}
