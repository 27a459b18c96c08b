import type { HookName } from './hook-names.ts';

/** Result of a call: a reply that nobody has checked, or why there is none, without texts of the request. */
export type HookOutcome = { ok: true; reply: unknown } | { ok: false; why: string };

/** One hook of the configuration, wherever its code runs. */
export interface HookRunner {
  /** Functions that it has; null until it is known. */
  readonly functions: ReadonlySet<HookName> | null;
  /** Whether its files are as they were read; absent: it has none. */
  isCurrent?(): boolean;
  /** Resolves when `functions` is known, or why it cannot be: a sentence. Never rejects. */
  load(): Promise<string | null>;
  /** Never rejects. `account`: whose turn it is. */
  call(on: HookName, account: string, data: object): Promise<HookOutcome>;
  /** No new request comes; what runs may go on. `ended`: nothing does any more. */
  retire(ended: () => void): void;
  /** Ends it at once. */
  close(): Promise<void>;
}
