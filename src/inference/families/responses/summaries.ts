import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { openedThoughts, thoughtMark } from './sealed-thoughts.ts';
import type { ResponsesServices } from './services.ts';
import type { StoredResponses } from './stored-responses.ts';

/** Begins what a compaction of ours holds, which sets it apart from a provider's. */
export const compactionMark = 'culvert.compacted.';

/**
 * A body with the summaries in place of the compactions of ours that it names, and the texts of thoughts that were sealed
 * here, for a model of any provider; the body itself when it has none. A 400 for one that another key was given.
 */
export function withSummaries(
  services: SummaryServices,
  tenant: string,
  raw: Buffer,
): Buffer | Promise<Buffer | Failure> {
  return raw.includes(compactionMark) || raw.includes(thoughtMark) ? summariesIn(services, tenant, raw) : raw;
}

interface SummaryServices extends Pick<ResponsesServices, 'bodies'> {
  responses: Pick<StoredResponses, 'openText'>;
}

async function summariesIn(
  { responses: stored, bodies }: SummaryServices,
  tenant: string,
  raw: Buffer,
): Promise<Buffer | Failure> {
  const read = await bodies.readObject(tenant, raw);
  if (isFailure(read)) return read;
  const { body } = read;
  if (!Array.isArray(body.input)) return raw;
  const opened = openedThoughts(stored, tenant, body.input);
  if (isFailure(opened)) return opened;
  const input: JsonValue[] = [];
  for (const [at, item] of opened.entries()) {
    const sealed = isObject(item) && item.type === 'compaction' ? item.encrypted_content : undefined;
    if (typeof sealed !== 'string' || !sealed.startsWith(compactionMark)) {
      input.push(item);
      continue;
    }
    const summary = stored.openText(tenant, sealed.slice(compactionMark.length));
    if (summary === null) return invalid(`input[${at}].encrypted_content`, unreadable);
    input.push({ type: 'message', role: 'user', content: `Summary of the conversation so far:\n\n${summary}` });
  }
  return Buffer.from(JSON.stringify({ ...body, input }));
}

const unreadable = 'This compaction cannot be read: it was made for another key, or it was changed.';
