import type { KeyLimitsConfig } from '../config/schema.ts';

/** Who calls: a key of an account, as the rest of the server sees it. Never holds the secret. */
export interface Principal {
  keyId: string;
  keyName: string;
  /** Owner of vector data: `account/name`, kept through rotation. */
  tenant: string;
  account: string;
  plan: string;
  /** Globs over aliases; null = all that the plan allows. */
  allowedModels: readonly string[] | null;
  /** The key's own limits beside the plan's; null = none. */
  limits: KeyLimitsConfig | null;
}

/** Nobody's: for looks that no key asks for, such as the CLI's. May use every model that `plan` has. */
export function unrestricted(plan: string): Principal {
  return { keyId: '', keyName: '', tenant: '', account: '', plan, allowedModels: null, limits: null };
}
