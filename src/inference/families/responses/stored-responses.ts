import type { Listed } from '../../../books/metering/batch-store.ts';
import type { FoundResponse, ResponseStore } from '../../../books/metering/response-store.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { FailureError } from '../../../kernel/failure.ts';
import { newRequestId } from '../../../kernel/ids.ts';
import { type JsonObject, listIn } from '../../../kernel/json.ts';
import { OpenedOnce } from '../../../kernel/opened-once.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import { failedResponse, interruptedResponse } from './response-states.ts';
import { bytesOf, inTurns, type SealedRows, type StoredItem, sealedRows } from './sealed-rows.ts';

/** Responses and conversations of tenants, opened and sealed on their way from and to the store. */
export interface StoredResponses
  extends Pick<ResponseStore, 'remove' | 'stopped' | 'removeConversation' | 'hasPlace' | 'sweep'> {
  put(tenant: string, response: NewResponse): Promise<void>;
  /** False when it no longer runs: its end is kept already. */
  change(tenant: string, change: ResponseChange): Promise<boolean>;
  find(tenant: string, id: string): Promise<StoredResponse | null>;
  /** A response and all before it, the oldest first; null when one of them is not there. */
  chain(tenant: string, id: string): Promise<StoredResponse[] | null>;

  putConversation(tenant: string, metadata: JsonObject, items: readonly StoredItem[]): Promise<StoredConversation>;
  conversation(tenant: string, id: string): Promise<StoredConversation | null>;
  setMetadata(tenant: string, id: string, metadata: JsonObject): Promise<boolean>;
  addItems(tenant: string, conversation: string, items: readonly StoredItem[]): Promise<boolean>;
  items(tenant: string, conversation: string, page: ItemPage): Promise<StoredItem[]>;
  removeItem(tenant: string, conversation: string, id: string): Promise<boolean>;

  /** A text that its tenant keeps itself, as base64url that no other tenant's key opens; null: it cannot be read. */
  sealText(tenant: string, text: string): string;
  openText(tenant: string, sealed: string): string | null;
}

export interface StoredResponse {
  id: string;
  previous: string | null;
  conversation: string | null;
  status: string;
  /** Its own, without those of the responses before it. */
  input: StoredItem[];
  /** The response that callers get. */
  response: JsonObject;
  /** The frames of its stream; null: they were not kept. */
  frames(): string | null;
}

export interface NewResponse extends Pick<StoredResponse, 'id' | 'previous' | 'conversation' | 'input' | 'response'> {
  /** It goes on in this process after it was shown. */
  runs: boolean;
}

export interface ResponseChange extends Pick<StoredResponse, 'id' | 'conversation' | 'input' | 'response'> {
  end: 'runs on' | { frames: string | null };
}

export interface StoredConversation {
  id: string;
  createdMs: number;
  metadata: JsonObject;
}

export interface ItemPage extends Pick<Listed, 'order' | 'after' | 'limit'> {
  /** One item alone. */
  id?: string;
}

export interface StoredResponsesParts {
  open(): Promise<ResponseStore>;
  /** Whether there may be something to sweep although nobody has opened it since the start. */
  storedBefore(): boolean;
  /** Used for kept responses alone. */
  sealer: Sealer;
  bootId: string;
  clock: Clock;
  retentionMs(): number;
  /**
   * Runs `write`, whose bytes count against the account's storage unless it resolves with false. Rejects with a
   * FailureError, before it, when they do not fit.
   */
  counted<T>(tenant: string, bytes: number, write: () => Promise<T>): Promise<T>;
}

/** Turns of one conversation that one request reads again. */
export const turnsMax = 2_000;
/** A continued response expires later again once it has lost so much of its time: not at every turn. */
const renewedAfterMs = 24 * 3_600_000;

