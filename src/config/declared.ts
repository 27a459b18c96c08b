import { availableParallelism } from 'node:os';
import { culvert } from '../kernel/command-form.ts';
import type { Config, CredentialConfig, DataRuleConfig, PartBudgetConfig, ProviderConfig } from './schema.ts';

/** A provider's credentials in the order of the file; empty when it needs none. */
export function credentialsOf(provider: ProviderConfig): readonly CredentialConfig[] {
  if (provider.credentials !== undefined) return provider.credentials;
  return provider.api_key === undefined ? [] : [{ api_key: provider.api_key, weight: 1 }];
}

/** Amounts in addition to each limit of an account's plan: of money, of tokens and of requests in a window. */
export interface ExtraAmounts {
  usd?: number | undefined;
  tokens?: number | undefined;
  requests?: number | undefined;
}

/** The same until an instant in wall-clock ms. */
export interface ExtraBudget extends ExtraAmounts {
  untilMs: number;
}

export function extraAmounts({ usd, tokens, requests }: ExtraAmounts): ExtraAmounts {
  return { ...(usd && { usd }), ...(tokens && { tokens }), ...(requests && { requests }) };
}

/** An account that was made at run time. */
export interface StoredAccount {
  id: string;
  name: string;
  plan: string;
  status: 'active' | 'suspended';
  /** Names of guards. */
  guards: readonly string[];
  /** Absent or null: none. */
  extraBudget?: ExtraBudget | null;
  /** By end user, tag and model. Absent or null: none. */
  budgets?: readonly PartBudgetConfig[] | null;
  /** Which providers may get its requests. Absent or null: all. */
  data?: DataRuleConfig | null;
}

/** An account as the configuration file states it. */
export interface DeclaredAccount extends Omit<StoredAccount, 'name'> {
  /** Named only by the key of CULVERT_API_KEY: a stored account of that name keeps its stored settings. */
  from?: 'environment';
}

/** The declared accounts that count in addition to these stored ones. */
export function accountsInForce(
  declared: readonly DeclaredAccount[],
  stored: readonly { id: string }[],
): readonly DeclaredAccount[] {
  return declared.filter(({ id, from }) => from !== 'environment' || !stored.some((account) => account.id === id));
}

/** The accounts that the file declares, and those that only its keys name; each once, with its plan. */
export function declaredAccounts(config: Config): DeclaredAccount[] {
  const planByKeys = new Map<string, string | undefined>();
  for (const key of config.keys) planByKeys.set(key.account, planByKeys.get(key.account) ?? key.plan);
  const fromEnvironment = config.keys.find(({ from }) => from === 'environment');
  const ids = new Set([...Object.keys(config.accounts), ...planByKeys.keys()]);
  return [...ids].map((id) => {
    const account = Object.hasOwn(config.accounts, id) ? config.accounts[id] : undefined;
    const extra = account?.extra_budget;
    return {
      id,
      plan: account?.plan ?? planByKeys.get(id) ?? config.default_plan,
      status: account?.status ?? 'active',
      guards: account?.guards ?? [],
      ...(account?.budgets !== undefined && { budgets: account.budgets }),
      ...(account?.data !== undefined && { data: account.data }),
      ...(extra !== undefined && { extraBudget: { ...extraAmounts(extra), untilMs: extra.until } }),
      ...(account === undefined && fromEnvironment?.account === id && { from: 'environment' as const }),
    };
  });
}

/** Why this configuration must not replace the one in force unless an operator insists; null where it may. */
export function whyNotReplaced(before: Config, after: Config): string | null {
  const written = ({ keys }: Config) => keys.filter(({ from }) => from === undefined).length;
  const count = written(before);
  if (count === 0 || written(after) > 0) return null;
  const removed = count === 1 ? 'the only declared key' : `all ${count} declared keys`;
  return `this file would drop ${removed}, whose callers would get 401; if you want that: ${culvert} reload --force`;
}

/** Cores that `auto` leaves to threads and to other programs. */
const sparedCores = 2;

/** Busy workers that the books of the embedded storage keep up with, about (docs/decisions/0040). */
const booksWorkersMax = 4;

/** Number of worker processes; 1: the server is a single process. */
export function processesOf(
  { server, storage }: Pick<Config, 'server' | 'storage'>,
  cores = availableParallelism(),
): number {
  if (server.processes !== 'auto') return server.processes;
  const free = Math.max(1, cores - sparedCores);
  if (storage.database === 'sqlite') return Math.min(free, booksWorkersMax);
  // With PostgreSQL, counters in memory are those of one process.
  return storage.state === 'memory' ? 1 : free;
}

/** Why this machine or these books cannot serve so many processes; null: they can. */
export function whyTooManyProcesses(
  config: Pick<Config, 'server' | 'storage'>,
  cores = availableParallelism(),
): string | null {
  const processes = processesOf(config, cores);
  if (processes > cores && processes > 1)
    return `server.processes is ${processes}, but this machine has ${cores === 1 ? 'one core' : `${cores} cores`}`;
  if (config.storage.database !== 'sqlite' || processes <= booksWorkersMax) return null;
  return `server.processes is ${processes}, but the books of the embedded storage keep up with about ${booksWorkersMax} busy workers`;
}
