import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ItemRow } from '../../../books/metering/response-store.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import { Unopenable } from '../../../kernel/unopenable.ts';

export type StoredItem = JsonObject & { id: string };

/** Sealed parts of a row, named in the seal: no part can be put in another's place. */
type What = 'input' | 'answer' | 'events' | 'metadata' | 'item';

/** Seals and opens the parts of rows that callers wrote and models answered. */
export type SealedRows = ReturnType<typeof sealedRows>;

const atOnce = 250;

/** Results of `work` for each of them, a few in each turn of the loop: a conversation may have thousands of items. */
export async function inTurns<From, To>(all: readonly From[], work: (one: From) => To): Promise<Awaited<To>[]> {
  const results: Awaited<To>[] = [];
  for (const one of all) {
    if (results.length % atOnce === atOnce - 1) await nextTurn();
    results.push(await work(one));
  }
  return results;
}

export function sealedRows(sealer: Sealer) {
  const rows = {
    /** Seals a text as it is, anything else as its JSON. */
    seal: (value: unknown, tenant: string, id: string, what: What): Buffer =>
      sealer.seal(
        Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
        partContext(tenant, id, what),
      ),
    /** Throws for what another secret sealed: nothing else can be wrong with a row of ours. */
    text(sealed: Uint8Array, tenant: string, id: string, what: What): string {
      const plain = sealer.open(sealed, partContext(tenant, id, what));
      if (plain === null) throw new Unopenable(`The ${what} of '${id}'`);
      return plain.toString('utf8');
    },
    /** The JSON in it. Throws as `text` does. */
    open: <T>(sealed: Uint8Array, tenant: string, id: string, what: What): T =>
      JSON.parse(rows.text(sealed, tenant, id, what)) as T,
    items: (tenant: string, conversation: string, items: readonly StoredItem[]): Promise<ItemRow[]> =>
      inTurns(items, (one) => ({ id: one.id, item: rows.seal(one, tenant, `${conversation} ${one.id}`, 'item') })),
    item: (tenant: string, conversation: string, { id, item }: ItemRow): StoredItem =>
      rows.open(item, tenant, `${conversation} ${id}`, 'item'),
  };
  return rows;
}

export function bytesOf(rows: readonly ItemRow[]): number {
  return rows.reduce((sum, { item }) => sum + item.length, 0);
}

/** Context that a part of a row is sealed with. */
export function partContext(tenant: string, id: string, what: What): string {
  return JSON.stringify([tenant, id, what]);
}
