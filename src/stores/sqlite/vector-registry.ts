import type { Deletion, RegisteredCollection, VectorRegistry } from '../../vectors/registry.ts';
import { planAliases } from '../vector-aliases.ts';
import {
  type CollectionColumns,
  collectionOf,
  type DeletionColumns,
  deletionOf,
  type IndexColumns,
  namedText,
  payloadIndexOf,
} from '../vector-rows.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { transaction } from './transaction.ts';

export interface SqliteVectorRegistry extends VectorRegistry {
  close(): Promise<void>;
}

/** The registry in `culvert.db`. An acknowledged change survives a power cut. */
export function openSqliteVectorRegistry(file: string): SqliteVectorRegistry {
  const database = openCulvertDatabase(file, 'fsync');
  const byName = database.prepare('SELECT * FROM vector_collection WHERE tenant = ? AND name = ?');
  const byAlias = database.prepare(
    `SELECT c.* FROM vector_alias a JOIN vector_collection c ON c.generation = a.generation
     WHERE a.tenant = ? AND a.alias = ?`,
  );
  const ofTenant = database.prepare('SELECT * FROM vector_collection WHERE tenant = ? ORDER BY name');
  const countOfAccount = database.prepare('SELECT count(*) AS count FROM vector_collection WHERE account = ?');
  const insert = database.prepare('INSERT INTO vector_collection VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  const remove = database.prepare('DELETE FROM vector_collection WHERE generation = ?');
  const page = database.prepare('SELECT * FROM vector_collection WHERE generation > ? ORDER BY generation LIMIT ?');
  const indexesOf = database.prepare('SELECT key, type FROM vector_index WHERE generation = ? ORDER BY key');
  const putIndex = database.prepare(
    `INSERT INTO vector_index SELECT generation, ?, ? FROM vector_collection WHERE generation = ?
     ON CONFLICT (generation, key) DO UPDATE SET type = excluded.type`,
  );
  const removeIndex = database.prepare('DELETE FROM vector_index WHERE generation = ? AND key = ?');
  const aliasesOf = database.prepare(
    `SELECT a.alias, a.generation, c.name FROM vector_alias a JOIN vector_collection c ON c.generation = a.generation
     WHERE a.tenant = ? ORDER BY a.alias`,
  );
  const putAlias = database.prepare('INSERT OR REPLACE INTO vector_alias VALUES (?, ?, ?)');
  const removeAlias = database.prepare('DELETE FROM vector_alias WHERE tenant = ? AND alias = ?');
  const moveCollections = database.prepare('UPDATE vector_collection SET tenant = ?, account = ? WHERE tenant = ?');
  const moveAliases = database.prepare('UPDATE vector_alias SET tenant = ? WHERE tenant = ?');
  const noteDeletion = database.prepare('INSERT INTO vector_deletion VALUES (?, ?, ?, ?, 0, ?, ?)');
  const due = database.prepare(
    'SELECT * FROM vector_deletion WHERE next_ms <= ? ORDER BY dropped_ms, generation LIMIT ?',
  );
  const lease = database.prepare('UPDATE vector_deletion SET next_ms = ? WHERE generation = ?');
  const retry = database.prepare('UPDATE vector_deletion SET tries = ?, next_ms = ? WHERE generation = ?');
  const finish = database.prepare('DELETE FROM vector_deletion WHERE generation = ?');

  function found(tenant: string, collection: string) {
    const row = byName.get(tenant, collection) ?? byAlias.get(tenant, collection);
    return row === undefined ? null : collectionOf(row as unknown as CollectionColumns);
  }

  function listed(tenant: string) {
    return (ofTenant.all(tenant) as unknown as CollectionColumns[]).map(collectionOf);
  }

  function aliasRows(tenant: string) {
    return aliasesOf.all(tenant) as unknown as { alias: string; generation: string; name: string }[];
  }

  function dropped({ generation, size, distance, named }: RegisteredCollection, nowMs: number): Deletion {
    remove.run(generation);
    noteDeletion.run(generation, size, distance, nowMs, nowMs, namedText(named));
    return { generation, size, distance, ...(named !== undefined && { named }), droppedMs: nowMs, tries: 0 };
  }

  return {
    async find(tenant, collection) {
      return found(tenant, collection);
    },
    async list(tenant) {
      return listed(tenant);
    },
    create: (row, collectionsMax) =>
      transaction(database, () => {
        if (found(row.tenant, row.name) !== null) return 'exists';
        if (Number(countOfAccount.get(row.account)?.count) >= collectionsMax) return 'full';
        const { generation, tenant, account, name, size, distance, embeddingModel } = row;
        insert.run(generation, tenant, account, name, size, distance, embeddingModel, namedText(row.named));
        return 'created';
      }),
    drop: (tenant, collection, nowMs) =>
      transaction(database, () => {
        const row = found(tenant, collection);
        return row?.name === collection ? dropped(row, nowMs) : null;
      }),
    async indexes(generation) {
      return (indexesOf.all(generation) as unknown as IndexColumns[]).map(payloadIndexOf);
    },
    index: (generation, key, type, indexesMax) =>
      transaction(database, () => {
        if (type === null) removeIndex.run(generation, key);
        else {
          const known = indexesOf.all(generation);
          if (known.length >= indexesMax && !known.some((row) => row.key === key)) return 'full';
          putIndex.run(key, type, generation);
        }
        return 'done';
      }),
    async aliases(tenant, collection) {
      const only = collection === null ? null : (found(tenant, collection)?.name ?? '');
      return aliasRows(tenant)
        .filter((row) => only === null || row.name === only)
        .map((row) => ({ alias: row.alias, collection: row.name }));
    },
    changeAliases: (tenant, changes, aliasesMax) =>
      transaction(database, () => {
        const plan = planAliases(
          new Map(listed(tenant).map((row) => [row.name, row.generation])),
          new Map(aliasRows(tenant).map((row) => [row.alias, row.generation])),
          changes,
          aliasesMax,
        );
        if (plan.kind !== 'planned') return plan;
        for (const alias of plan.remove) removeAlias.run(tenant, alias);
        for (const [alias, generation] of plan.put) putAlias.run(tenant, alias, generation);
        return { kind: 'done' };
      }),
    async all(after, limit) {
      return (page.all(after ?? '', limit) as unknown as CollectionColumns[]).map(collectionOf);
    },
    adopt: (from, to) =>
      transaction(database, () => {
        const moving = [...listed(from).map(({ name }) => name), ...aliasRows(from).map(({ alias }) => alias)];
        const taken = from === to.tenant ? undefined : moving.find((name) => found(to.tenant, name) !== null);
        if (taken !== undefined) return { kind: 'exists', name: taken };
        moveAliases.run(to.tenant, from);
        return { kind: 'done', collections: Number(moveCollections.run(to.tenant, to.account, from).changes) };
      }),
    purge: (tenant, nowMs) => transaction(database, () => listed(tenant).map((row) => dropped(row, nowMs))),
    async dueDeletions(nowMs, leaseUntilMs, limit) {
      // Asked all the time, and mostly nothing is due: then nobody's write is waited for.
      if (due.get(nowMs, 1) === undefined) return [];
      return transaction(database, () => {
        const deletions = (due.all(nowMs, limit) as unknown as DeletionColumns[]).map(deletionOf);
        for (const { generation } of deletions) lease.run(leaseUntilMs, generation);
        return deletions;
      });
    },
    async deleted(generation) {
      await transaction(database, () => finish.run(generation));
    },
    async deleteLater(generation, tries, nextMs) {
      await transaction(database, () => retry.run(tries, nextMs, generation));
    },
    async close() {
      database.close();
    },
  };
}
