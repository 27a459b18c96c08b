import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import type { CacheKey } from './cache-key.ts';

/** Larger answers, in bytes, are not kept. */
export const keptBytesMax = 1024 * 1024;

/** An answer as it is kept, whatever the store. */
export interface KeptEntry {
  answer: readonly NeutralEvent[] | KeptBytes;
  /** Who answered. */
  provider: string;
  model: string;
  /** What the answer cost; null: unknown. */
  usd: number | null;
  /** Parts of the request that the target could not take, in words of `endpoint`'s format. */
  losses: readonly Loss[];
  endpoint: string;
}

/** A whole answer of an endpoint with one format. */
export interface KeptBytes {
  contentType: string | null;
  /** The header that names what got lost; null: there is none. */
  losses: string | null;
  base64: string;
}

export function packEntry(entry: KeptEntry, { scope, digest }: CacheKey): Buffer {
  return Buffer.from(JSON.stringify({ ...entry, key: { scope, digest } }));
}

type PackedEntry = KeptEntry & { key: CacheKey };

/** The entries of bodies that a store has in its memory, so that each is read once. */
const unpacked = new WeakMap<Buffer, PackedEntry>();

/** Null: it is damaged, or kept for another key than this one. */
export function unpackEntry(body: Buffer, { scope, digest }: CacheKey): KeptEntry | null {
  try {
    const entry = unpacked.get(body) ?? (JSON.parse(body.toString('utf8')) as PackedEntry);
    const { key, answer } = entry;
    if (key.scope !== scope || key.digest !== digest || !isAnswer(answer)) return null;
    unpacked.set(body, entry);
    return entry;
  } catch {
    return null;
  }
}

function isAnswer(answer: KeptEntry['answer'] | null): boolean {
  return Array.isArray(answer) ? answer.at(-1)?.type === 'end' : typeof answer === 'object' && answer !== null;
}
