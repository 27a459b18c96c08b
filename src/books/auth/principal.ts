import type { DataRule } from '../../config/data-rules.ts';
import type { ExtraBudget } from '../../config/declared.ts';
import type { DataRuleConfig, KeyLimitsConfig, PartBudgetConfig } from '../../config/schema.ts';

/** The caller: a key of an account, as the rest of the server sees it. Never holds the secret. */
export interface Principal {
  keyId: string;
  /** Id by which work that goes on without this caller finds what its token allows; absent: `keyId`. */
  callerId?: string;
  keyName: string;
  /** Owner of vector data: `account/name`, kept through rotation. */
  tenant: string;
  account: string;
  plan: string;
  /** Globs over aliases; null = all that the plan allows. */
  allowedModels: readonly string[] | null;
  /** The key's own limits in addition to the plan's; null: none. */
  limits: KeyLimitsConfig | null;
  /** Names of guards of its account and its key, besides those of the plan. */
  guards: readonly string[];
  /** Budget of its account in addition to those of its plan; absent or null: none. */
  extraBudget?: ExtraBudget | null;
  /** Budgets of its account by end user, tag and model; absent: none. */
  budgets?: readonly PartBudgetConfig[];
  /** Run that the key is of: its limits, and the id of the key that made it. Its `keyId` is of this run alone. */
  run?: { id: string; keyId: string; usd: number | null; rpm: number | null };
  /** End user whom the caller's token names, null where it names none; absent: the body may name one. */
  user?: string | null;
  /** Nano-USD ever added to the credit of its account, which pays for its requests; absent: it has none. */
  creditNano?: number;
  /** Which providers may get its account's requests, besides the rules of plan and key; absent: all. */
  data?: DataRuleConfig;
  /** Data rules of the caller for whom this server asks; absent: it asks for nobody who has some. */
  underRules?: readonly DataRule[];
  /** A rule of the operator has moved its request; absent: none has. */
  moved?: MovedBy;
}

/** The id by which `LastingCallers.principalOf` finds this very caller again. */
export function callerIdOf({ keyId, callerId = keyId }: Pick<Principal, 'keyId' | 'callerId'>): string {
  return callerId;
}

/** Model and targets that a rule for routes lets a request use. */
export interface MovedBy {
  rule: string;
  /** The alias that it may use though its plan does not have it; null: its plan decides. */
  model: string | null;
  /** Targets that may answer, as `provider/model` or `provider`; null: all of the model. */
  targets: readonly string[] | null;
}

/** A principal without a key, for previews such as the CLI's. It may use every model of `plan`. */
export function unrestricted(plan: string): Principal {
  return { keyId: '', keyName: '', tenant: '', account: '', plan, allowedModels: null, limits: null, guards: [] };
}

/** The plan without limits of `serverPrincipal`; no plan of an operator can be called so. */
export const serverPlan = '(server)';

/** For calls that a feature of this server needs, and that the operator pays: without a key, and without limits. */
export const serverPrincipal: Principal = {
  keyId: '(server)',
  keyName: '(server)',
  tenant: '(server)/(server)',
  account: '(server)',
  plan: serverPlan,
  allowedModels: null,
  limits: null,
  guards: [],
};

/** `serverPrincipal` for a request of a caller with these data rules, which hold for what this server asks for it. */
export function serverUnder(rules: readonly DataRule[]): Principal {
  return rules.length === 0 ? serverPrincipal : { ...serverPrincipal, underRules: rules };
}