export function createStoredResponses(parts: StoredResponsesParts): StoredResponses {
  const once = new OpenedOnce(() => parts.open());
  const store = once.open;
  const expiresMs = () => parts.clock.wallMs() + parts.retentionMs();
  const rooms = { parts, store, expiresMs, sealed: sealedRows(parts.sealer) };
  return {
    ...responsesIn(rooms),
    ...conversationsIn(rooms),
    sealText: (tenant, text) => parts.sealer.seal(Buffer.from(text), textContext(tenant)).toString('base64url'),
    openText: (tenant, sealed) =>
      parts.sealer.open(Buffer.from(sealed, 'base64url'), textContext(tenant))?.toString('utf8') ?? null,
    async sweep(nowMs) {
      return once.unused && !parts.storedBefore() ? 0 : (await store()).sweep(nowMs);
    },
  };
}

interface Shelf {
  parts: StoredResponsesParts;
  store(): Promise<ResponseStore>;
  expiresMs(): number;
  sealed: SealedRows;
}

function responsesIn({ parts, store, expiresMs, sealed }: Shelf) {
  const { clock, bootId } = parts;

  async function opened(tenant: string, row: FoundResponse): Promise<StoredResponse> {
    const { id, previous, conversation, events } = row;
    const input = sealed.open<StoredItem[]>(row.input, tenant, id, 'input');
    const frames = () => (events === null ? null : sealed.text(events, tenant, id, 'events'));
    const found = sealed.open<JsonObject>(row.answer, tenant, id, 'answer');
    if (!row.orphaned) return { id, previous, conversation, status: row.status, input, response: found, frames };
    const response = interruptedResponse(found);
    await change(tenant, { id, conversation: null, input: [], response, end: { frames: null } });
    return { id, previous, conversation, status: 'failed', input, response, frames };
  }

  async function change(tenant: string, { id, conversation, input, response, end }: ResponseChange): Promise<boolean> {
    const adds = conversation === null ? [] : [...input, ...addedOf(response)];
    const items = await sealed.items(tenant, conversation ?? '', adds);
    const events = end === 'runs on' || end.frames === null ? null : sealed.seal(end.frames, tenant, id, 'events');
    const answer = sealed.seal(response, tenant, id, 'answer');
    const into = await store();
    const row = { tenant, id, status: String(response.status), answer, conversation, expiresMs: expiresMs() };
    if (end === 'runs on') return into.change({ ...row, end }, items);
    try {
      const write = () => into.change({ ...row, end: { events } }, items);
      return await parts.counted(tenant, answer.length + (events?.length ?? 0) + bytesOf(items), write);
    } catch (error) {
      if (!(error instanceof FailureError) || error.failure.kind !== 'quota-exceeded') throw error;
      // Its end must be seen, so that nobody waits for it.
      const refused = failedResponse({ ...response, output: [] }, 'rate_limit_exceeded', error.failure.message);
      const failed = { status: 'failed', answer: sealed.seal(refused, tenant, id, 'answer'), conversation: null };
      return into.change({ ...row, ...failed, end: { events: null } }, []);
    }
  }

  return {
    change,
    async put(tenant, { id, previous, conversation, input, response, runs }) {
      const adds = conversation === null || runs ? [] : [...input, ...addedOf(response)];
      const items = await sealed.items(tenant, conversation ?? '', adds);
      const row = {
        ...{ tenant, id, previous, conversation, createdMs: clock.wallMs(), expiresMs: expiresMs() },
        status: String(response.status),
        bootId: runs ? bootId : null,
        input: sealed.seal(input, tenant, id, 'input'),
        answer: sealed.seal(response, tenant, id, 'answer'),
      };
      const into = await store();
      // An answer counts at its end, as `stores/storage-sizes` counts it.
      const answerBytes = runs ? 0 : row.answer.length;
      await parts.counted(tenant, row.input.length + answerBytes + bytesOf(items), () => into.put(row, items));
    },
    async find(tenant, id) {
      const row = await (await store()).find(tenant, id, clock.wallMs());
      return row === null ? null : opened(tenant, row);
    },
    async chain(tenant, id) {
      const from = await store();
      const rows = await from.chain(tenant, id, turnsMax, clock.wallMs());
      // What began the conversation is gone, or it has more turns than are read.
      if (rows[0]?.previous !== null) return null;
      const untilMs = expiresMs();
      const fading = rows.filter((row) => row.expiresMs < untilMs - renewedAfterMs).map((row) => row.id);
      if (fading.length > 0) await from.renew(tenant, fading, untilMs);
      return inTurns(rows, (row) => opened(tenant, row));
    },
    remove: async (tenant, id) => (await store()).remove(tenant, id),
    stopped: async (keys) => (await store()).stopped(keys),
  } satisfies Partial<StoredResponses>;
}

