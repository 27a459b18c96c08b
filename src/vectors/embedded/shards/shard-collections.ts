import type { JsonObject } from '../../../kernel/json.ts';
import type { CollectionInfo, CollectionSpec, NamedSpecs, PayloadType } from '../../collection.ts';
import { changedSettings, type SettingsChange } from '../../collection-settings.ts';
import { type Filter, filterOf } from '../../filter/filter.ts';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { collectionExists, payloadIndexesMax, tooManyPayloadIndexes } from '../../vector-refusals.ts';
import type { AliasChange, Owner } from '../../vector-store.ts';
import { changeAliases } from '../change-aliases.ts';
import type { OpenCollection } from '../open-collection.ts';
import { cidMax } from '../point-row.ts';
import { overloaded } from '../storage-trouble.ts';
import type { ShardState } from './shard-state.ts';

/** Collections of a shard's tenants, with their aliases and payload indexes. */
export function shardCollections(state: ShardState) {
  const {
    collections,
    tables: { fields },
    opened,
    damage,
    group,
  } = state;
  const { onStoredBytes } = state.options;

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

  return {
    create(owner: Owner, spec: CollectionSpec): Promise<void> {
      let cid = -1;
      return group.add<void>({
        tenant: owner.tenant,
        points: 1,
        run: () =>
          damage.guardTable(() => {
            const taken = collections.find(owner.tenant, spec.name);
            if (taken !== null) throw collectionExists(spec.name);
            collections.create(owner, spec);
            const row = collections.find(owner.tenant, spec.name)!;
            cid = row.cid;
            if (cid > cidMax) throw overloaded(fullShard);
            if (spec.named !== undefined || spec.settings !== undefined) {
              collections.setMore({ ...row, spec, fields: fieldsOf(cid, spec.named ?? {}) });
            }
          }),
        committed() {},
        // Its number may be given again.
        undone: () => opened.close(cid),
      });
    },

    /** The account that had it; null when there was none. */
    drop(tenant: string, name: string): Promise<string | null> {
      let cid = -1;
      let freed = { account: '', bytes: 0 };
      return state.change(
        tenant,
        () => {
          const row = collections.find(tenant, name);
          // By its own name alone: deleting an alias must not delete its collection.
          if (row?.spec.name !== name) return null;
          cid = row.cid;
          freed = { account: row.account, bytes: collections.bytes(cid) };
          collections.drop(cid);
          return row.account;
        },
        () => {
          opened.close(cid);
          if (freed.bytes !== 0) onStoredBytes(freed.account, -freed.bytes);
        },
      );
    },

    list: (tenant: string): CollectionSpec[] =>
      damage.guardTable(() => collections.list(tenant).map((row) => row.spec)),

    find: (tenant: string, name: string): CollectionSpec | null => state.findToRead(tenant, name)?.spec ?? null,

    inspect: (tenant: string, name: string): Promise<CollectionInfo> =>
      state.withMemory(tenant, name, () => state.reading(tenant, name, infoOf)),

    configure: (tenant: string, name: string, change: SettingsChange): Promise<void> =>
      state.change(tenant, () => {
        const row = state.rowOf(tenant, name);
        const { settings: before, ...spec } = row.spec;
        const settings = changedSettings(before, change);
        collections.setMore({ ...row, spec: { ...spec, ...(settings !== undefined && { settings }) } });
      }),

    indexPayload: (
      tenant: string,
      name: string,
      key: string,
      type: PayloadType | null,
      params?: JsonObject,
    ): Promise<number> =>
      state.change(tenant, () => {
        const row = state.rowOf(tenant, name);
        const others = row.indexes.filter((one) => one.key !== key);
        const indexes = type === null ? others : [...others, { key, type, ...(params !== undefined && { params }) }];
        if (indexes.length > payloadIndexesMax) throw tooManyPayloadIndexes();
        collections.setIndexes(row, indexes);
        collections.setCounts({ ...row, indexes }, row.points, row.seq + 1);
        return row.seq + 1;
      }),

    aliases: (tenant: string, name: string | null) =>
      damage.guardTable(() => collections.aliases(tenant, name === null ? null : state.rowOf(tenant, name).cid)),

    changeAliases: (tenant: string, changes: readonly AliasChange[]): Promise<void> =>
      state.change(tenant, () => changeAliases(collections, tenant, changes)),
  };
}

function infoOf({ row, memory }: OpenCollection): CollectionInfo {
  // All columns that are missing are made at once.
  if (row.indexes.length > 0) memory.look(hasKeys(row.indexes.map(({ key }) => key)));
  const schema = row.indexes.map(({ key, type, params }) => {
    const points = memory.count(hasKeys([key]));
    return [key, { type, points, ...(params !== undefined && { params }) }] as const;
  });
  return { ...row.spec, points: row.points, indexed: memory.indexed, payloadSchema: Object.fromEntries(schema) };
}

const fullShard = 'This shard of the vector data is full: it can hold no more collections.';

function hasKeys(keys: readonly string[]): Filter {
  const mustNot = keys.map((key) => ({ kind: 'is-empty', key: readKeyPath(key, 'field_name') }) as const);
  return filterOf('mustNot', mustNot);
}
