import type { AliasesChanged, Deletion, RegisteredCollection, VectorRegistry } from '../../vectors/registry.ts';
import { planAliases } from '../vector-aliases.ts';
import {
  type CollectionColumns,
  collectionOf,
  type DeletionColumns,
  deletionOf,
  type IndexColumns,
  jsonText,
  oldestFirst,
  payloadIndexOf,
} from '../vector-rows.ts';
import type { Database, Run } from './database.ts';
import { unavailable } from './unavailable.ts';

export function createPostgresVectorRegistry({ rest }: Pick<Database, 'rest'>): VectorRegistry {
  const changing = <T>(work: (run: Run) => Promise<T>) => unavailable(rest.transaction('write', work));

  return {
    find: (tenant, collection) => unavailable(found(rest.run, tenant, collection)),
    list: (tenant) => unavailable(listed(rest.run, tenant)),
    create: (row, collectionsMax) =>
      changing(async (run) => {
        await lock(run, locks.account, row.account);
        await lock(run, locks.tenant, row.tenant);
        if ((await found(run, row.tenant, row.name)) !== null) return 'exists';
        const { rows } = await run<{ count: number }>(countOfAccount, [row.account]);
        if (rows[0]!.count >= collectionsMax) return 'full';
        const { generation, tenant, account, name, size, distance, embeddingModel } = row;
        const columns = [generation, tenant, account, name, size, distance, embeddingModel];
        await run(insertCollection, [...columns, jsonText(row.named), jsonText(row.settings)]);
        return 'created';
      }),
    drop: (tenant, collection, nowMs) =>
      changing(async (run) => {
        await lock(run, locks.tenant, tenant);
        const row = await found(run, tenant, collection);
        return row?.name === collection ? dropped(run, row, nowMs) : null;
      }),
    async configure(generation, before, after) {
      const columns = [generation, jsonText(after), jsonText(before)];
      const { changes } = await unavailable(rest.run(configureCollection, columns));
      return changes === 1 ? 'done' : 'changed';
    },
    async indexes(generation) {
      const { rows } = await unavailable(rest.run<IndexColumns>(indexesOf, [generation]));
      return rows.map(payloadIndexOf);
    },
    index: (generation, { key, type, params }, indexesMax) =>
      changing(async (run) => {
        // Locks the collection: two calls would not see each other's index.
        await run('SELECT FROM culvert.vector_collection WHERE generation = $1 FOR UPDATE', [generation]);
        const { rows } = await run<IndexColumns>(indexesOf, [generation]);
        if (rows.length >= indexesMax && !rows.some((row) => row.key === key)) return 'full';
        await run(putIndex, [key, type, jsonText(params), generation]);
        return 'done';
      }),
    async forgetIndex(generation, key) {
      const text = 'DELETE FROM culvert.vector_index WHERE generation = $1 AND key = $2';
      await unavailable(rest.run(text, [generation, key]));
    },
    aliases: (tenant, collection) =>
      unavailable(
        rest.transaction('snapshot', async (run) => {
          const only = collection === null ? null : ((await found(run, tenant, collection))?.name ?? '');
          return (await aliasRows(run, tenant))
            .filter((row) => only === null || row.name === only)
            .map((row) => ({ alias: row.alias, collection: row.name }));
        }),
      ),
    changeAliases: (tenant, changes, aliasesMax) =>
      changing(async (run): Promise<AliasesChanged> => {
        await lock(run, locks.tenant, tenant);
        const plan = planAliases(
          new Map((await listed(run, tenant)).map((row) => [row.name, row.generation])),
          new Map((await aliasRows(run, tenant)).map((row) => [row.alias, row.generation])),
          changes,
          aliasesMax,
        );
        if (plan.kind !== 'planned') return plan;
        await run('DELETE FROM culvert.vector_alias WHERE tenant = $1 AND alias = ANY ($2)', [tenant, plan.remove]);
        for (const [alias, generation] of plan.put) await run(putAlias, [tenant, alias, generation]);
        return { kind: 'done' };
      }),
    async all(after, limit) {
      const { rows } = await unavailable(rest.run<CollectionColumns>(page, [after ?? '', limit]));
      return rows.map(collectionOf);
    },
    adopt: (from, to) =>
      changing(async (run) => {
        for (const tenant of [...new Set([from, to.tenant])].sort()) await lock(run, locks.tenant, tenant);
        if (from !== to.tenant) {
          const moving = [
            ...(await listed(run, from)).map(({ name }) => name),
            ...(await aliasRows(run, from)).map(({ alias }) => alias),
          ];
          for (const name of moving) {
            if ((await found(run, to.tenant, name)) !== null) return { kind: 'exists', name };
          }
        }
        await run('UPDATE culvert.vector_alias SET tenant = $2 WHERE tenant = $1', [from, to.tenant]);
        const { changes } = await run(
          'UPDATE culvert.vector_collection SET tenant = $2, account = $3 WHERE tenant = $1',
          [from, to.tenant, to.account],
        );
        return { kind: 'done', collections: changes };
      }),
    purge: (tenant, nowMs) =>
      changing(async (run) => {
        await lock(run, locks.tenant, tenant);
        const deletions: Deletion[] = [];
        for (const row of await listed(run, tenant)) deletions.push(await dropped(run, row, nowMs));
        return deletions;
      }),
    async dueDeletions(nowMs, leaseUntilMs, limit) {
      const { rows } = await unavailable(rest.run<DeletionColumns>(leaseDue, [nowMs, leaseUntilMs, limit]));
      return oldestFirst(rows.map(deletionOf));
    },
    async deleted(generation) {
      await unavailable(rest.run('DELETE FROM culvert.vector_deletion WHERE generation = $1', [generation]));
    },
    async deleteLater(generation, tries, nextMs) {
      await unavailable(rest.run(retryDeletion, [generation, tries, nextMs]));
    },
  };
}

