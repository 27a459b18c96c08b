import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import type { PassedForm } from '../spine/passed-form.ts';
import type { CacheKey } from './cache-key.ts';

/** Larger answers, in bytes, are not kept. */
export const cachedBytesMax = 1024 * 1024;

/** An answer as it is kept, whatever the store. */
export interface CachedAnswer {
  answer: readonly NeutralEvent[] | CachedPassed | CachedBytes;
  /** Provider and model that answered. */
  provider: string;
  model: string;
  /** Cost of the answer; null: unknown. */
  usd: number | null;
  /** Parts of the request that the target could not take, in words of `endpoint`'s format. */
  losses: readonly Loss[];
  endpoint: string;
}

/** A whole answer of an endpoint with one format. */
export interface CachedBytes {
  contentType: string | null;
  /** The header that names what got lost; null: there is none. */
  losses: string | null;
  base64: string;
}

/** The answer to a conversation, as its upstream sent it to a caller of the same format. */
export interface CachedPassed {
  form: PassedForm;
  bytes: Buffer;
}

/** Null: they are bytes. */
export function cachedEvents(answer: CachedAnswer['answer']): readonly NeutralEvent[] | null {
  return 'base64' in answer || 'form' in answer ? null : answer;
}

/** An event of a kept answer, whose id and time are its first caller's alone. */
export function withoutId(event: NeutralEvent): NeutralEvent {
  return event.type === 'start' ? { ...event, id: null, createdS: null } : event;
}

/** No JSON that is written here has one. */
const lineEnd = 0x0a;

export function packEntry(entry: CachedAnswer, { scope, digest }: CacheKey): Buffer {
  const { answer } = entry;
  const key = { scope, digest };
  if (!('form' in answer)) return Buffer.from(JSON.stringify({ ...entry, key }));
  const head = JSON.stringify({ ...entry, answer: { form: answer.form }, key });
  return Buffer.concat([Buffer.from(`${head}\n`), answer.bytes]);
}

type PackedEntry = CachedAnswer & { key: CacheKey };

/** The entries of bodies that a store has in its memory, so that each is read once. */
const unpacked = new WeakMap<Buffer, PackedEntry>();

/** Null: it is damaged, or kept for another key than this one. */
export function unpackEntry(body: Buffer, { scope, digest }: CacheKey): CachedAnswer | null {
  try {
    const entry = unpacked.get(body) ?? parsedEntry(body);
    const { key, answer } = entry;
    if (key.scope !== scope || key.digest !== digest || !isAnswer(answer)) return null;
    unpacked.set(body, entry);
    return entry;
  } catch {
    return null;
  }
}

function parsedEntry(body: Buffer): PackedEntry {
  const end = body.indexOf(lineEnd);
  if (end < 0) return JSON.parse(body.toString('utf8')) as PackedEntry;
  const entry = JSON.parse(body.toString('utf8', 0, end)) as PackedEntry;
  return 'form' in entry.answer ? { ...entry, answer: { ...entry.answer, bytes: body.subarray(end + 1) } } : entry;
}

function isAnswer(answer: CachedAnswer['answer'] | null): boolean {
  return Array.isArray(answer) ? answer.at(-1)?.type === 'end' : typeof answer === 'object' && answer !== null;
}
