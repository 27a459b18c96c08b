import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  ConversationRow,
  FoundResponse,
  ItemRow,
  ResponseRow,
  ResponseStore,
} from '../../books/metering/response-store.ts';
import { rowShape } from '../row-shape.ts';
import { type BootTables, change, type Row, read, type Work } from '../sql-tables.ts';

/** Rows removed in one transaction: of responses and conversations, of up to a megabyte each, and of their items. */
const sweptAtOnce = 10;
const itemsSweptAtOnce = 500;
/** Rows of one statement: to PostgreSQL each is a way there and back. */
const itemsAddedAtOnce = 100;
/** A list may go on behind an item this long after its removal. */
const placesKnownMs = 3_600_000;

/** Kept responses and conversations over either database. */
export function createResponseStore(tables: BootTables): ResponseStore {
  const { prefix, write, close, run } = tables;
  const names = {
    response: `${prefix}response`,
    conversation: `${prefix}conversation`,
    item: `${prefix}conversation_item`,
    place: `${prefix}conversation_place`,
  };
  const { response, conversation, item, place } = names;

  /** Removes a few rows in each turn of the loop: a conversation may have thousands of items. */
  async function removeExpired(nowMs: number): Promise<number> {
    const old = (table: string, and = '') =>
      `SELECT tenant, id FROM ${table} AS old WHERE expires_ms <= $1 ${and} LIMIT ${sweptAtOnce}`;
    const ofOld = (table: string, key: string) => `DELETE FROM ${table} WHERE (tenant, conversation, ${key}) IN (
      SELECT tenant, conversation, ${key} FROM ${table} WHERE (tenant, conversation) IN (${old(conversation)})
      LIMIT ${itemsSweptAtOnce})`;
    const hasNone = (table: string) =>
      `AND NOT EXISTS (SELECT 1 FROM ${table} WHERE tenant = old.tenant AND conversation = old.id)`;
    const late = `DELETE FROM ${place} WHERE (tenant, conversation, id) IN (
      SELECT tenant, conversation, id FROM ${place} WHERE removed_ms < $1 LIMIT ${itemsSweptAtOnce})`;
    const steps = [
      { sql: late, values: [nowMs - placesKnownMs] },
      { sql: ofOld(place, 'id'), values: [nowMs] },
      { sql: ofOld(item, 'seq'), values: [nowMs] },
      {
        sql: `DELETE FROM ${conversation} WHERE (tenant, id) IN (${old(conversation, hasNone(place) + hasNone(item))})`,
        values: [nowMs],
      },
      { sql: `DELETE FROM ${response} WHERE (tenant, id) IN (${old(response)})`, values: [nowMs] },
    ];
    for (let removed = 0; ; await nextTurn()) {
      const changes = await write(steps);
      removed += (changes[3] ?? 0) + (changes[4] ?? 0);
      if (changes.every((rows) => rows === 0)) return removed;
    }
  }

  return {
    ...responsesIn(tables, names),
    ...conversationsIn(tables, names),
    ...itemsIn(tables, names),
    removeConversation: async (tenant, id) => {
      // Gone for everybody from here on. If this process ends before its items are removed, a sweep removes them.
      const sql = `UPDATE ${conversation} SET expires_ms = 0 WHERE tenant = $1 AND id = $2 AND expires_ms > 0`;
      const changes = await run(sql, [tenant, id]);
      await removeExpired(0);
      return changes === 1;
    },
    sweep: (nowMs) => removeExpired(nowMs),
    close,
  };
}

interface TableNames {
  response: string;
  conversation: string;
  item: string;
  /** Where items were that are removed. */
  place: string;
}

const responseShape = rowShape<ResponseRow>()({
  text: ['tenant', 'id', 'status'],
  'text?': ['previous', 'conversation', 'bootId'],
  number: ['createdMs', 'expiresMs'],
  bytes: ['input', 'answer'],
});
const foundShape = rowShape<Pick<FoundResponse, 'orphaned' | 'events'>>()({ flag: ['orphaned'], 'bytes?': ['events'] });
const responseOf = (row: Row): FoundResponse => ({ ...responseShape.read(row), ...foundShape.read(row) });
const conversationShape = rowShape<ConversationRow>()({
  text: ['tenant', 'id'],
  number: ['createdMs', 'expiresMs'],
  bytes: ['metadata'],
});
const itemShape = rowShape<ItemRow>()({ text: ['id'], bytes: ['item'] });

