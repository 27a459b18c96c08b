import { isObject } from '../../../kernel/json.ts';
import type { CallerBody } from './request-wire.ts';

const endUserCharsMax = 256;

/**
 * Who asks, of `metadata.user_id`, as ledger and log may keep it; null when nobody is named. Claude Code writes the
 * ids of device, account and session there, as JSON or joined by words: the account is the one who asks, else the
 * device. A session is nobody.
 */
export function endUserOf({ metadata }: CallerBody): string | null {
  const id = metadata?.user_id;
  if (!id) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go (S23)
  const clean = named(id).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '');
  return clean === '' ? null : clean.slice(0, endUserCharsMax);
}

const joined = /^user_([0-9a-f]{16,})_account_([\w-]*?)_session_/;

function named(id: string): string {
  const words = joined.exec(id);
  if (words !== null) return words[2] || words[1]!;
  if (!id.startsWith('{')) return id;
  try {
    const ids: unknown = JSON.parse(id);
    if (!isObject(ids)) return id;
    for (const name of ['account_uuid', 'account_id', 'device_id']) {
      const value = ids[name];
      if (typeof value === 'string' && value !== '') return value;
    }
  } catch {
    // No JSON: whatever it is, it names somebody.
  }
  return id;
}
