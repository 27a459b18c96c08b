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

/** Null: it is damaged, or kept for another key than this one. */
export function unpackEntry(body: Buffer, { scope, digest }: CacheKey): KeptEntry | null {
  try {
    const { key, ...entry } = JSON.parse(body.toString('utf8')) as KeptEntry & { key: CacheKey };
    return key.scope === scope && key.digest === digest && isAnswer(entry.answer) ? entry : null;
  } catch {
    return null;
  }
}

function isAnswer(answer: KeptEntry['answer'] | null): boolean {
  return Array.isArray(answer) ? answer.at(-1)?.type === 'end' : typeof answer === 'object' && answer !== null;
}