/** First halves of advisory locks: names of one tenant, and collections of one account, change one after another. */
const locks = { tenant: 0x63_76_74, account: 0x63_76_61 } as const;

async function lock(run: Run, what: number, name: string): Promise<void> {
  await run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [what, name]);
}

async function found(run: Run, tenant: string, collection: string) {
  const { rows } = await run<CollectionColumns>(findCollection, [tenant, collection]);
  return rows[0] === undefined ? null : collectionOf(rows[0]);
}

async function listed(run: Run, tenant: string) {
  const { rows } = await run<CollectionColumns>(
    'SELECT * FROM culvert.vector_collection WHERE tenant = $1 ORDER BY name',
    [tenant],
  );
  return rows.map(collectionOf);
}

async function aliasRows(run: Run, tenant: string) {
  const { rows } = await run<{ alias: string; generation: string; name: string }>(
    `SELECT a.alias, a.generation, c.name FROM culvert.vector_alias a JOIN culvert.vector_collection c USING (generation)
     WHERE a.tenant = $1 ORDER BY a.alias`,
    [tenant],
  );
  return rows;
}

async function dropped(
  run: Run,
  { generation, size, distance, named }: RegisteredCollection,
  nowMs: number,
): Promise<Deletion> {
  await run('DELETE FROM culvert.vector_collection WHERE generation = $1', [generation]);
  const columns = [generation, size, distance, nowMs, jsonText(named)];
  await run('INSERT INTO culvert.vector_deletion VALUES ($1, $2, $3, $4, 0, $4, $5)', columns);
  return { generation, size, distance, ...(named !== undefined && { named }), droppedMs: nowMs, tries: 0 };
}

const findCollection = {
  name: 'vector-find',
  text: `
    SELECT * FROM culvert.vector_collection WHERE tenant = $1 AND name = $2
    UNION ALL
    SELECT c.* FROM culvert.vector_alias a JOIN culvert.vector_collection c USING (generation)
    WHERE a.tenant = $1 AND a.alias = $2`,
};
const countOfAccount = 'SELECT count(*)::integer AS count FROM culvert.vector_collection WHERE account = $1';
const insertCollection = 'INSERT INTO culvert.vector_collection VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)';
const configureCollection = `
  UPDATE culvert.vector_collection SET settings = $2 WHERE generation = $1 AND settings IS NOT DISTINCT FROM $3`;
const indexesOf = 'SELECT key, type, params FROM culvert.vector_index WHERE generation = $1 ORDER BY key';
const putIndex = `
  INSERT INTO culvert.vector_index SELECT generation, $1, $2, $3 FROM culvert.vector_collection WHERE generation = $4
  ON CONFLICT (generation, key) DO UPDATE SET type = excluded.type, params = excluded.params`;
const putAlias = `
  INSERT INTO culvert.vector_alias VALUES ($1, $2, $3)
  ON CONFLICT (tenant, alias) DO UPDATE SET generation = excluded.generation`;
const page = 'SELECT * FROM culvert.vector_collection WHERE generation > $1 ORDER BY generation LIMIT $2';
const retryDeletion = 'UPDATE culvert.vector_deletion SET tries = $2, next_ms = $3 WHERE generation = $1';
/** Replicas that ask at one moment get different ones. */
const leaseDue = {
  name: 'vector-deletion-due',
  text: `
    UPDATE culvert.vector_deletion SET next_ms = $2 WHERE generation IN (
      SELECT generation FROM culvert.vector_deletion WHERE next_ms <= $1 ORDER BY dropped_ms, generation LIMIT $3
      FOR UPDATE SKIP LOCKED
    ) RETURNING *`,
};
