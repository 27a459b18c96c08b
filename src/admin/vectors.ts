import { z } from 'zod';
import type { Operator } from '../books/auth/operator.ts';
import { someText } from '../config/scalars.ts';
import { culvert } from '../kernel/command-form.ts';
import { keepPayloadDigits } from '../vectors/exact-json.ts';
import type { ExportedCollection, ExportedPoint } from '../vectors/export-lines.ts';
import type { VectorOperator } from '../vectors/vector-operator.ts';
import type { Owner, TenantSummary } from '../vectors/vector-store.ts';
import type { Directory, Records } from './directory.ts';
import { entryOperations } from './entries/entry-operations.ts';
import { jsonOperation, type Operation, refuse, textOperation } from './operation.ts';
import { inOrderOf } from './page.ts';
import type { AdminParts } from './parts.ts';

const tenantField = someText(256).describe("Owner of vector data: a key's `tenant`.");
const nameField = someText(255);

const tenantSchema = z.object({
  tenant: z.string(),
  account: z.string().describe('Account whose limit the collections count towards.'),
  collections: z.int(),
  points: z.int(),
  keys: z
    .int()
    .describe(
      'Number of keys that own it and are not revoked. If it is 0, nobody can reach the data: adopt or purge it.',
    ),
});

const distanceField = z.enum(['Cosine', 'Dot', 'Euclid', 'Manhattan']);
const modelField = someText(256).nullable();
const sizeField = z.int().min(1).max(65_536);

const namedVectorSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('dense'), size: sizeField, distance: distanceField, embeddingModel: modelField }),
  z.strictObject({ kind: z.literal('multi'), size: sizeField, distance: distanceField }),
  z.strictObject({ kind: z.literal('sparse'), modifier: z.enum(['none', 'idf']), embeddingModel: modelField }),
]);

/** The names are those of `vectors/collection.ts`; what else a collection must be, the store says. */
const collectionSchema: z.ZodType<ExportedCollection> = z.strictObject({
  name: nameField.regex(/^[A-Za-z0-9_.-]+$/, 'expected letters, digits, _, - and .'),
  vector_size: z.int().min(0).max(65_536),
  distance: distanceField,
  embedding_model: modelField,
  named_vectors: z.record(z.string().max(255), namedVectorSchema).optional(),
  settings: z.record(z.string(), z.json()).optional(),
  payload_indexes: z.record(
    someText(1_024),
    z.enum(['keyword', 'integer', 'float', 'bool', 'geo', 'datetime', 'text', 'uuid']),
  ),
  text_indexes: z.record(someText(1_024), z.record(z.string(), z.json())).optional(),
  aliases: z.array(nameField.regex(/^[A-Za-z0-9_.-]+$/, 'expected letters, digits, _, - and .')).max(1_000),
}) as z.ZodType<ExportedCollection>;

const pointSchema: z.ZodType<ExportedPoint> = z.strictObject({
  id: z.union([z.int().min(0), z.string().max(64)]),
  vector: z.array(z.number()).max(65_536),
  vectors: z.record(z.string().max(255), z.json()).optional(),
  payload: z.record(z.string(), z.json()).nullable(),
}) as z.ZodType<ExportedPoint>;

const pointsMax = 10_000;

const movedSchema = z.object({
  collections: z.int().describe('Number of collections, or of points, that were changed.'),
});

/** `/vectors`: all that a tenant has, as a whole. */
export function vectorOperations(parts: AdminParts, records: Records): Operation[] {
  const tenants = createTenants(parts, records);
  return [...listing(records, tenants), ...transfers(tenants), ...removals(tenants)];
}

type Tenants = ReturnType<typeof createTenants>;

function listing(records: Records, { tenantsOf }: Tenants): Operation[] {
  const tenants = entryOperations({ path: '/vectors/tenants', named: 'name', area: 'vectors', reply: tenantSchema });
  return [
    tenants.list({
      summary: 'Lists who has vector data, and how much.',
      async rows(_query, operator) {
        const directory = await records.current(operator.accounts);
        return {
          rows: inOrderOf(await tenantsOf(operator), textOf),
          textOf,
          shown: (row: TenantSummary) => ({ ...row, keys: keysOf(directory, row.tenant).length }),
        };
      },
    }),
  ];
}

