import type { AliasesChanged, Deletion, RegisteredCollection, VectorRegistry } from '../../vectors/registry.ts';
import type { AliasChange } from '../../vectors/vector-store.ts';
import { type ClosableTables, change, read, type SqlTables, type Work } from '../sql-tables.ts';
import { collectionOf, deletionOf, jsonText, oldestFirst, payloadIndexOf } from './vector-rows.ts';

/** For `lock`: names of one tenant, and collections of one account, change one after another. */
const locks = { tenant: 0x63_76_74, account: 0x63_76_61 } as const;

/** The registry over either database. Of an embedded one, an acknowledged change survives a power cut. */
export function createVectorRegistry(tables: ClosableTables): VectorRegistry & Pick<ClosableTables, 'close'> {
  const known = collectionsIn(tables);
  return {
    ...collectionsPart(tables, known),
    ...indexesPart(tables),
    ...aliasesPart(tables, known),
    ...deletionsPart(tables),
    close: tables.close,
  };
}

type Collections = ReturnType<typeof collectionsIn>;

/** Reads and removals that transactions share. */
function collectionsIn({ prefix }: SqlTables) {
  const collection = `${prefix}vector_collection`;
  const joined = `${prefix}vector_alias a JOIN ${collection} c ON c.generation = a.generation`;
  const sql = {
    find: {
      name: 'vector-find',
      text: `SELECT * FROM ${collection} WHERE tenant = $1 AND name = $2
        UNION ALL SELECT c.* FROM ${joined} WHERE a.tenant = $1 AND a.alias = $2`,
    },
    list: `SELECT * FROM ${collection} WHERE tenant = $1 ORDER BY name`,
    aliases: `SELECT a.alias, a.generation, c.name FROM ${joined} WHERE a.tenant = $1 ORDER BY a.alias`,
    remove: `DELETE FROM ${collection} WHERE generation = $1`,
    noteDeletion: `INSERT INTO ${prefix}vector_deletion (generation, size, distance, dropped_ms, tries, next_ms, named)
      VALUES ($1, $2, $3, $4, 0, $4, $5)`,
  };
  return {
    sql,
    *found(tenant: string, name: string): Work<RegisteredCollection | null> {
      const [row] = yield* read(sql.find, [tenant, name]);
      return row === undefined ? null : collectionOf(row);
    },
    *listed(tenant: string): Work<RegisteredCollection[]> {
      return (yield* read(sql.list, [tenant])).map(collectionOf);
    },
    *aliasRows(tenant: string): Work<{ alias: string; generation: string; name: string }[]> {
      return (yield* read(sql.aliases, [tenant])).map((row) => ({
        alias: String(row.alias),
        generation: String(row.generation),
        name: String(row.name),
      }));
    },
    *dropped({ generation, size, distance, named }: RegisteredCollection, nowMs: number): Work<Deletion> {
      yield* change(sql.remove, [generation]);
      yield* change(sql.noteDeletion, [generation, size, distance, nowMs, jsonText(named)]);
      return { generation, size, distance, ...(named !== undefined && { named }), droppedMs: nowMs, tries: 0 };
    },
  };
}

