import { setTimeout as pause } from 'node:timers/promises';
import type { GivenObject, ProviderObjectStore } from '../../books/auth/provider-object-store.ts';
import { rowShape } from '../row-shape.ts';
import type { ClosableTables, SqlTables, Step } from '../sql-tables.ts';

const {
  columns,
  cells,
  read: givenOf,
} = rowShape<GivenObject>()({ text: ['idHash', 'tenant', 'target', 'credential'], number: ['expiresMs'] });

/** Rows of one statement. */
const givenAtOnce = 100;
/** Removed in one transaction: answers that give out ids wait for it. */
const removedAtOnce = 500;
/** Between two such transactions, so that they get in first. */
const pauseMs = 20;

export interface ProviderObjectTables extends ClosableTables {
  /** See the port. */
  lookAgainAfterMs: number | null;
  /** Upkeep, in this thread or in another. */
  upkeep: Pick<ProviderObjectStore, 'trim' | 'sweep'>;
}

/**
 * Objects at providers over either database. `quick`: the same tables, for the look that a caller waits for. An id is
 * written before its answer goes on, so a kill loses none.
 */
export function createProviderObjectStore(
  { prefix, write, rows, oneOf, lookAgainAfterMs, upkeep, close }: ProviderObjectTables,
  quick: Pick<SqlTables, 'rows'> = { rows },
): ProviderObjectStore {
  const find = {
    name: 'provider-object-find',
    text: `SELECT * FROM ${prefix}provider_object WHERE ${oneOf('id_hash', '$1')} AND expires_ms > $2`,
  };
  return {
    lookAgainAfterMs,
    async give(objects) {
      const steps: Step[] = [];
      for (let at = 0; at < objects.length; at += givenAtOnce) {
        steps.push(givingStep(prefix, objects.slice(at, at + givenAtOnce)));
      }
      await write(steps);
    },
    async find(idHashes, nowMs) {
      return (await quick.rows(find, [idHashes, nowMs])).map(givenOf);
    },
    ...upkeep,
    close,
  };
}

function givingStep(prefix: string, objects: readonly GivenObject[]): Step {
  const values: unknown[] = [];
  const places = objects.map(
    (object) =>
      `(${cells(object)
        .map((value) => `$${values.push(value)}`)
        .join(', ')})`,
  );
  const sql = `INSERT INTO ${prefix}provider_object (${columns}) VALUES ${places.join(', ')}
    ON CONFLICT (id_hash, tenant) DO UPDATE
      SET target = excluded.target, credential = excluded.credential, expires_ms = excluded.expires_ms`;
  return { sql, values };
}

/** Removes objects in batches: a tenant's oldest, with those of the same moment as the last, and what expired. */
export function objectUpkeep({ prefix, rows, run }: SqlTables): ProviderObjectTables['upkeep'] {
  const object = `${prefix}provider_object`;
  async function removeWhere(where: string, values: readonly unknown[]): Promise<number> {
    const sql = `DELETE FROM ${object} WHERE (id_hash, tenant) IN (
      SELECT id_hash, tenant FROM ${object} WHERE ${where} ORDER BY expires_ms LIMIT ${removedAtOnce})`;
    for (let removed = 0; ; await pause(pauseMs)) {
      const batch = await run(sql, values);
      removed += batch;
      if (batch < removedAtOnce) return removed;
    }
  }
  return {
    async trim(tenant, keepMax) {
      const oldest = `SELECT expires_ms FROM ${object} WHERE tenant = $1 ORDER BY expires_ms DESC LIMIT 1 OFFSET $2`;
      const [row] = await rows(oldest, [tenant, keepMax]);
      return row === undefined ? 0 : removeWhere('tenant = $1 AND expires_ms <= $2', [tenant, row.expires_ms]);
    },
    sweep: (nowMs) => removeWhere('expires_ms <= $1', [nowMs]),
  };
}
