import type { StoredPoint } from '../point.ts';
import { noPoint } from '../vector-refusals.ts';
import type { Neighbours, Owner, PointGroup, VectorStore } from '../vector-store.ts';
import { lookUpGroups } from './group-lookups.ts';
import { shortestFloat } from './shortest-float.ts';
import { shownInfo, shownPoint, shownPoints, shownScored, shownSpec } from './shown-collection.ts';
import type { Acknowledge, VectorRequest } from './vector-request.ts';

/**
 * Does a checked request whose vectors are all there, and gives the `result` of its answer, ready for JSON. Rejects
 * with the store's FailureError.
 */
export async function runRequest(store: VectorStore, owner: Owner, request: VectorRequest): Promise<unknown> {
  const { tenant } = owner;
  switch (request.kind) {
    case 'list':
      return { collections: (await store.list(tenant)).map(shownSpec) };
    case 'create':
      await store.create(owner, request.spec);
      return request.form === 'qdrant' ? true : shownSpec(request.spec);
    case 'inspect':
      return shownInfo(await store.inspect(tenant, request.collection));
    case 'update':
      await store.configure(tenant, request.collection, request.change);
      return true;
    case 'drop':
      return store.drop(tenant, request.collection);
    case 'exists':
      return { exists: (await store.find(tenant, request.collection)) !== null };
    case 'aliases': {
      const aliases = await store.aliases(tenant, request.collection);
      return { aliases: aliases.map(({ alias, collection }) => ({ alias_name: alias, collection_name: collection })) };
    }
    case 'change-aliases':
      await store.changeAliases(tenant, request.changes);
      return true;
    case 'index': {
      const { collection, key, type, acknowledge } = request;
      return updateResult(await store.indexPayload(tenant, collection, key, type, request.params), acknowledge);
    }
    case 'write': {
      const { operations, acknowledge } = request;
      const last = await store.write(tenant, request.collection, operations);
      if (request.form === 'one') return updateResult(last, acknowledge);
      return operations.map((_, i) => updateResult(last - operations.length + 1 + i, acknowledge));
    }
    case 'get': {
      const [point] = await store.retrieve(tenant, request.collection, [request.id], request.want);
      if (point !== undefined) return shownPoint(point);
      throw noPoint(request.id);
    }
    case 'retrieve':
      return (await store.retrieve(tenant, request.collection, request.ids, request.want)).map(shownPoint);
    default:
      return search(store, tenant, request);
  }
}

type Search = Extract<
  VectorRequest,
  { kind: 'query' | 'queries' | 'groups' | 'matrix' | 'scroll' | 'count' | 'facet' }
>;

async function search(store: VectorStore, tenant: string, request: Search): Promise<unknown> {
  const { collection } = request;
  switch (request.kind) {
    case 'query': {
      const [points = []] = await store.query(tenant, collection, [request.query]);
      return shownPoints(points.map(shownScored), request.form);
    }
    case 'queries': {
      const lists = await store.query(tenant, collection, request.queries);
      return lists.map((points) => shownPoints(points.map(shownScored), request.form));
    }
    case 'groups': {
      const groups = await store.queryGroups(tenant, collection, request.query);
      const { lookup } = request;
      const found = lookup === null ? null : await lookUpGroups(store, tenant, lookup, groups);
      return { groups: groups.map((group) => shownGroup(group, found?.get(group.id))) };
    }
    case 'matrix': {
      const found = await store.neighbours(tenant, collection, request.matrix);
      return request.form === 'pairs' ? matrixPairs(found) : matrixOffsets(found);
    }
    case 'scroll': {
      const { points, next } = await store.scroll(tenant, collection, request.query);
      const shown = points.map(({ orderValue, ...point }) =>
        orderValue === undefined ? shownPoint(point) : { ...shownPoint(point), order_value: orderValue },
      );
      return { points: shown, next_page_offset: next };
    }
    case 'count':
      return { count: await store.count(tenant, collection, request.filter) };
    case 'facet':
      return { hits: await store.facet(tenant, collection, request.query) };
  }
}

function shownGroup({ id, hits }: PointGroup, lookup: StoredPoint | undefined): object {
  return { id, hits: hits.map(shownScored), ...(lookup !== undefined && { lookup: shownPoint(lookup) }) };
}

function updateResult(operation: number, acknowledge: Acknowledge): object {
  return { operation_id: operation, status: acknowledge };
}

/** Answer of Qdrant's `matrix/pairs`. */
function matrixPairs({ ids, nearest }: Neighbours) {
  return {
    pairs: nearest.flatMap((of, row) =>
      of.map(({ id, score }) => ({ a: ids[row], b: id, score: shortestFloat(score) })),
    ),
  };
}

/** Answer of Qdrant's `matrix/offsets`: the same as a sparse matrix whose rows and columns are `ids`. */
function matrixOffsets({ ids, nearest }: Neighbours) {
  const offsetOf = new Map(ids.map((id, offset) => [id, offset]));
  return {
    offsets_row: nearest.flatMap((found, row) => found.map(() => row)),
    offsets_col: nearest.flatMap((found) => found.map(({ id }) => offsetOf.get(id))),
    scores: nearest.flatMap((found) => found.map(({ score }) => shortestFloat(score))),
    ids,
  };
}
