import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Random } from '../../kernel/random.ts';
import type { CollectionInfo, CollectionSpec, NamedSpecs, PayloadType } from '../collection.ts';
import type { Filter } from '../filter/filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import type { PointId, ScoredPoint, StoredPoint, Want } from '../point.ts';
import { collectionExists, noCollection, payloadIndexesMax, tooManyPayloadIndexes } from '../refusals.ts';
import type {
  AliasChange,
  FacetHit,
  FacetQuery,
  GroupQuery,
  Owner,
  Page,
  PointGroup,
  PointQuery,
  ScrollQuery,
  TenantSummary,
  WriteOperation,
} from '../store.ts';
import { createAnswerBudget } from './answer-budget.ts';
import type { CallBounds } from './call-bounds.ts';
import { changeAliases } from './change-aliases.ts';
import { type CollectionRow, openCollectionTable } from './collection-table.ts';
import { createDamage, type Damage } from './damage.ts';
import { openFieldTable } from './field-table.ts';
import { createGroupCommit } from './group-commit.ts';
import type { MemoryBudget } from './memory-budget.ts';
import { createOpenCollections, type OpenCollection } from './open-collection.ts';
import { idOrder, orderByValue } from './order-points.ts';
import { cidMax } from './point-row.ts';
import { openPointTable } from './point-table.ts';
import type { QueryBatches } from './query-batches.ts';
import type { RowWatch } from './row-watch.ts';
import { searchGroups, searchPoints } from './search-points.ts';
import type { ShardFile } from './shard-file.ts';
import { overloaded } from './storage-trouble.ts';
import { pointReader } from './stored-points.ts';
import type { VectorTables } from './vector-rows.ts';
import { createWriteJob } from './write-job.ts';

/** Rows of dropped collections removed at a time, while nothing else waits. */
const purgedRows = 512;

export interface ShardOptions {
  file: ShardFile;
  budget: MemoryBudget;
  random: Random;
  clock: Pick<Clock, 'monotonicMs'>;
  tell(message: string): void;
  bounds: CallBounds;
  /** Of all shards of the thread. */
  batches: QueryBatches;
  watch: RowWatch;
  /** Bytes that an account keeps more, or less, once that is durable. */
  kept(account: string, bytes: number): void;
}

/**
 * The tenants of one file. Methods mean what those of `VectorStore` do; what they read they read
 * in the caller's turn, long batches of queries aside.
 */
export type Shard = ReturnType<typeof openShard>;