function responsesIn({ bootIsOver, rows, write, transaction, run, first }: BootTables, names: TableNames) {
  const { response } = names;
  const { columns, insert, cells } = responseShape;
  const found = `${columns}, (boot_id IS NOT NULL AND ${bootIsOver('boot_id')}) AS orphaned`;
  return {
    async put(row, items) {
      const sql = `${insert(response)} ON CONFLICT (tenant, id) DO UPDATE SET status = excluded.status,
          boot_id = excluded.boot_id, expires_ms = excluded.expires_ms, input = excluded.input, answer = excluded.answer`;
      await transaction('write', function* () {
        yield* change(sql, cells(row));
        if (row.conversation !== null) yield* adding(names, row.tenant, row.conversation, items, row.expiresMs);
      });
    },
    async change({ tenant, id, status, answer, end, conversation: of, expiresMs }, items) {
      const ends = end === 'runs on' ? '' : ', boot_id = NULL, events = $5, expires_ms = $6';
      const sql = `UPDATE ${response} SET status = $3, answer = $4${ends}
        WHERE tenant = $1 AND id = $2 AND boot_id IS NOT NULL`;
      const more = end === 'runs on' ? [] : [end.events, expiresMs];
      return transaction('write', function* () {
        if ((yield* change(sql, [tenant, id, status, answer, ...more])) === 0) return false;
        if (of !== null) yield* adding(names, tenant, of, items, expiresMs);
        return true;
      });
    },
    async find(tenant, id, nowMs) {
      const sql = `SELECT ${found}, events FROM ${response} WHERE tenant = $1 AND id = $2 AND expires_ms > $3`;
      return first(sql, [tenant, id, nowMs], responseOf);
    },
    async chain(tenant, id, most, nowMs) {
      const sql = `
        WITH RECURSIVE turn (id, previous, back) AS (
          SELECT id, previous, 1 FROM ${response} WHERE tenant = $1 AND id = $2 AND expires_ms > $4
          UNION ALL
          SELECT before.id, before.previous, turn.back + 1 FROM turn
            JOIN ${response} AS before ON before.tenant = $1 AND before.id = turn.previous AND before.expires_ms > $4
            WHERE turn.back < $3
        )
        SELECT ${found} FROM ${response} JOIN (SELECT id AS turn_id, back FROM turn) AS turns ON turn_id = id
        WHERE tenant = $1 ORDER BY back DESC`;
      return (await rows(sql, [tenant, id, most, nowMs])).map(responseOf);
    },
    async renew(tenant, ids, expiresMs) {
      const sql = `UPDATE ${response} SET expires_ms = $3 WHERE tenant = $1 AND id = $2 AND expires_ms < $3`;
      await write(ids.map((id) => ({ sql, values: [tenant, id, expiresMs] })));
    },
    async remove(tenant, id) {
      return (await run(`DELETE FROM ${response} WHERE tenant = $1 AND id = $2`, [tenant, id])) === 1;
    },
    async stopped(keys) {
      const sql = `SELECT id FROM ${response} WHERE tenant = $1 AND id = $2 AND boot_id IS NOT NULL`;
      const running = await Promise.all(keys.map(({ tenant, id }) => rows(sql, [tenant, id])));
      return keys.filter((_, at) => running[at]?.length === 0);
    },
  } satisfies Partial<ResponseStore>;
}

function conversationsIn({ transaction, run, first }: BootTables, names: TableNames) {
  const { conversation } = names;
  return {
    async putConversation(row, items) {
      await transaction('write', function* () {
        yield* change(conversationShape.insert(conversation), conversationShape.cells(row));
        yield* adding(names, row.tenant, row.id, items, row.expiresMs);
      });
    },
    async findConversation(tenant, id, nowMs) {
      const sql = `SELECT ${conversationShape.columns} FROM ${conversation}
        WHERE tenant = $1 AND id = $2 AND expires_ms > $3`;
      return first(sql, [tenant, id, nowMs], conversationShape.read);
    },
    async setMetadata(tenant, id, metadata, expiresMs) {
      const sql = `UPDATE ${conversation} SET metadata = $3, expires_ms = $4
        WHERE tenant = $1 AND id = $2 AND expires_ms > 0`;
      return (await run(sql, [tenant, id, metadata, expiresMs])) === 1;
    },
  } satisfies Partial<ResponseStore>;
}

