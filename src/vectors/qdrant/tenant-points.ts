import type { RegisteredCollection, VectorRegistry } from '../registry.ts';
import type { TenantSummary } from '../vector-store.ts';
import { generationKey, physicalName } from './partition.ts';
import { type Connection, QdrantRefused } from './qdrant-connection.ts';
import { listIn, numberIn, objectIn } from './read-answers.ts';

/** Rows of one look into the registry. */
const pageRows = 1_000;
/** Tenants and their owners' accounts, at most: one further is not shown. */
const summariesMax = 100_000;

/** Points of every tenant, by tenant. Two requests to Qdrant would not be consistent: points come after collections. */
export async function summarize(
  registry: Pick<VectorRegistry, 'all'>,
  connection: Connection,
): Promise<readonly TenantSummary[]> {
  const rows = await allRows(registry);
  const points = new Map<string, number>();
  for (const [name, expected] of byPhysical(rows)) {
    for (const [generation, count] of await counts(connection, name, expected)) points.set(generation, count);
  }
  const summaries = new Map<string, TenantSummary>();
  for (const { tenant, account, generation } of rows) {
    const known = summaries.get(tenant) ?? { tenant, account, collections: 0, points: 0 };
    known.collections += 1;
    known.points += points.get(generation) ?? 0;
    summaries.set(tenant, known);
  }
  return [...summaries.values()].toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1));
}

async function allRows(registry: Pick<VectorRegistry, 'all'>): Promise<readonly RegisteredCollection[]> {
  const rows: RegisteredCollection[] = [];
  let after: string | null = null;
  do {
    const page: readonly RegisteredCollection[] = await registry.all(after, pageRows);
    rows.push(...page);
    after = page[pageRows - 1]?.generation ?? null;
  } while (after !== null && rows.length < summariesMax);
  return rows;
}

/** How many collections of ours each Qdrant collection holds. */
function byPhysical(rows: readonly RegisteredCollection[]): ReadonlyMap<string, number> {
  const expected = new Map<string, number>();
  for (const row of rows) {
    const name = physicalName(row);
    expected.set(name, (expected.get(name) ?? 0) + 1);
  }
  return expected;
}

/** Generations that are still being deleted are counted too. */
const deletedMax = 1_000;

async function counts(connection: Connection, name: string, expected: number): Promise<readonly [string, number][]> {
  const body = JSON.stringify({ key: generationKey, limit: expected + deletedMax, exact: true });
  try {
    const path = `/collections/${name}/facet`;
    const answer = objectIn(await connection.ask({ method: 'POST', path, body, use: 'read' }));
    return listIn(answer.hits).map((hit) => [String(objectIn(hit).value), numberIn(objectIn(hit).count)]);
  } catch (error) {
    if (error instanceof QdrantRefused && error.status === 404) return [];
    throw error;
  }
}
