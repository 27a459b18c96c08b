import { randomBytes } from 'node:crypto';
import type { Config } from '../config/schema.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';
import { forgetEarlierSecrets, renewSecret, secretsOf } from '../stores/sqlite/secret-files.ts';

/** What this server seals and signs with: `storage.secret`, or what the data folder has instead. */
export interface Secrets {
  /** The current one first, then those that only open. */
  all(): readonly string[];
  source: 'configuration' | 'data folder';
  /** A new one from now on, and the current one among those that only open. Of the data folder alone. */
  renew(): void;
  /** Those that only open are gone. Of the data folder alone. */
  forgetEarlier(): void;
}

export function openSecrets({ storage }: Config, folder: DataFolder): Secrets {
  if (storage.secret !== undefined) {
    const configured = [storage.secret, ...storage.earlier_secrets];
    const elsewhere = (): never => {
      throw new Error('the secrets of the configuration are changed there');
    };
    return { all: () => configured, source: 'configuration', renew: elsewhere, forgetEarlier: elsewhere };
  }
  let known: readonly string[] | null = null;
  const all = () => {
    known ??= secretsOf(folder, mint);
    return known;
  };
  const changed = (change: () => void) => () => {
    change();
    known = null;
  };
  return {
    all,
    source: 'data folder',
    renew: changed(() => renewSecret(folder, mint)),
    forgetEarlier: changed(() => forgetEarlierSecrets(folder)),
  };
}

function mint(): string {
  return randomBytes(32).toString('base64');
}
