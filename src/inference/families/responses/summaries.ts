import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { thoughtMark } from './sealed-thoughts.ts';
import type { ResponsesServices } from './services.ts';
import type { StoredResponses } from './stored-responses.ts';

/** Begins what a compaction of ours holds, which sets it apart from a provider's. */
export const compactionMark = 'culvert.compacted.';

/**
 * A body with the summaries in place of the compactions of ours that it names, and the texts of thoughts that were sealed
 * here, for a model of any provider; the body itself when it has none. A 400 for one that another key was given.
 */
export function withSummaries(
  services: Pick<ResponsesServices, 'bodies' | 'responses'>,
  tenant: string,
  raw: Buffer,
): Buffer | Promise<Buffer | Failure> {
  return raw.includes(compactionMark) || raw.includes(thoughtMark) ? summariesIn(services, tenant, raw) : raw;
}

async function summariesIn(
  { responses: stored, bodies }: Pick<ResponsesServices, 'bodies' | 'responses'>,
  tenant: string,
  raw: Buffer,
): Promise<Buffer | Failure> {
  const read = await bodies.readObject(tenant, raw);
  if (isFailure(read)) return read;
  const { body } = read;
  if (!Array.isArray(body.input)) return raw;
  const input: JsonValue[] = [];
  for (const [at, item] of body.input.entries()) {
    const opened = openedItem(stored, tenant, item);
    if (opened === undefined) return unreadable(`input[${at}].encrypted_content`);
    input.push(opened);
  }
  return Buffer.from(JSON.stringify({ ...body, input }));
}

/** The item with the text that was sealed here, in a form that any provider has a place for; undefined: it cannot be read. */
function openedItem({ openText }: Pick<StoredResponses, 'openText'>, tenant: string, item: JsonValue) {
  if (!isObject(item) || typeof item.encrypted_content !== 'string') return item;
  const { encrypted_content: sealed, content: _, ...rest } = item;
  if (rest.type === 'reasoning' && sealed.startsWith(thoughtMark)) {
    const text = openText(tenant, sealed.slice(thoughtMark.length));
    return text === null ? undefined : { ...rest, summary: [{ type: 'summary_text', text }] };
  }
  if (rest.type !== 'compaction' || !sealed.startsWith(compactionMark)) return item;
  const summary = openText(tenant, sealed.slice(compactionMark.length));
  if (summary === null) return undefined;
  return { type: 'message', role: 'user', content: `Summary of the conversation so far:\n\n${summary}` };
}

function unreadable(field: string): Failure {
  const message = `'${field}' cannot be read: it was made for another key, or it was changed. Leave the item out.`;
  return { kind: 'invalid-request', param: field, message, code: 'invalid_encrypted_content' };
}
