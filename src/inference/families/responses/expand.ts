import type { RequestState } from '../../../formats/dialects/dialect.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { inputItems, itemsOf, sentAgain, withoutRepeatedCalls } from './input-items.ts';
import { hasEnded } from './response-states.ts';
import type { StoredItem } from './sealed-rows.ts';
import type { ResponsesServices } from './services.ts';
import { type StoredResponses, turnsMax } from './stored-responses.ts';
import { compactionMark } from './summaries.ts';

/** Facts of what a request continues. */
export interface ContinuedFacts {
  /** Id of its conversation, or of the response with which it began. */
  begun(id: string): void;
  /** Number of items that are put before its own. */
  before(items: number): void;
}

/** A request behind all that it continues, without the ids that name it. Null when that is not kept here. */
export function expanded(...request: Parameters<typeof expandedNow>): Promise<Buffer | Failure | null> {
  return expandedNow(...request).catch(failureIn);
}

async function expandedNow(
  responses: StoredResponses,
  tenant: string,
  raw: Buffer,
  { previous, conversation }: Pick<RequestState, 'previous' | 'conversation'>,
  bodyBytesMax: number,
  notes?: ContinuedFacts,
): Promise<Buffer | Failure | null> {
  if (previous !== null && conversation !== null) {
    return invalid('conversation', "Send either 'conversation' or 'previous_response_id', not both.");
  }
  const before =
    previous === null
      ? await conversationItems(responses, tenant, conversation!)
      : await chainItems(responses, tenant, previous, notes?.begun);
  if (conversation !== null) notes?.begun(conversation);
  if (before === null || isFailure(before)) return before;
  const { previous_response_id: _, conversation: __, ...body } = JSON.parse(raw.toString('utf8')) as JsonObject;
  const again = withoutRepeatedCalls(sentAgain(before));
  notes?.before(again.length);
  const input = withoutRepeatedCalls([...again, ...inputItems(body.input)]);
  const whole = Buffer.from(JSON.stringify({ ...body, input }));
  return whole.length > bodyBytesMax ? { kind: 'body-too-large', limitBytes: bodyBytesMax } : whole;
}

/** Ids of what a body continues; null: it names none. */
export function continuedBy({ previous_response_id: previous, conversation: named }: JsonObject): {
  previous: string | null;
  conversation: string | null;
} {
  const conversation = isObject(named) ? named.id : named;
  return {
    previous: typeof previous === 'string' ? previous : null,
    conversation: typeof conversation === 'string' ? conversation : null,
  };
}

/** The same for a body whose tokens are only counted; as it came when it continues nothing that is kept here. */
export async function expandedForCount(
  { responses, bodies, snapshots }: Pick<ResponsesServices, 'responses' | 'bodies' | 'snapshots'>,
  tenant: string,
  raw: Buffer,
): Promise<Buffer | Failure> {
  if (!raw.includes('"previous_response_id"') && !raw.includes('"conversation"')) return raw;
  const read = await bodies.readObject(tenant, raw);
  if (isFailure(read)) return read;
  const named = continuedBy(read.body);
  if (named.previous === null && named.conversation === null) return raw;
  const { body_limit: bodyBytesMax } = snapshots.current.config.server;
  return (await expanded(responses, tenant, raw, named, bodyBytesMax)) ?? raw;
}

function isCompaction({ type, encrypted_content: content }: StoredItem): boolean {
  return type === 'compaction' && typeof content === 'string' && content.startsWith(compactionMark);
}

/** Null when it is not kept here. */
export async function chainItems(
  responses: StoredResponses,
  tenant: string,
  id: string,
  onBegun?: (id: string) => void,
): Promise<StoredItem[] | Failure | null> {
  const chain = await responses.chain(tenant, id);
  if (chain === null) return (await responses.find(tenant, id)) === null ? null : previousNotFound();
  const running = chain.find(({ status }) => !hasEnded(status));
  if (running === undefined) {
    onBegun?.(chain[0]?.id ?? id);
    return itemsOf(chain);
  }
  const message = `The response '${running.id}' is still ${running.status}: continue it once it has ended.`;
  return invalid('previous_response_id', message);
}

async function conversationItems(
  responses: StoredResponses,
  tenant: string,
  id: string,
): Promise<StoredItem[] | Failure | null> {
  if ((await responses.conversation(tenant, id)) === null) return null;
  const newest = await responses.items(tenant, id, { order: 'desc', after: null, limit: conversationItemsMax });
  const items = newest.toReversed();
  // A compaction replaces all before it.
  const compaction = items.findLastIndex(isCompaction);
  if (compaction !== -1 || items.length < conversationItemsMax) return items.slice(Math.max(0, compaction));
  // No result of a call may come without its call.
  const turn = items.findIndex(({ type, role }) => type === 'message' && role === 'user');
  return items.slice(Math.max(0, turn));
}

/** Items of a conversation that one request reads again: the newest. */
const conversationItemsMax = 4 * turnsMax;

/** In OpenAI's words, which clients act on. */
export function previousNotFound(): Failure {
  return {
    kind: 'not-found',
    param: 'previous_response_id',
    code: 'previous_response_not_found',
    message: "Previous response not found: 'previous_response_id' names none that this key can continue.",
  };
}

export function responseNotFound(id: string): Failure {
  return { kind: 'not-found', message: `Response with id '${id}' not found.` };
}

export function conversationNotFound(id: string, param?: string): Failure {
  const message = `Conversation with id '${id}' not found.`;
  if (param === undefined) return { kind: 'not-found', message };
  return { kind: 'not-found', param, message: `Conversation not found: '${param}' names no conversation of this key.` };
}