/** The export of a tenant's data, and what writes it again. */
function transfers({ store, ownerOf, summaryOf }: Tenants): Operation[] {
  return [
    textOperation({
      route: 'GET /vectors/export.jsonl',
      area: 'vectors',
      summary: 'Exports all data of a tenant as JSON lines: each collection, then its points.',
      query: z.strictObject({ tenant: tenantField }),
      contentType: 'application/x-ndjson',
      async run({ query, operator }) {
        await summaryOf(query.tenant, operator);
        return (await store()).export(query.tenant);
      },
    }),
    jsonOperation({
      route: 'POST /vectors/collections',
      area: 'vectors',
      summary: 'Creates a collection as an export describes it. If the same one exists, nothing changes.',
      body: z.strictObject({ tenant: tenantField, collection: collectionSchema }),
      reply: movedSchema,
      async run({ body, operator }) {
        await (await store()).importCollection(await ownerOf(body.tenant, 'tenant', operator), body.collection);
        return { collections: 1 };
      },
    }),
    jsonOperation({
      route: 'POST /vectors/points',
      area: 'vectors',
      summary: 'Writes points of an export over those with the same ids, either all or none.',
      body: z.strictObject({
        tenant: tenantField,
        collection: nameField,
        points: z.array(pointSchema).min(1).max(pointsMax),
      }),
      reply: z.object({ points: z.int() }),
      async run({ body, text, operator }) {
        if (operator.accounts !== null) await summaryOf(body.tenant, operator);
        keepPayloadDigits(body, text);
        await (await store()).importPoints(body.tenant, body.collection, body.points);
        return { points: body.points.length };
      },
    }),
  ];
}

/** Service that removes the data of a tenant. */
function removals({ store, ownerOf, summaryOf, audit }: Tenants): Operation[] {
  return [
    jsonOperation({
      route: 'POST /vectors/adopt',
      area: 'vectors',
      summary: 'Moves all collections of one tenant to another. If both have one of the same name, nothing is moved.',
      body: z.strictObject({ from: tenantField, to: tenantField }),
      reply: movedSchema,
      async run({ body: { from, to }, operator }) {
        if (from === to) refuse({ kind: 'invalid-request', param: 'to', message: 'to: expected another tenant' });
        const owner = await ownerOf(to, 'to', operator);
        const before = await summaryOf(from, operator);
        const adopted = await (await store()).adopt(from, owner);
        await audit('vectors.adopt', operator, from, before, owner);
        return adopted;
      },
    }),
    jsonOperation({
      route: 'POST /vectors/purge',
      area: 'vectors',
      summary: 'Deletes all data of a tenant. This cannot be undone.',
      body: z.strictObject({ tenant: tenantField }),
      reply: movedSchema,
      async run({ body: { tenant }, operator }) {
        const before = await summaryOf(tenant, operator);
        const purged = await (await store()).purge(tenant);
        await audit('vectors.purge', operator, tenant, before, null);
        return purged;
      },
    }),
  ];
}

/** An account that has moved leaves its old name on collections made before: a tenant may occur twice. */
function textOf({ tenant, account }: TenantSummary): string {
  return `${tenant}\0${account}`;
}

/** Owners of vector data, as far as an operator may see them. */
function createTenants(parts: AdminParts, records: Records) {
  const store = (): Promise<VectorOperator> => parts.vectors();

  /** Checks that the owner can be reached. Data of a tenant without a key would be out of everybody's sight. */
  async function ownerOf(tenant: string, field: string, { accounts }: Operator): Promise<Owner> {
    const key = keysOf(await records.current(accounts), tenant)[0];
    if (key !== undefined) return { tenant, account: key.account };
    const message = `${field}: no key owns '${tenant}'. Create the key first (${culvert} keys create)`;
    return refuse({ kind: 'invalid-request', param: field, message });
  }

  /**
   * Data of a tenant whose keys are gone still belongs to its account. If it belongs to two accounts, an operator of
   * only one of them does not see it.
   */
  async function tenantsOf({ accounts }: Operator): Promise<readonly TenantSummary[]> {
    const tenants = await (await store()).tenants();
    if (accounts === null) return tenants;
    const foreign = new Set(tenants.filter(({ account }) => !accounts.includes(account)).map(({ tenant }) => tenant));
    return tenants.filter(({ tenant }) => !foreign.has(tenant));
  }

  async function summaryOf(tenant: string, by: Operator): Promise<TenantSummary> {
    const found = (await tenantsOf(by)).find((one) => one.tenant === tenant);
    const message = `The tenant '${tenant}' has no collections. "culvert vectors list" shows those that have.`;
    return found ?? refuse({ kind: 'not-found', message });
  }

  async function audit(action: string, by: Operator, subject: string, before: unknown, after: unknown): Promise<void> {
    await records.apply([], { actor: by.name, action, subject, before, after });
  }

  return { store, ownerOf, tenantsOf, summaryOf, audit };
}

function keysOf(directory: Directory, tenant: string) {
  return directory.keys.filter((key) => key.tenant === tenant && key.revokedMs === null);
}
