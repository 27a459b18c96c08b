import { declaredAccounts } from '../../config/declared.ts';
import type { Config } from '../../config/schema.ts';
import { type Declared, hashKey } from './key-directory.ts';

/** Accounts and keys of the configuration, as the ring takes them. `generatedAdminKey` replaces `admin.key`. */
export function declaredKeys(config: Config, generatedAdminKey: string | null): Declared {
  return {
    accounts: declaredAccounts(config),
    keys: config.keys.map((key) => ({
      // The schema sees to it that one of the two is there.
      hash: key.sha256 ?? hashKey(key.key!),
      account: key.account,
      name: key.name,
      expiresMs: key.expires ?? null,
      models: key.models ?? null,
      ips: key.ips.length === 0 ? null : key.ips,
      limits: key.limits ?? null,
      guards: key.guards ?? [],
      tags: key.tags ?? [],
      from: key.from ?? 'file',
    })),
    adminKey: config.admin.key ?? generatedAdminKey,
    defaultPlan: config.default_plan,
    plans: Object.keys(config.plans),
    guests: config.callers,
  };
}
