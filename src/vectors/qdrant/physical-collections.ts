import type { VectorSpec } from '../collection.ts';
import type { VectorRegistry } from '../registry.ts';
import { aliasesMax, collectionExists, noAlias, noCollection, tooManyAliases } from '../vector-refusals.ts';
import type { AliasChange } from '../vector-store.ts';
import { generationKey, type PhysicalShape, physicalName } from './partition.ts';
import { type Connection, QdrantRefused } from './qdrant-connection.ts';

/** The Qdrant collections that hold all tenants' points (see `physicalName`). */
export type PhysicalCollections = ReturnType<typeof createPhysicalCollections>;

/** No graph over all tenants' points, one for each tenant that has enough of them (Qdrant's guide on multitenancy). */
const hnsw = { m: 0, payload_m: 16 };
/** Qdrant's cloud refuses filters over keys without an index unless it is configured otherwise. */
const strictMode = { enabled: false };

export function createPhysicalCollections(connection: Connection) {
  /** Indexed as far as this process knows: the process that made the collection may have died before the index. */
  const indexed = new Set<string>();

  async function exists(name: string): Promise<boolean> {
    const answer = await connection.ask({ method: 'GET', path: `/collections/${name}/exists`, use: 'read' });
    return typeof answer === 'object' && answer !== null && 'exists' in answer && answer.exists === true;
  }

  async function make(name: string, shape: PhysicalShape): Promise<void> {
    const body = JSON.stringify({ ...vectorsOf(shape), hnsw_config: hnsw, strict_mode_config: strictMode });
    try {
      await connection.ask({ method: 'PUT', path: `/collections/${name}`, body, use: 'write' });
    } catch (error) {
      // Another process was quicker.
      if (!(error instanceof QdrantRefused) || !(await exists(name))) throw error;
    }
  }

  async function index(name: string): Promise<void> {
    const body = JSON.stringify({ field_name: generationKey, field_schema: { type: 'keyword', is_tenant: true } });
    await connection.ask({ method: 'PUT', path: `/collections/${name}/index?wait=true`, body, use: 'write' });
  }

  return {
    exists,
    /** It exists, with the index that separates tenants. An operator may have made it with settings of his own. */
    async ensure(shape: PhysicalShape): Promise<void> {
      const name = physicalName(shape);
      if (!(await exists(name))) {
        indexed.delete(name);
        await make(name, shape);
      }
      if (indexed.has(name)) return;
      await index(name);
      indexed.add(name);
    },
  };
}

/** In Qdrant's words. */
function vectorsOf({ size, distance, named }: PhysicalShape): { vectors: unknown; sparse_vectors?: unknown } {
  if (named === undefined) return { vectors: size > 0 ? { size, distance } : {} };
  const [dense, sparse]: [[string, unknown][], [string, unknown][]] = [[], []];
  if (size > 0) dense.push(['', { size, distance }]);
  for (const [name, spec] of Object.entries(named)) {
    if (spec.kind === 'sparse') sparse.push([name, { modifier: spec.modifier }]);
    else dense.push([name, paramsOf(spec)]);
  }
  return {
    vectors: Object.fromEntries(dense),
    ...(sparse.length > 0 && { sparse_vectors: Object.fromEntries(sparse) }),
  };
}

function paramsOf({ kind, size, distance }: Exclude<VectorSpec, { kind: 'sparse' }>): object {
  return { size, distance, ...(kind === 'multi' && { multivector_config: { comparator: 'max_sim' } }) };
}

/** All or none; what the registry refuses in the words of `refusals`. */
export async function changeAliases(
  registry: VectorRegistry,
  tenant: string,
  changes: readonly AliasChange[],
): Promise<void> {
  const changed = await registry.changeAliases(tenant, changes, aliasesMax);
  switch (changed.kind) {
    case 'done':
      return;
    case 'no-collection':
      throw noCollection(changed.name);
    case 'no-alias':
      throw noAlias(changed.name);
    case 'is-collection':
      throw collectionExists(changed.name);
    case 'full':
      throw tooManyAliases();
  }
}