function collectionsPart(
  { prefix, rows, transaction, lock, run, first }: SqlTables,
  { sql, found, listed, aliasRows, dropped }: Collections,
) {
  const collection = `${prefix}vector_collection`;
  const insert = `INSERT INTO ${collection}
    (generation, tenant, account, name, size, distance, embedding_model, named, settings)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
  return {
    async find(tenant, name) {
      return first(sql.find, [tenant, name], collectionOf);
    },
    async list(tenant) {
      return (await rows(sql.list, [tenant])).map(collectionOf);
    },
    create: (row, collectionsMax) =>
      transaction('write', function* () {
        yield* lock(locks.account, row.account);
        yield* lock(locks.tenant, row.tenant);
        if ((yield* found(row.tenant, row.name)) !== null) return 'exists';
        const counted = `SELECT count(*) AS count FROM ${collection} WHERE account = $1`;
        const [count] = yield* read(counted, [row.account]);
        if (Number(count?.count) >= collectionsMax) return 'full';
        const { generation, tenant, account, name, size, distance, embeddingModel } = row;
        const columns = [generation, tenant, account, name, size, distance, embeddingModel];
        yield* change(insert, [...columns, jsonText(row.named), jsonText(row.settings)]);
        return 'created';
      }),
    drop: (tenant, name, nowMs) =>
      transaction('write', function* () {
        yield* lock(locks.tenant, tenant);
        const row = yield* found(tenant, name);
        return row?.name === name ? yield* dropped(row, nowMs) : null;
      }),
    async configure(generation, before, after) {
      const set = `UPDATE ${collection} SET settings = $2 WHERE generation = $1 AND settings IS NOT DISTINCT FROM $3`;
      const changes = await run(set, [generation, jsonText(after), jsonText(before)]);
      return changes === 1 ? 'done' : 'changed';
    },
    async all(after, limit) {
      const page = `SELECT * FROM ${collection} WHERE generation > $1 ORDER BY generation LIMIT $2`;
      return (await rows(page, [after ?? '', limit])).map(collectionOf);
    },
    adopt: (from, to) =>
      transaction('write', function* (): Work<Awaited<ReturnType<VectorRegistry['adopt']>>> {
        for (const tenant of [...new Set([from, to.tenant])].sort()) yield* lock(locks.tenant, tenant);
        if (from !== to.tenant) {
          const names = (yield* listed(from)).map(({ name }) => name);
          const aliases = (yield* aliasRows(from)).map(({ alias }) => alias);
          for (const name of [...names, ...aliases]) {
            if ((yield* found(to.tenant, name)) !== null) return { kind: 'exists', name };
          }
        }
        yield* change(`UPDATE ${prefix}vector_alias SET tenant = $2 WHERE tenant = $1`, [from, to.tenant]);
        const move = `UPDATE ${collection} SET tenant = $2, account = $3 WHERE tenant = $1`;
        return { kind: 'done', collections: yield* change(move, [from, to.tenant, to.account]) };
      }),
    purge: (tenant, nowMs) =>
      transaction('write', function* () {
        yield* lock(locks.tenant, tenant);
        const deletions: Deletion[] = [];
        for (const row of yield* listed(tenant)) deletions.push(yield* dropped(row, nowMs));
        return deletions;
      }),
  } satisfies Partial<VectorRegistry>;
}

function indexesPart({ prefix, rows, transaction, forUpdate, run }: SqlTables) {
  const index = `${prefix}vector_index`;
  const collection = `${prefix}vector_collection`;
  const list = `SELECT key, type, params FROM ${index} WHERE generation = $1 ORDER BY key`;
  const put = `INSERT INTO ${index} (generation, key, type, params)
    SELECT generation, $2, $3, $4 FROM ${collection} WHERE generation = $1
    ON CONFLICT (generation, key) DO UPDATE SET type = excluded.type, params = excluded.params`;
  return {
    async indexes(generation) {
      return (await rows(list, [generation])).map(payloadIndexOf);
    },
    index: (generation, { key, type, params }, indexesMax) =>
      transaction('write', function* () {
        // Locks the collection: two calls would not see each other's index.
        yield* read(`SELECT generation FROM ${collection} WHERE generation = $1 ${forUpdate}`, [generation]);
        const known = yield* read(list, [generation]);
        if (known.length >= indexesMax && !known.some((row) => row.key === key)) return 'full';
        yield* change(put, [generation, key, type, jsonText(params)]);
        return 'done';
      }),
    async forgetIndex(generation, key) {
      await run(`DELETE FROM ${index} WHERE generation = $1 AND key = $2`, [generation, key]);
    },
  } satisfies Partial<VectorRegistry>;
}

function aliasesPart({ prefix, transaction, lock }: SqlTables, { found, listed, aliasRows }: Collections) {
  const alias = `${prefix}vector_alias`;
  const put = `INSERT INTO ${alias} (tenant, alias, generation) VALUES ($1, $2, $3)
    ON CONFLICT (tenant, alias) DO UPDATE SET generation = excluded.generation`;
  return {
    aliases: (tenant, name) =>
      transaction('snapshot', function* () {
        const only = name === null ? null : ((yield* found(tenant, name))?.name ?? '');
        return (yield* aliasRows(tenant))
          .filter((row) => only === null || row.name === only)
          .map((row) => ({ alias: row.alias, collection: row.name }));
      }),
    changeAliases: (tenant, changes, aliasesMax) =>
      transaction('write', function* (): Work<AliasesChanged> {
        yield* lock(locks.tenant, tenant);
        const plan = planAliases(
          new Map((yield* listed(tenant)).map((row) => [row.name, row.generation])),
          new Map((yield* aliasRows(tenant)).map((row) => [row.alias, row.generation])),
          changes,
          aliasesMax,
        );
        if (plan.kind !== 'planned') return plan;
        for (const name of plan.remove) {
          yield* change(`DELETE FROM ${alias} WHERE tenant = $1 AND alias = $2`, [tenant, name]);
        }
        for (const [name, generation] of plan.put) yield* change(put, [tenant, name, generation]);
        return { kind: 'done' };
      }),
  } satisfies Partial<VectorRegistry>;
}

function deletionsPart({ prefix, rows, skipLocked, run }: SqlTables) {
  const deletion = `${prefix}vector_deletion`;
  const due = `SELECT generation FROM ${deletion} WHERE next_ms <= $1 ORDER BY dropped_ms, generation LIMIT $2`;
  return {
    async dueDeletions(nowMs, leaseUntilMs, limit) {
      // Asked all the time, and mostly nothing is due: then it waits for nobody's write.
      if ((await rows(due, [nowMs, 1])).length === 0) return [];
      // Replicas that ask at one moment get different ones.
      const lease = `UPDATE ${deletion} SET next_ms = $3 WHERE generation IN (${due} ${skipLocked}) RETURNING *`;
      return oldestFirst((await rows(lease, [nowMs, limit, leaseUntilMs])).map(deletionOf));
    },
    async deleted(generation) {
      await run(`DELETE FROM ${deletion} WHERE generation = $1`, [generation]);
    },
    async deleteLater(generation, tries, nextMs) {
      const sql = `UPDATE ${deletion} SET tries = $2, next_ms = $3 WHERE generation = $1`;
      await run(sql, [generation, tries, nextMs]);
    },
  } satisfies Partial<VectorRegistry>;
}

/** Outcome of a change of aliases: those to write (by alias, the generation) and to remove; or why none may be made. */
type AliasPlan =
  | { kind: 'planned'; put: ReadonlyMap<string, string>; remove: readonly string[] }
  | Exclude<AliasesChanged, { kind: 'done' }>;

/** `collections` and `aliases`: generations by name, of one tenant. An alias may be made anew for another collection. */
function planAliases(
  collections: ReadonlyMap<string, string>,
  aliases: ReadonlyMap<string, string>,
  changes: readonly AliasChange[],
  aliasesMax: number,
): AliasPlan {
  const next = new Map(aliases);
  for (const change of changes) {
    switch (change.kind) {
      case 'create': {
        const generation = collections.get(change.collection);
        if (generation === undefined) return { kind: 'no-collection', name: change.collection };
        if (collections.has(change.alias)) return { kind: 'is-collection', name: change.alias };
        next.set(change.alias, generation);
        break;
      }
      case 'delete':
        next.delete(change.alias);
        break;
      case 'rename': {
        const generation = next.get(change.from);
        if (generation === undefined) return { kind: 'no-alias', name: change.from };
        if (collections.has(change.to)) return { kind: 'is-collection', name: change.to };
        next.delete(change.from);
        next.set(change.to, generation);
        break;
      }
    }
  }
  if (next.size > Math.max(aliasesMax, aliases.size)) return { kind: 'full' };
  return {
    kind: 'planned',
    put: new Map([...next].filter(([alias, generation]) => aliases.get(alias) !== generation)),
    remove: [...aliases.keys()].filter((alias) => !next.has(alias)),
  };
}
