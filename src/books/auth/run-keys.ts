import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Sealer } from '../../kernel/seal.ts';
import { keyPrefix } from './key-directory.ts';

/** Beginning of the secret of a run. */
export const runPrefix = `${keyPrefix}run-`;
/** Longest secret of a run; many models make it long. */
export const runLengthMax = 4_096;

const plainBytesMax = 64 * 1024;
const context = 'run key';

/** A key for one run of an agent: a part of what its parent may do, for minutes. */
export interface RunKey {
  id: string;
  /** Its parent's. */
  keyId: string;
  /** Wall-clock ms. */
  expiresMs: number;
  /** Names of models; null: those of its parent. */
  models: readonly string[] | null;
  /** Null: what its parent has. */
  usd: number | null;
  rpm: number | null;
}

/**
 * Keys of runs. Each is what it opens, sealed: nothing is stored, and every server with the same secret knows it. It works
 * as long as its parent does, from where its parent does.
 */
export type RunKeys = ReturnType<typeof createRunKeys>;

export function createRunKeys(sealer: Sealer) {
  return {
    /** Null: it has too many models. */
    issue(run: RunKey): string | null {
      const { id, keyId, expiresMs, models, usd, rpm } = run;
      const plain = Buffer.from(JSON.stringify([id, keyId, expiresMs, models, usd, rpm]));
      const text = runPrefix + sealer.seal(deflateRawSync(plain), context).toString('base64url');
      return text.length > runLengthMax ? null : text;
    },
    /** Null: not one of ours. */
    open(secret: string): RunKey | null {
      const plain = sealer.open(Buffer.from(secret.slice(runPrefix.length), 'base64url'), context);
      if (plain === null) return null;
      const text = inflateRawSync(plain, { maxOutputLength: plainBytesMax }).toString();
      const [id, keyId, expiresMs, models, usd, rpm] = JSON.parse(text) as Written;
      return { id, keyId, expiresMs, models, usd, rpm };
    },
  };
}

type Written = [
  id: string,
  keyId: string,
  expiresMs: number,
  models: readonly string[] | null,
  usd: number | null,
  rpm: number | null,
];