export function openShard({ file, budget, random, clock, tell, bounds, batches, watch, kept }: ShardOptions) {
  const collections = openCollectionTable(file);
  collections.check();
  const points = openPointTable(file);
  const fields = openFieldTable(file);
  const tables = { points, fields };
  const opened = createOpenCollections(tables, (row, vectors, now) => budget.memoryOf(points, row, vectors, now));
  const damage: Damage = createDamage(tell);
  const group = createGroupCommit(file, { onIdle: purgeSome, tell, clock });
  let closing = false;
  setImmediate(purgeSome);

  function rowOf(tenant: string, name: string): CollectionRow {
    const row = damage.guardTable(() => collections.find(tenant, name));
    if (row === null) throw noCollection(name);
    return row;
  }

  function reading<T>(tenant: string, name: string, read: (open: OpenCollection) => T): T {
    const row = rowOf(tenant, name);
    watch.begin();
    return damage.guard(row, () => read(opened.open(row)));
  }

  const lookUpOf = (tenant: string) => (name: string) => {
    const row = rowOf(tenant, name);
    return damage.guard(row, () => opened.open(row));
  };

  /** New fields for the named vectors of a collection. */
  function fieldsOf(cid: number, named: NamedSpecs): Record<string, number> {
    return Object.fromEntries(
      Object.keys(named).map((name) => {
        const fid = fields.create(cid);
        if (fid > cidMax) throw overloaded(fullShard);
        return [name, fid];
      }),
    );
  }

  /** A change of tables alone, points aside. */
  function change<T>(run: () => T, done: () => void = () => {}): Promise<T> {
    return group.add({ points: 1, run: () => damage.guardTable(run), committed: done, undone() {} });
  }

  /** Points of dropped collections go in small steps, so that a drop costs nothing and holds nobody up. */
  function purgeSome(): void {
    if (closing || !group.idle()) return;
    let cid: number | undefined;
    try {
      cid = collections.doomed().find((one) => !damage.has(one));
    } catch {
      return;
    }
    if (cid === undefined) return;
    const doomed = cid;
    change(() => {
      const gone = points.purge(doomed, purgedRows) || fields.purge(doomed, purgedRows);
      if (gone === 0) collections.forget(doomed);
    }).catch(() => damage.note(doomed));
  }

  return {
    number: file.number,

    create(owner: Owner, spec: CollectionSpec): Promise<void> {
      let cid = -1;
      return group.add<void>({
        points: 1,
        run: () =>
          damage.guardTable(() => {
            const taken = collections.find(owner.tenant, spec.name);
            if (taken !== null) throw collectionExists(spec.name);
            collections.create(owner, spec);
            const row = collections.find(owner.tenant, spec.name)!;
            cid = row.cid;
            if (cid > cidMax) throw overloaded(fullShard);
            if (spec.named !== undefined) collections.setFields({ ...row, spec }, fieldsOf(cid, spec.named));
          }),
        committed() {},
        // Its number may be given again.
        undone: () => opened.close(cid),
      });
    },

    /** The account that had it; null when there was none. */
    drop(tenant: string, name: string): Promise<string | null> {
      let cid = -1;
      let gone = { account: '', bytes: 0 };
      return change(
        () => {
          const row = collections.find(tenant, name);
          // By its own name alone: an alias must not take what it stands for with it.
          if (row?.spec.name !== name) return null;
          cid = row.cid;
          gone = { account: row.account, bytes: collections.bytes(cid) };
          collections.drop(cid);
          return row.account;
        },
        () => {
          opened.close(cid);
          if (gone.bytes !== 0) kept(gone.account, -gone.bytes);
        },
      );
    },

    list: (tenant: string): CollectionSpec[] =>
      damage.guardTable(() => collections.list(tenant).map((row) => row.spec)),

    find: (tenant: string, name: string): CollectionSpec | null =>
      damage.guardTable(() => collections.find(tenant, name)?.spec ?? null),

    inspect: (tenant: string, name: string): CollectionInfo =>
      reading(tenant, name, ({ row, memory }) => ({
        ...row.spec,
        points: row.points,
        indexed: memory.indexed,
        payloadSchema: Object.fromEntries(
          row.indexes.map(({ key, type, params }) => [
            key,
            { type, points: memory.count(hasKey(key)), ...(params !== undefined && { params }) },
          ]),
        ),
      })),

    write: (tenant: string, name: string, operations: readonly WriteOperation[]): Promise<number> =>
      group.add(
        createWriteJob({ rowOf, collections, tables, opened, damage, bounds, watch, kept }, tenant, name, operations),
      ),

    retrieve: (tenant: string, name: string, ids: readonly PointId[], want: Want): StoredPoint[] =>
      reading(tenant, name, (open) => {
        const read = pointReader(tables, open, want, createAnswerBudget(bounds));
        const slots = ids.map((id) => points.slotOfId(open.cid, id)).filter((slot) => slot !== null);
        return slots.map(read);
      }),

    query: (tenant: string, name: string, queries: readonly PointQuery[]): Promise<readonly ScoredPoint[][]> =>
      batches.run(tenant, queries, (query, budget) =>
        reading(tenant, name, (open) =>
          searchPoints(tables, open, query, { random, budget, lookUp: lookUpOf(tenant) }),
        ),
      ),

    queryGroups: (tenant: string, name: string, query: GroupQuery): PointGroup[] =>
      reading(tenant, name, (open) =>
        searchGroups(tables, open, query, { random, budget: createAnswerBudget(bounds), lookUp: lookUpOf(tenant) }),
      ),

    scroll: (tenant: string, name: string, query: ScrollQuery): Page =>
      reading(tenant, name, (open) => readScroll(tables, open, query, bounds)),

    count: (tenant: string, name: string, filter: Filter | null): number =>
      reading(tenant, name, ({ row, memory }) => (filter === null ? row.points : memory.count(filter))),

    facet: (tenant: string, name: string, { key, filter, limit }: FacetQuery): readonly FacetHit[] =>
      reading(tenant, name, ({ memory }) => {
        const slots = filter === null ? null : memory.select(filter);
        return memory.columns().facet(readKeyPath(key, 'key'), slots, limit);
      }),

    indexPayload: (
      tenant: string,
      name: string,
      key: string,
      type: PayloadType | null,
      params?: JsonObject,
    ): Promise<number> =>
      change(() => {
        const row = rowOf(tenant, name);
        const others = row.indexes.filter((one) => one.key !== key);
        const indexes = type === null ? others : [...others, { key, type, ...(params !== undefined && { params }) }];
        if (indexes.length > payloadIndexesMax) throw tooManyPayloadIndexes();
        collections.setIndexes(row, indexes);
        collections.setCounts({ ...row, indexes }, row.points, row.seq + 1);
        return row.seq + 1;
      }),

    aliases: (tenant: string, name: string | null) =>
      damage.guardTable(() => collections.aliases(tenant, name === null ? null : rowOf(tenant, name).cid)),

    changeAliases: (tenant: string, changes: readonly AliasChange[]): Promise<void> =>
      change(() => changeAliases(collections, tenant, changes)),

    /** Of all its collections, by account. */
    kept: () => collections.kept(),

    tenants: (): TenantSummary[] => damage.guardTable(() => collections.tenants()),

    /** Within this shard alone. `from`: the accounts that had them. */
    adopt(from: string, to: Owner): Promise<{ collections: number; from: TenantSummary[] }> {
      const moved: { account: string; bytes: number }[] = [];
      const tellMoved = () => {
        for (const { account, bytes } of moved) {
          kept(account, -bytes);
          kept(to.account, bytes);
        }
      };
      return change(() => {
        const rows = collections.list(from);
        const before = collections.tenants().filter(({ tenant }) => tenant === from);
        refuseNamesake(rows, collections.list(to.tenant));
        for (const row of rows) {
          moved.push({ account: row.account, bytes: collections.bytes(row.cid) });
          collections.setOwner(row, to);
        }
        collections.moveAliases(from, to.tenant);
        return { collections: rows.length, from: before };
      }, tellMoved);
    },

    /** The accounts that had them, one for each collection. */
    purge(tenant: string): Promise<string[]> {
      let rows: { cid: number; account: string; bytes: number }[] = [];
      return change(
        () => {
          rows = collections.list(tenant).map(({ cid, account }) => ({ cid, account, bytes: collections.bytes(cid) }));
          for (const { cid } of rows) collections.drop(cid);
          return rows.map(({ account }) => account);
        },
        () => {
          for (const { cid, account, bytes } of rows) {
            opened.close(cid);
            kept(account, -bytes);
          }
        },
      );
    },

    commits: group.commits,

    /** What waits is committed first. */
    close(): void {
      closing = true;
      group.flush();
      opened.closeAll();
      file.close();
    },
  };
}