function conversationsIn({ parts, store, expiresMs, sealed }: Shelf) {
  const { clock } = parts;
  return {
    async putConversation(tenant, metadata, items) {
      const createdMs = clock.wallMs();
      const id = `conv_${saltOfId(newRequestId(createdMs))}`;
      const rows = await sealed.items(tenant, id, items);
      const row = {
        tenant,
        id,
        createdMs,
        expiresMs: expiresMs(),
        metadata: sealed.seal(metadata, tenant, id, 'metadata'),
      };
      const into = await store();
      await parts.counted(tenant, row.metadata.length + bytesOf(rows), () => into.putConversation(row, rows));
      return { id, createdMs, metadata };
    },
    async conversation(tenant, id) {
      const row = await (await store()).findConversation(tenant, id, clock.wallMs());
      if (row === null) return null;
      return { id, createdMs: row.createdMs, metadata: sealed.open<JsonObject>(row.metadata, tenant, id, 'metadata') };
    },
    setMetadata: async (tenant, id, metadata) =>
      (await store()).setMetadata(tenant, id, sealed.seal(metadata, tenant, id, 'metadata'), expiresMs()),
    removeConversation: async (tenant, id) => (await store()).removeConversation(tenant, id),
    async addItems(tenant, conversation, items) {
      const rows = await sealed.items(tenant, conversation, items);
      const into = await store();
      return parts.counted(tenant, bytesOf(rows), () => into.addItems(tenant, conversation, rows, expiresMs()));
    },
    async items(tenant, conversation, { order, after, limit, id = null }) {
      const rows = await (await store()).items({ tenant, conversation, order, after, limit, id });
      return inTurns(rows, (row) => sealed.item(tenant, conversation, row));
    },
    removeItem: async (tenant, conversation, id) =>
      (await store()).removeItem(tenant, conversation, id, clock.wallMs()),
    hasPlace: async (tenant, conversation, id) => (await store()).hasPlace(tenant, conversation, id),
  } satisfies Partial<StoredResponses>;
}

/** Context of a sealed text that a client, or an item that is kept, holds. */
export function textContext(tenant: string): string {
  return JSON.stringify([tenant, 'compaction']);
}

/** Ids that are shorter may repeat: some servers number theirs, or choose a short number at random. */
const uniqueIdCharsMin = 20;

/** The items of an answer as its conversation gets them, each with an id that no other item of it has. */
export function addedOf(response: JsonObject): StoredItem[] {
  const salt = saltOfId(String(response.id).replace('resp_', 'req_'));
  return outputOf(response).map((item) =>
    item.id.length >= uniqueIdCharsMin ? item : { ...item, id: `${item.id}_${salt}` },
  );
}

/** The items of an answer that have an id, as all have. */
export function outputOf({ output }: JsonObject): StoredItem[] {
  return listIn(output).filter((item): item is StoredItem => typeof (item as JsonObject | null)?.id === 'string');
}

/** The unique part of a request's id, without marks that ids of OpenAI's have not. */
export function saltOfId(requestId: string): string {
  return requestId.slice(4).replaceAll('-', '');
}
