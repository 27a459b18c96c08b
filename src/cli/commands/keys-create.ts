import { issueKey } from '../../auth/issue-key.ts';
import { declaredAccounts } from '../../config/declared.ts';
import { didYouMean } from '../../config/nearest.ts';
import { instant, parseDurationMs } from '../../config/scalars.ts';
import type { Config } from '../../config/schema.ts';
import { factsOf } from '../../kernel/failure.ts';
import { openDataFolder } from '../../stores/sqlite/data-folder.ts';
import { openSqliteKeyStore } from '../../stores/sqlite/key-store.ts';
import { CommandFailed } from '../command-failed.ts';
import { note, print, printJson } from '../print.ts';
import { readConfig } from '../read-config.ts';

export interface KeysCreateFlags {
  account: string;
  name: string;
  plan?: string;
  expires?: string;
  models?: string[];
  config?: string;
  json?: boolean;
}

/**
 * `culvert keys create`: writes to the data folder, whether or not a server runs; a running one sees it within a
 * second. The secret stands alone on stdout, so that `KEY=$(culvert keys create …)` takes it.
 */
export async function createKey(flags: KeysCreateFlags): Promise<number> {
  const config = readConfig(flags.config);
  const nowMs = Date.now();
  const plan = checkedPlan(config, flags.plan);
  const expiresMs = flags.expires === undefined ? null : checkedExpiry(flags.expires, nowMs);
  const { account, name } = flags;
  if (config.keys.some((key) => key.account === account && key.name === name)) {
    throw new CommandFailed(`The configuration declares a key '${name}' of account '${account}'; choose another name.`);
  }
  const store = openSqliteKeyStore(openDataFolder(config.storage.data_dir).culvertDb);
  try {
    const owner = declaredAccounts(config).find(({ id }) => id === account) ?? (await store.findAccount(account));
    if (owner !== null && flags.plan !== undefined && owner.plan !== plan) {
      throw new CommandFailed(`Account '${account}' has plan '${owner.plan}', which a new key does not change.`);
    }
    const issued = await issueKey(store, { account, name, plan, expiresMs, models: flags.models ?? null, nowMs });
    if (issued.kind !== 'issued') throw new CommandFailed(factsOf(issued, nowMs).message);
    const { id, prefix, secret } = issued.key;
    if (flags.json) {
      printJson({ id, key: secret, prefix, account, name, plan: owner?.plan ?? plan, expires: isoOrNull(expiresMs) });
    } else {
      note(`Key '${name}' of account '${account}', plan '${owner?.plan ?? plan}'; the secret is shown this once:`);
      print(secret);
    }
    return 0;
  } finally {
    await store.close();
  }
}

function checkedPlan(config: Config, named: string | undefined): string {
  if (named === undefined) return config.default_plan;
  if (Object.hasOwn(config.plans, named)) return named;
  const plans = Object.keys(config.plans);
  throw new CommandFailed(`There is no plan '${named}'${didYouMean(named, plans)}. Plans: ${plans.join(', ')}.`);
}

/** `2027-01-01`, an RFC 3339 time, or a duration from now such as `90d`. */
function checkedExpiry(text: string, nowMs: number): number {
  const durationMs = parseDurationMs(text);
  const parsed = durationMs === undefined ? instant().safeParse(text) : { success: true, data: nowMs + durationMs };
  if (!parsed.success) throw new CommandFailed('--expires: expected a date such as 2027-01-01, or 90d', 2);
  if (parsed.data! <= nowMs) throw new CommandFailed(`--expires: ${text} is over already`, 2);
  return parsed.data!;
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