function itemsIn({ rows, write, transaction }: BootTables, names: TableNames) {
  const { item, place } = names;
  return {
    addItems: (tenant, id, items, expiresMs) => transaction('write', () => adding(names, tenant, id, items, expiresMs)),
    async items({ tenant, conversation: of, order, after, limit, id }) {
      const than = order === 'asc' ? '>' : '<';
      const values: unknown[] = [tenant, of, limit];
      const valueAt = (value: unknown) => `$${values.push(value)}`;
      const behind = after === null ? '' : `AND seq ${than} (${placeOf(names, valueAt(after))})`;
      const one = id === null ? '' : `AND id = ${valueAt(id)}`;
      const sql = `SELECT id, item FROM ${item} WHERE tenant = $1 AND conversation = $2 ${behind} ${one}
        ORDER BY seq ${order} LIMIT $3`;
      return (await rows(sql, values)).map(itemShape.read);
    },
    async removeItem(tenant, of, id, nowMs) {
      const which = 'tenant = $1 AND conversation = $2 AND id = $3';
      const left = `INSERT INTO ${place} (tenant, conversation, id, seq, removed_ms)
        SELECT tenant, conversation, id, seq, $4 FROM ${item} WHERE ${which}
        ON CONFLICT (tenant, conversation, id) DO UPDATE SET seq = excluded.seq, removed_ms = excluded.removed_ms`;
      const [, changes] = await write([
        { sql: left, values: [tenant, of, id, nowMs], needed: true },
        { sql: `DELETE FROM ${item} WHERE ${which}`, values: [tenant, of, id] },
      ]);
      return changes === 1;
    },
    async hasPlace(tenant, of, id) {
      const [row] = await rows(`SELECT (${placeOf(names, '$3')}) AS seq`, [tenant, of, id]);
      return row?.seq != null;
    },
  } satisfies Partial<ResponseStore>;
}

/** SQL: where an item of the conversation is, or was before its removal; null: unknown. */
function placeOf({ item, place }: TableNames, placeholder: string): string {
  const seqIn = (table: string) =>
    `(SELECT seq FROM ${table} WHERE tenant = $1 AND conversation = $2 AND id = ${placeholder})`;
  return `SELECT coalesce(${seqIn(item)}, ${seqIn(place)})`;
}

/**
 * Adds the items that the conversation does not have yet; false when it is not there. The first statement locks it, so that
 * two turns that end at once add their items one after another.
 */
function* adding(
  { conversation, item, place }: TableNames,
  tenant: string,
  id: string,
  items: readonly ItemRow[],
  expiresMs: number,
): Work<boolean> {
  const touch = `UPDATE ${conversation} SET expires_ms = $3 WHERE tenant = $1 AND id = $2 AND expires_ms > 0`;
  if ((yield* change(touch, [tenant, id, expiresMs])) === 0) return false;
  // No place of a removed item is given again: a list that goes on behind it would pass over the new one.
  const last = (table: string) => `SELECT max(seq) AS seq FROM ${table} WHERE tenant = $1 AND conversation = $2`;
  const used = `SELECT max(seq) AS seq FROM (${last(item)} UNION ALL ${last(place)}) AS used`;
  const [found] = yield* read(used, [tenant, id]);
  let seq = Number(found?.seq ?? 0);
  for (let from = 0; from < items.length; from += itemsAddedAtOnce) {
    const some = items.slice(from, from + itemsAddedAtOnce);
    const added = some.map((_, at) => `($1, $2, $${3 * at + 3}, $${3 * at + 4}, $${3 * at + 5})`).join(', ');
    const sql = `INSERT INTO ${item} (tenant, conversation, seq, id, item) VALUES ${added}
      ON CONFLICT (tenant, conversation, id) DO NOTHING`;
    yield* change(sql, [tenant, id, ...some.flatMap((one) => [++seq, one.id, one.item])]);
  }
  return true;
}
