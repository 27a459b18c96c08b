import type { BodyRuleRow, Stored } from './account-store.ts';
import type { Principal } from './principal.ts';

/** Requests of a caller that are kept: all of them, or those of these models. */
export type StoredModels = 'all' | ReadonlySet<string>;

/** The rules in force, in memory. */
export class BodyRules {
  /** Whether there are none: then no request looks further. */
  none = true;
  #rules: readonly BodyRuleRow[] = [];

  /** The present contents of the store. */
  take = ({ bodyRules }: Pick<Stored, 'bodyRules'>): void => {
    this.#rules = bodyRules;
    this.none = bodyRules.length === 0;
  };

  /** Null: nothing is kept. A key of a run counts as the key that made it. */
  storedModelsOf(
    { keyId, account, run }: Pick<Principal, 'keyId' | 'account' | 'run'>,
    nowMs: number,
  ): StoredModels | null {
    const models = new Set<string>();
    for (const { of, name, untilMs } of this.#rules) {
      if (untilMs <= nowMs) continue;
      if (of === 'model') models.add(name);
      else if (name === (of === 'account' ? account : (run?.keyId ?? keyId))) return 'all';
    }
    return models.size === 0 ? null : models;
  }
}
