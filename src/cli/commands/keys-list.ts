import type { Stored } from '../../auth/key-directory.ts';
import { declaredAccounts } from '../../config/declared.ts';
import type { Config } from '../../config/schema.ts';
import { storedKeys } from '../key-holder.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { readConfig } from '../read-config.ts';
import { table } from '../table.ts';
import { isoOrNull } from './keys-create.ts';

export interface KeysListFlags {
  account?: string;
  config?: string;
  json?: boolean;
}

interface ListedKey {
  /** The public id; null for a declared key, whose secret has no public part. */
  id: string | null;
  account: string;
  name: string;
  plan: string;
  models: readonly string[] | null;
  expires: string | null;
  state: 'active' | 'expired' | 'revoked' | 'suspended';
  from: 'configuration' | 'data folder';
}

/** `culvert keys list`: all keys of the configuration and the data folder, without secrets. */
export async function listKeys(flags: KeysListFlags): Promise<number> {
  const config = readConfig(flags.config);
  const keys = keysOf(config, await storedKeys(config), Date.now()).filter(
    ({ account }) => flags.account === undefined || account === flags.account,
  );
  if (listForm(flags) === 'json') printJson({ data: keys });
  else if (keys.length === 0) note('There is no key yet: culvert keys create --account A --name N');
  else print(keyTable(keys));
  return 0;
}

function keysOf(config: Config, stored: Stored, nowMs: number): ListedKey[] {
  const accounts = new Map([...stored.accounts, ...declaredAccounts(config)].map((account) => [account.id, account]));
  const stateOf = (account: string, expiresMs: number | null, revokedMs: number | null): ListedKey['state'] => {
    if (revokedMs !== null) return 'revoked';
    if (expiresMs !== null && expiresMs <= nowMs) return 'expired';
    return accounts.get(account)?.status ?? 'active';
  };
  const planOf = (account: string) => accounts.get(account)?.plan ?? config.default_plan;
  const declared = config.keys.map(({ account, name, expires, models }): ListedKey => {
    const expiresMs = expires ?? null;
    return {
      id: null,
      account,
      name,
      plan: planOf(account),
      models: models ?? null,
      expires: isoOrNull(expiresMs),
      state: stateOf(account, expiresMs, null),
      from: 'configuration',
    };
  });
  const kept = stored.keys.map(
    ({ id, account, name, models, expiresMs, revokedMs }): ListedKey => ({
      id,
      account,
      name,
      plan: planOf(account),
      models,
      expires: isoOrNull(expiresMs),
      state: stateOf(account, expiresMs, revokedMs),
      from: 'data folder',
    }),
  );
  return [...declared, ...kept];
}

function keyTable(keys: readonly ListedKey[]): string {
  return table(
    ['account', 'name', 'id', 'plan', 'models', 'expires', 'state', 'from'],
    keys.map((key) => [
      key.account,
      key.name,
      key.id ?? '',
      key.plan,
      key.models?.join(',') ?? 'all',
      key.expires?.slice(0, 10) ?? 'never',
      key.state,
      key.from,
    ]),
  );
}
