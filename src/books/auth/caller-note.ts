import type { Failure } from '../../kernel/failure.ts';
import type { Principal } from './principal.ts';
import type { RunKey } from './run-keys.ts';
import type { TokenCaller } from './tokens/token-caller.ts';

/** A caller whom no store has, for processes that have not seen it. One of the two is null. */
export interface CallerNote {
  run: RunKey | null;
  guest: TokenCaller | null;
}

/** Callers who begin something and leave: any process may go on with it, also after a restart. */
export interface LastingCallers {
  /**
   * Owner of this key now, or the reason why it may not go on. A caller whom no store has is found where this process
   * has seen it, or its note: by its `callerId` with what its token allowed, by its `keyId` with what the last one did.
   */
  principalOf(keyId: string): Principal | Failure;
  /** Null: its key is in a store, so every process finds it. */
  noteOf(keyId: string): CallerNote | null;
  /** From now on this process finds the caller, unless it knows it already. */
  recall(note: CallerNote): void;
}
