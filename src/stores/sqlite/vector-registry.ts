import type { Deletion, RegisteredCollection, VectorRegistry } from '../../vectors/registry.ts';
import { planAliases } from '../vector-aliases.ts';
import {
  type CollectionColumns,
  collectionOf,
  type DeletionColumns,
  deletionOf,
  type IndexColumns,
  jsonText,
  payloadIndexOf,
} from '../vector-rows.ts';
import { openCulvertDatabase } from './culvert-schema.ts';
import { transaction } from './transaction.ts';
import { vectorStatements } from './vector-statements.ts';

export interface SqliteVectorRegistry extends VectorRegistry {
  close(): Promise<void>;
}

/** The registry in `culvert.db`. An acknowledged change survives a power cut. */
export function openSqliteVectorRegistry(file: string): SqliteVectorRegistry {
  const database = openCulvertDatabase(file, 'fsync');
  const sql = vectorStatements(database);

  function found(tenant: string, collection: string) {
    const row = sql.byName.get(tenant, collection) ?? sql.byAlias.get(tenant, collection);
    return row === undefined ? null : collectionOf(row as unknown as CollectionColumns);
  }

  function listed(tenant: string) {
    return (sql.ofTenant.all(tenant) as unknown as CollectionColumns[]).map(collectionOf);
  }

  function aliasRows(tenant: string) {
    return sql.aliasesOf.all(tenant) as unknown as { alias: string; generation: string; name: string }[];
  }

  function dropped({ generation, size, distance, named }: RegisteredCollection, nowMs: number): Deletion {
    sql.remove.run(generation);
    sql.noteDeletion.run(generation, size, distance, nowMs, nowMs, jsonText(named));
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
        if (Number(sql.countOfAccount.get(row.account)?.count) >= collectionsMax) return 'full';
        const { generation, tenant, account, name, size, distance, embeddingModel } = row;
        const columns = [generation, tenant, account, name, size, distance, embeddingModel];
        sql.insert.run(...columns, jsonText(row.named), jsonText(row.settings));
        return 'created';
      }),
    drop: (tenant, collection, nowMs) =>
      transaction(database, () => {
        const row = found(tenant, collection);
        return row?.name === collection ? dropped(row, nowMs) : null;
      }),
    configure: (generation, before, after) =>
      transaction(database, () => {
        const { changes } = sql.configure.run(jsonText(after), generation, jsonText(before));
        return Number(changes) === 1 ? 'done' : 'changed';
      }),
    async indexes(generation) {
      return (sql.indexesOf.all(generation) as unknown as IndexColumns[]).map(payloadIndexOf);
    },
    index: (generation, { key, type, params }, indexesMax) =>
      transaction(database, () => {
        const known = sql.indexesOf.all(generation);
        if (known.length >= indexesMax && !known.some((row) => row.key === key)) return 'full';
        sql.putIndex.run(key, type, jsonText(params), generation);
        return 'done';
      }),
    async forgetIndex(generation, key) {
      await transaction(database, () => sql.removeIndex.run(generation, key));
    },
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
        for (const alias of plan.remove) sql.removeAlias.run(tenant, alias);
        for (const [alias, generation] of plan.put) sql.putAlias.run(tenant, alias, generation);
        return { kind: 'done' };
      }),
    async all(after, limit) {
      return (sql.page.all(after ?? '', limit) as unknown as CollectionColumns[]).map(collectionOf);
    },
    adopt: (from, to) =>
      transaction(database, () => {
        const moving = [...listed(from).map(({ name }) => name), ...aliasRows(from).map(({ alias }) => alias)];
        const taken = from === to.tenant ? undefined : moving.find((name) => found(to.tenant, name) !== null);
        if (taken !== undefined) return { kind: 'exists', name: taken };
        sql.moveAliases.run(to.tenant, from);
        return { kind: 'done', collections: Number(sql.moveCollections.run(to.tenant, to.account, from).changes) };
      }),
    purge: (tenant, nowMs) => transaction(database, () => listed(tenant).map((row) => dropped(row, nowMs))),
    async dueDeletions(nowMs, leaseUntilMs, limit) {
      // Asked all the time, and mostly nothing is due: then it waits for nobody's write.
      if (sql.due.get(nowMs, 1) === undefined) return [];
      return transaction(database, () => {
        const deletions = (sql.due.all(nowMs, limit) as unknown as DeletionColumns[]).map(deletionOf);
        for (const { generation } of deletions) sql.lease.run(leaseUntilMs, generation);
        return deletions;
      });
    },
    async deleted(generation) {
      await transaction(database, () => sql.finish.run(generation));
    },
    async deleteLater(generation, tries, nextMs) {
      await transaction(database, () => sql.retry.run(tries, nextMs, generation));
    },
    async close() {
      database.close();
    },
  };
}
