import { randomBytes } from 'node:crypto';
import { createSealer, type Sealer } from '../kernel/seal.ts';
import { createSigner, type Signer } from '../kernel/sign.ts';
import {
  type DataFolder,
  forgetEarlierSecrets,
  presentSecrets,
  renewSecret,
  secretMark,
  secretsOf,
} from './sqlite/data-folder.ts';

/** Secrets with which this server seals and signs: `storage.secret`, or the data folder's. */
export interface Secrets {
  /** The current one first, then those that only open. */
  all(): readonly string[];
  /** Seals and opens by whatever they are at the time. */
  sealer(purpose: string): Sealer;
  signer(purpose: string): Signer;
  /** Names the current one, and does not tell it. */
  name(): string;
  source: 'configuration' | 'data folder';
  /** Makes a new one that seals from now on; the current one then only opens. For the data folder only. */
  renew(): void;
  /** Removes those that only open. For the data folder only. */
  forgetEarlier(): void;
}

export function openSecrets(
  { storage }: { storage: { secret?: string | undefined; earlier_secrets: readonly string[] } },
  folder: DataFolder,
): Secrets {
  if (storage.secret !== undefined) {
    const configured = [storage.secret, ...storage.earlier_secrets];
    const elsewhere = (): never => {
      throw new Error('the secrets of the configuration are changed there');
    };
    return { ...byNow(() => configured), source: 'configuration', renew: elsewhere, forgetEarlier: elsewhere };
  }
  let known: readonly string[] | null = null;
  let mark: string | null = null;
  // Another process may have renewed them: what it seals must open here, and what is sealed here must last.
  const all = () => {
    const markNow = secretMark(folder);
    if (known === null) known = secretsOf(folder, mint);
    else if (markNow !== mark) known = presentSecrets(folder) ?? known;
    mark = markNow;
    return known;
  };
  return {
    ...byNow(all),
    source: 'data folder',
    renew: () => renewSecret(folder, mint),
    forgetEarlier: () => forgetEarlierSecrets(folder),
  };
}

function byNow(all: () => readonly string[]): Pick<Secrets, 'all' | 'sealer' | 'signer' | 'name'> {
  /** Made anew when the secrets have changed. */
  function memoized<Made>(make: (secrets: readonly string[]) => Made): () => Made {
    let secrets = all();
    let made = make(secrets);
    return () => {
      if (all() !== secrets) {
        secrets = all();
        made = make(secrets);
      }
      return made;
    };
  }
  return {
    all,
    name: () => createSigner(all(), 'name').sign(''),
    sealer(purpose) {
      const now = memoized((secrets) => createSealer(secrets, purpose));
      return {
        seal: (plain, context) => now().seal(plain, context),
        open: (sealed, context) => now().open(sealed, context),
      };
    },
    signer(purpose) {
      const now = memoized((secrets) => createSigner(secrets, purpose));
      return { sign: (text) => now().sign(text), isSigned: (text, signature) => now().isSigned(text, signature) };
    },
  };
}

function mint(): string {
  return randomBytes(32).toString('base64');
}
