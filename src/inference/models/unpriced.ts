import { matchesGlob } from '../../books/auth/model-glob.ts';
import { isObject } from '../../kernel/json.ts';
import type { Alias } from './alias.ts';
import type { ConfiguredProvider } from './connections.ts';
import { targetsBehind } from './model-table.ts';
import type { Snapshot } from './snapshot.ts';
import { hasListPrices } from './target-of.ts';

/** Everybody who may have a budget in USD, as the configuration and the store have them. */
export interface Budgeted {
  plans: Iterable<PlanDefinition>;
  accounts: Iterable<{ id: string; budgets?: readonly { model?: string | undefined }[] | null | undefined }>;
  keys: Iterable<{
    account: string;
    models?: readonly string[] | null | undefined;
    limits?: object | null | undefined;
  }>;
  /** Plan of an account; nothing of one that nobody knows. */
  planOf(account: string): PlanDefinition | null | undefined;
}

type PlanDefinition = Readonly<Record<string, unknown>>;

/** Globs of the models whose requests a budget in USD counts. */
export function budgetedModels({ plans, accounts, keys, planOf }: Budgeted): ReadonlySet<string> {
  const globs = new Set<string>();
  const add = (models: unknown) => {
    for (const glob of Array.isArray(models) ? models : ['*']) globs.add(String(glob));
  };
  for (const plan of plans) if (hasBudget(plan)) add(plan.models);
  for (const { id, budgets } of accounts) {
    for (const { model } of budgets ?? []) add(model === undefined ? planOf(id)?.models : [model]);
  }
  for (const { account, models, limits } of keys) {
    if (limits && hasBudget({ ...limits })) add(models ?? planOf(account)?.models);
  }
  return globs;
}

/** The same of a configuration alone. */
export function budgetedIn({ plans, accounts, keys, default_plan }: Snapshot['config']): ReadonlySet<string> {
  return budgetedModels({
    plans: Object.values(plans),
    accounts: Object.entries(accounts).map(([id, { budgets }]) => ({ id, budgets })),
    keys,
    planOf: (account) => plans[accounts[account]?.plan ?? default_plan],
  });
}

function hasBudget({ budget, calendar_budget }: PlanDefinition): boolean {
  return [budget, calendar_budget].some(
    (amounts) => isObject(amounts) && Object.values(amounts).some((usd) => typeof usd === 'number'),
  );
}

/** Targets without a price behind the models of these globs, as `provider/model`: budgets do not count their requests. */
export function uncountedTargets(snapshot: Snapshot, globs: ReadonlySet<string>): string[] {
  const { models } = snapshot;
  const names = new Set(globs);
  const patterns = [...globs].filter((glob) => glob.includes('*'));
  const isIn = (id: string) => names.delete(id) || patterns.some((pattern) => matchesGlob(pattern, id));
  const listed = models.all().filter(({ id }) => isIn(id));
  // A pattern of the configuration also makes models that no provider lists.
  const made = [...names].flatMap((name) => (name.includes('*') ? [] : (models.matchedBy(name) ?? [])));
  return unpricedOf(snapshot, [...listed, ...made], () => true);
}

/**
 * Targets for which neither the configuration nor the price list has a price: those of services, and those of this
 * machine that a budget should count.
 */
export function unpricedTargets(snapshot: Snapshot, budgeted: ReadonlySet<string>): string[] {
  const ofServices = unpricedOf(snapshot, snapshot.models.all(), hasListPrices);
  return [...new Set([...ofServices, ...uncountedTargets(snapshot, budgeted)])];
}

function unpricedOf(
  { providers }: Snapshot,
  aliases: readonly Alias[],
  counts: (configured: ConfiguredProvider) => boolean,
): string[] {
  const unpriced = targetsBehind(aliases).filter(({ provider, price }) => {
    const configured = price === null ? providers.get(provider) : undefined;
    return configured !== undefined && !configured.simulated && counts(configured);
  });
  return [...new Set(unpriced.map(({ id }) => id))];
}

/** Targets that a message names; the others are counted. */
const shownMax = 10;

/** The warning about them; null when there is none. */
export function unpricedMessage(targets: readonly string[]): string | null {
  if (targets.length === 0) return null;
  const more = targets.length > shownMax ? ` and ${targets.length - shownMax} more` : '';
  return `no price is known of ${targets.slice(0, shownMax).join(', ')}${more}: usage and budgets leave out their USD`;
}

/** How that is mended. */
export const unpricedFix =
  'Give their targets a `price` (of 0, where they cost nothing), or `priced_as` with the name of a listed model, or their provider the name of its `prices`.';
