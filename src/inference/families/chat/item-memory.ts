import type { ItemReference } from '../../../formats/dialects/dialect.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';

/**
 * Items of converted answers, which a later request of the same tenant may name instead of sending them. In the memory of
 * this process, or of the primary of several workers: a restart forgets them, and other replicas do not know them.
 */
export interface ItemMemory {
  /** Items with an id. Those that are too large are not kept. */
  keep(tenant: string, items: readonly JsonObject[]): void;
  /** The referenced items that are there, by id. */
  find(tenant: string, references: readonly ItemReference[]): FoundItems | Promise<FoundItems>;
}

type FoundItems = Readonly<Record<string, JsonObject>>;

/** Items that this process keeps. */
export interface ItemsHere extends ItemMemory {
  find(...of: Parameters<ItemMemory['find']>): FoundItems;
}

/** A tool loop takes minutes, with a person in it at times more. */
export const itemRetentionMs = 3_600_000;
/** Longer ones, such as pictures, are not kept. */
export const itemCharsMax = 256 * 1024;
/** Beyond it a tenant's oldest go. */
export const tenantCharsMax = 4 * 1024 * 1024;
/** Bound of all tenants. Beyond it the tenant with most items loses its oldest. */
export const allCharsMax = 32 * 1024 * 1024;
/** Rough size of an entry apart from its text. */
const entryChars = 256;

interface StoredEntry {
  json: string;
  chars: number;
  untilMs: number;
}

/** One tenant's, the oldest first. */
interface Shelf {
  items: Map<string, StoredEntry>;
  chars: number;
}

export function createItemMemory({ clock }: { clock: Pick<Clock, 'monotonicMs'> }): ItemsHere {
  /** The tenant that received something last comes last. */
  const shelves = new Map<string, Shelf>();
  let allChars = 0;

  function drop(tenant: string, shelf: Shelf, id: string, item: StoredEntry): void {
    shelf.items.delete(id);
    shelf.chars -= item.chars;
    allChars -= item.chars;
    if (shelf.items.size === 0) shelves.delete(tenant);
  }

  function dropOldest(tenant: string, shelf: Shelf): void {
    for (const [id, item] of shelf.items) return drop(tenant, shelf, id, item);
  }

  function dropExpired(nowMs: number): void {
    for (const [tenant, shelf] of shelves) {
      for (const [id, item] of shelf.items) {
        if (item.untilMs > nowMs) break;
        drop(tenant, shelf, id, item);
      }
      // Those behind it were given something later.
      if (shelf.items.size > 0) return;
    }
  }

  function shelfOf(tenant: string): Shelf {
    const shelf = shelves.get(tenant) ?? { items: new Map<string, StoredEntry>(), chars: 0 };
    shelves.delete(tenant);
    shelves.set(tenant, shelf);
    return shelf;
  }

  return {
    keep(tenant, items) {
      const nowMs = clock.monotonicMs();
      dropExpired(nowMs);
      for (const item of items) {
        if (typeof item.id !== 'string') continue;
        const json = JSON.stringify(item);
        if (json.length > itemCharsMax) continue;
        const shelf = shelfOf(tenant);
        const before = shelf.items.get(item.id);
        if (before !== undefined) drop(tenant, shelf, item.id, before);
        const entry = { json, chars: json.length + entryChars, untilMs: nowMs + itemRetentionMs };
        shelf.items.set(item.id, entry);
        shelf.chars += entry.chars;
        allChars += entry.chars;
        shelves.set(tenant, shelf);
        while (shelf.chars > tenantCharsMax) dropOldest(tenant, shelf);
        while (allChars > allCharsMax) dropOldest(...largest(shelves));
      }
    },
    find(tenant, references) {
      const nowMs = clock.monotonicMs();
      const shelf = shelves.get(tenant);
      const found: Record<string, JsonObject> = {};
      for (const { id } of references) {
        const item = Object.hasOwn(found, id) ? undefined : shelf?.items.get(id);
        if (item !== undefined && item.untilMs > nowMs) found[id] = JSON.parse(item.json) as JsonObject;
      }
      return found;
    },
  };
}

function largest(shelves: ReadonlyMap<string, Shelf>): [string, Shelf] {
  return [...shelves].reduce((most, one) => (one[1].chars > most[1].chars ? one : most));
}

/** A 404 for the first missing item that the request needs, whether it belongs to another tenant or to nobody. */
export function itemMissing(
  references: readonly ItemReference[],
  found: Readonly<Record<string, JsonObject>>,
): Failure | null {
  const missing = references.find(({ id, use }) => use === 'needed' && !Object.hasOwn(found, id));
  if (missing === undefined) return null;
  return {
    kind: 'not-found',
    param: missing.field,
    message: `Item with id '${missing.id}' not found. Culvert keeps the items of answers for an hour, for the key that got them. Send the item itself, as clients do with "store": false.`,
  };
}
