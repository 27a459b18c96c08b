import type { Listed } from './batch-store.ts';

/**
 * The port of kept responses and conversations: one row per (tenant, id), and one per item of a conversation. Its
 * store, over both databases, is in stores/answers. What callers wrote and models answered is encrypted before it comes
 * here. Nothing that expired is ever found.
 */
export interface ResponseStore {
  /** Keeps a response, and adds its items to the conversation it belongs to, if that still exists. */
  put(row: ResponseRow, items: readonly ItemRow[]): Promise<void>;
  /** Changes a response that runs. False when it does no longer: it was cancelled, deleted or has ended. */
  change(change: ResponseChange, items: readonly ItemRow[]): Promise<boolean>;
  find(tenant: string, id: string, nowMs: number): Promise<FoundResponse | null>;
  /** A response and those before it, the oldest first; at most `most`, without their events. Empty when it is not there. */
  chain(tenant: string, id: string, most: number, nowMs: number): Promise<FoundResponse[]>;
  /** Lets these responses expire later. */
  renew(tenant: string, ids: readonly string[], expiresMs: number): Promise<void>;
  /** False when it was not there. */
  remove(tenant: string, id: string): Promise<boolean>;
  /** Running responses among these that no longer run: they were cancelled or deleted. */
  stopped(ids: readonly RowKey[]): Promise<RowKey[]>;

  putConversation(row: ConversationRow, items: readonly ItemRow[]): Promise<void>;
  findConversation(tenant: string, id: string, nowMs: number): Promise<ConversationRow | null>;
  /** False when it is not there. */
  setMetadata(tenant: string, id: string, metadata: Uint8Array, expiresMs: number): Promise<boolean>;
  /** With all its items; responses of it stay. False when it was not there. */
  removeConversation(tenant: string, id: string): Promise<boolean>;
  /** False when the conversation is not there. */
  addItems(tenant: string, conversation: string, items: readonly ItemRow[], expiresMs: number): Promise<boolean>;
  /** Items in the order in which they were added, or backwards, from behind `after` on. */
  items(query: ItemQuery): Promise<ItemRow[]>;
  /** Its place stays known for an hour. False when it was not there. */
  removeItem(tenant: string, conversation: string, id: string, nowMs: number): Promise<boolean>;
  /** Whether the item is there or was removed of late, so that a list may go on behind it. */
  hasPlace(tenant: string, conversation: string, id: string): Promise<boolean>;

  /** Removes what expired; resolves to how many rows. */
  sweep(nowMs: number): Promise<number>;
  close(): Promise<void>;
}

export interface RowKey {
  tenant: string;
  id: string;
}

export interface ResponseRow extends RowKey {
  /** The response it continues; null: none. */
  previous: string | null;
  conversation: string | null;
  /** OpenAI's word: `queued`, `in_progress`, `completed` … */
  status: string;
  /** The process in which it runs; null: it has ended. */
  bootId: string | null;
  createdMs: number;
  expiresMs: number;
  /** Sealed: the input items of the response, and the response as callers get it. */
  input: Uint8Array;
  answer: Uint8Array;
}

export interface FoundResponse extends ResponseRow {
  /** It ran in a process that is over. */
  orphaned: boolean;
  /** Sealed: the frames of its stream; null: they were not kept. */
  events: Uint8Array | null;
}

export interface ResponseChange extends RowKey {
  status: string;
  answer: Uint8Array;
  /** `runs on`, or its last events, if they are kept. */
  end: 'runs on' | { events: Uint8Array | null };
  /** Conversation to which its items are added. */
  conversation: string | null;
  expiresMs: number;
}

export interface ConversationRow extends RowKey {
  createdMs: number;
  expiresMs: number;
  /** Sealed. */
  metadata: Uint8Array;
}

export interface ItemRow {
  id: string;
  /** Sealed. */
  item: Uint8Array;
}

/** The item `after` may have been removed. */
export interface ItemQuery extends Omit<Listed, 'nowMs'> {
  conversation: string;
  /** One item alone; null: all. */
  id: string | null;
}