const fullShard = 'This shard of the vector data can hold no further collections.';

function hasKey(key: string): Filter {
  return {
    must: [],
    should: [],
    mustNot: [{ kind: 'is-empty', key: readKeyPath(key, 'field_name') }],
    minShould: null,
  };
}

/** Everything or nothing goes over: a name that both have refuses the whole. */
function refuseNamesake(from: readonly { spec: CollectionSpec }[], to: readonly { spec: CollectionSpec }[]): void {
  const names = new Set(to.map(({ spec }) => spec.name));
  const namesake = from.find(({ spec }) => names.has(spec.name));
  if (namesake !== undefined) throw collectionExists(namesake.spec.name);
}

/** One page; by `orderBy` there is no next one, as in Qdrant: `startFrom` goes on from the last value. */
function readScroll(tables: VectorTables, open: OpenCollection, query: ScrollQuery, bounds: CallBounds): Page {
  const { filter, limit, offset, orderBy, pageBytes = Number.POSITIVE_INFINITY } = query;
  const slots = filter === null ? null : open.memory.select(filter);
  const budget = createAnswerBudget(bounds);
  const read = pointReader(tables, open, query.want, budget);
  if (orderBy !== null) {
    const page = orderByValue(open, orderBy, slots, limit);
    return { points: page.map(({ slot, value }) => ({ ...read(slot), orderValue: value })), next: null };
  }
  const found = idOrder(tables.points, open, slots, offset, limit + 1);
  const page: StoredPoint[] = [];
  for (const { slot } of found.slice(0, limit)) {
    page.push(read(slot));
    if (budget.keptBytes >= pageBytes) break;
  }
  return { points: page, next: found[page.length]?.id ?? null };
}
