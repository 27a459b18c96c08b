import type { CollectionSpec } from './collection.ts';
import type { StoredPoint } from './point.ts';
import { batchOf } from './stored-batch.ts';
import { refuseNamesake } from './vector-refusals.ts';
import type { Owner, VectorStore } from './vector-store.ts';

/** Points copied at a time. */
const copiedPoints = 256;
/** Fewer where they are large: payloads may be of 4 MB each. */
const copiedBytes = 16 * 1024 * 1024;

/**
 * Moves everything of `from` to `to` when the two lie apart: each collection is copied, then deleted. Started again
 * after a crash it goes on: an alias that no caller can make marks the collection being copied. Nobody may write to
 * `from` meanwhile.
 */
export async function moveTenant(store: VectorStore, from: string, to: Owner): Promise<{ collections: number }> {
  const specs = await store.list(from);
  const aliases = (await store.aliases(from, null)).map(({ alias }) => alias);
  const begun = new Set(aliases);
  const there = [
    ...(await store.list(to.tenant)).map(({ name }) => ({ alias: name, collection: name })),
    ...(await store.aliases(to.tenant, null)),
  ].filter(({ collection }) => !begun.has(marker(to, collection)));
  refuseNamesake(
    [...specs.map(({ name }) => name), ...aliases.filter((alias) => !isMarker(alias))],
    there.map(({ alias }) => alias),
  );
  for (const spec of specs) await moveCollection(store, from, to, spec);
  return { collections: specs.length };
}

async function moveCollection(store: VectorStore, from: string, to: Owner, spec: CollectionSpec): Promise<void> {
  const { name } = spec;
  await store.changeAliases(from, [{ kind: 'create', alias: marker(to, name), collection: name }]);
  if ((await store.find(to.tenant, name)) === null) await store.create(to, spec, 'moved');
  const { payloadSchema } = await store.inspect(from, name);
  for (const [key, { type, params }] of Object.entries(payloadSchema)) {
    await store.indexPayload(to.tenant, name, key, type, params);
  }
  for await (const points of pagesOf(store, from, name, copiedPoints)) {
    await store.write(to.tenant, name, [{ kind: 'upsert', points: batchOf(points, spec) }]);
  }
  const aliases = (await store.aliases(from, name)).filter(({ alias }) => !isMarker(alias));
  await store.changeAliases(
    to.tenant,
    aliases.map(({ alias }) => ({ kind: 'create', alias, collection: name })),
  );
  await store.drop(from, name);
}

/** All points of a collection in order of ids, whole. */
export async function* pagesOf(
  store: Pick<VectorStore, 'scroll'>,
  tenant: string,
  collection: string,
  limit: number,
): AsyncGenerator<readonly StoredPoint[]> {
  const want = { payload: true, vector: true };
  let offset = null;
  do {
    const query = { filter: null, limit, offset, orderBy: null, want, pageBytes: copiedBytes };
    const { points, next } = await store.scroll(tenant, collection, query);
    yield points;
    offset = next;
  } while (offset !== null);
}

/** No name that a caller may give has this letter. */
const markerStart = '\0moving to ';

function marker(to: Owner, collection: string): string {
  return `${markerStart}${to.tenant}\0${collection}`;
}

function isMarker(alias: string): boolean {
  return alias.startsWith(markerStart);
}
