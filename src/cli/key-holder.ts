import { declaredKeys } from '../books/auth/declared-keys.ts';
import { buildDirectory, hashKey, keyPrefix } from '../books/auth/key-directory.ts';
import { type Principal, unrestricted } from '../books/auth/principal.ts';
import type { Config } from '../config/schema.ts';
import { culvert } from '../kernel/command-form.ts';
import { CommandFailed } from './command-failed.ts';
import type { CliParts } from './parts.ts';

/**
 * The caller that `named` means: a key's secret, its id or prefix as lists show it, or `account/name`. Without a
 * name it is a caller who may use everything.
 */
export async function principalOf(
  config: Config,
  named: string | undefined,
  parts: Pick<CliParts, 'stored'>,
): Promise<Principal> {
  if (named === undefined) return unrestricted(config.default_plan);
  const directory = buildDirectory(declaredKeys(config, null), await parts.stored(config));
  const bySecret = directory.get(hashKey(named));
  const found = bySecret ?? [...directory.values()].find(({ principal }) => isNamed(principal, named));
  if (found === undefined) {
    throw new CommandFailed(
      `There is no such key. Name it by its secret, its id or account/name; ${culvert} keys list shows them.`,
    );
  }
  if (found.kind === 'admin') throw new CommandFailed('The admin key uses no models. Name a key of an account.');
  return found.principal;
}

function isNamed(principal: Principal, named: string): boolean {
  return principal.tenant === named || principal.keyId === named || `${keyPrefix}${principal.keyId}` === named;
}
