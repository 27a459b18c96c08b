import { z } from 'zod';
import type { EntryRow } from '../../books/auth/account-store.ts';
import { aliasFor } from '../../config/alias-pattern.ts';
import { fragmentKey } from '../../config/merge-stored.ts';
import { modelSchema as modelConfigSchema, modelName } from '../../config/schema/schema-models.ts';
import type { Alias } from '../../inference/models/alias.ts';
import { shownPrice } from '../../inference/models/rate-names.ts';
import { partWithin } from '../account-scope.ts';
import { filter, healthField } from '../fields.ts';
import { type Operation, refuse } from '../operation.ts';
import { inOrderOf } from '../page.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import { type EntryRecords, type EntryRows, noEntry } from './entry-records.ts';
import { shownStored, storedFields } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';

export const modelSchema = z.object({
  id: z.string().describe('The model name that callers use.'),
  type: z.string(),
  tier: z.string().nullable(),
  cost: z.number().describe('Units per request, multiplied by the cost of the endpoint.'),
  attempts: z.int(),
  status: healthField,
  targets: z.array(
    z.object({
      target: z.string().describe('provider/model'),
      rank: z.int().describe('0: its own; 1…: of its fallbacks.'),
      priority: z.int(),
      weight: z.number(),
      status: healthField,
      price: z
        .looseObject({ input: z.number(), output: z.number(), cached_input: z.number().nullable() })
        .nullable()
        .describe('What is charged now, by the names of `price` in the configuration; null when unknown.'),
    }),
  ),
  only: z
    .object({ accounts: z.array(z.string()), plans: z.array(z.string()) })
    .nullable()
    .describe('Who may use it, besides what plans and keys say; null: everybody.'),
  ...storedFields,
});
export type ModelReply = z.output<typeof modelSchema>;

const newModel = modelConfigSchema.extend({
  id: modelName.describe('The model name that callers use. A * makes it a pattern.'),
});

/** `/models`: every alias with its targets, for any caller, and the stored models. */
export function modelOperations(parts: AdminParts, entryRecords: EntryRecords): Operation[] {
  const entries = entryOperations({ path: '/models', named: 'id', area: 'models', reply: modelSchema });
  const show = (id: string) => shownModel(parts, entryRecords, id);
  return [
    entries.list({
      summary: 'Lists every model with its targets and their health, by id.',
      filters: {
        provider: filter('Only those with a target of this provider.'),
        type: filter('Only those of this type.'),
        text: filter('Only those whose id or target contains this text. Upper and lower case are the same.'),
      },
      rows: async (query, operator) => ({
        rows: inOrderOf(entriesOf(parts, await entryRecords.rows()), idOf),
        textOf: idOf,
        matches: asFiltered(query),
        shown: (entry: Entry) => partWithin(shown(parts, entry), operator.accounts),
      }),
    }),
    entries.show({
      summary: 'Returns one model.',
      run: async (id, { operator }) => partWithin(await show(id), operator.accounts),
    }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'model',
      entries,
      show,
      add: { summary: 'Makes a model that callers can name, as under `models` in culvert.yaml.', body: newModel },
      change: { summary: 'Changes the stored settings of a model. Running requests finish as they began.' },
      remove: { summary: 'Removes the stored settings of a model. Running requests finish.' },
    }),
  ];
}

/** The model as the list shows it. Refuses an unknown id. */
async function shownModel(parts: AdminParts, entryRecords: EntryRecords, id: string): Promise<ShownModel> {
  const entries = entriesOf(parts, await entryRecords.rows());
  const entry = entries.find((each) => idOf(each) === id);
  if (entry !== undefined) return shown(parts, entry);
  return refuse(noEntry('model', id, entries.map(idOf)));
}

export type ShownModel = z.input<typeof modelSchema>;

/** An alias that callers can name, or a stored entry that names none: a pattern, or one that cannot be used. */
type Entry = { alias: Alias; row: EntryRow | null } | { alias: null; row: EntryRow };

function entriesOf({ snapshots }: AdminParts, { entries: entryRecords }: EntryRows): Entry[] {
  const rows = new Map(entryRecords.filter(({ kind }) => kind === 'model').map((row) => [row.name, row]));
  const aliases = snapshots.current.models.all();
  const named = new Set(aliases.map(({ id }) => id));
  return [
    ...aliases.map((alias) => ({ alias, row: rows.get(alias.id) ?? null })),
    ...[...rows.values()].filter(({ name }) => !named.has(name)).map((row) => ({ alias: null, row })),
  ];
}

/** Whether an entry matches the query. */
function asFiltered(query: { [Name in 'provider' | 'type' | 'text']?: string | undefined }): (entry: Entry) => boolean {
  const { provider, type } = query;
  const text = query.text?.toLowerCase();
  return (entry) =>
    (type === undefined || typeOf(entry) === type) &&
    (provider === undefined || targetsOf(entry).some((target) => target.startsWith(`${provider}/`))) &&
    (text === undefined || [idOf(entry), ...targetsOf(entry)].some((name) => name.toLowerCase().includes(text)));
}

function typeOf({ alias, row }: Entry): string {
  return alias === null ? String(row.definition.type ?? 'chat') : alias.type;
}

function idOf({ alias, row }: Entry): string {
  return alias === null ? row.name : alias.id;
}

function targetsOf({ alias, row }: Entry): string[] {
  return alias === null ? writtenTargets(row) : alias.candidates.map(({ target }) => target.id);
}

function writtenTargets({ definition }: EntryRow): string[] {
  const targets = (definition as z.input<typeof modelConfigSchema>).targets ?? [];
  return targets.map((target) => (typeof target === 'string' ? target : `${target.provider}/${target.model}`));
}

function shown(parts: AdminParts, { alias, row }: Entry): ShownModel {
  return alias === null ? shownUnnamed(parts, row) : shownAlias(parts, alias, row);
}

/** Entries that no list of models has: a pattern, whose matches are listed instead, or one that cannot be used. */
function shownUnnamed(parts: AdminParts, row: EntryRow): ShownModel {
  const facts = shownStored(parts, 'kept', row);
  const model = parts.snapshots.current.config.models[row.name];
  const status = facts.problem === null ? 'healthy' : 'down';
  const targets = model?.targets.map(({ provider, model: id, priority, weight }) => ({
    target: `${provider}/${id}`,
    priority,
    weight,
  }));
  return {
    id: row.name,
    type: String(model?.type ?? row.definition.type ?? 'chat'),
    tier: model?.tier ?? null,
    cost: model?.cost ?? 1,
    attempts: model?.attempts ?? 1,
    status,
    targets: (targets ?? writtenTargets(row).map((target) => ({ target, priority: 1, weight: 1 }))).map((target) => ({
      ...target,
      rank: 0,
      status,
      price: null,
    })),
    only: model?.only === undefined ? null : { accounts: model.only.accounts ?? [], plans: model.only.plans ?? [] },
    ...facts,
  };
}

function shownAlias(parts: AdminParts, alias: Alias, row: EntryRow | null): ShownModel {
  const { health, clock } = parts;
  const nowMs = clock.monotonicMs();
  return {
    id: alias.id,
    type: alias.type,
    tier: alias.tier,
    cost: alias.cost,
    attempts: alias.attempts,
    status: health.status(
      alias.candidates.map(({ target }) => target),
      nowMs,
    ),
    targets: alias.candidates.map(({ target, rank }) => ({
      target: target.id,
      rank,
      priority: target.priority,
      weight: target.weight,
      status: health.status([target], nowMs),
      price: target.price === null ? null : shownPrice(target.price, clock.wallMs()),
    })),
    only: alias.only === undefined ? null : { accounts: [...alias.only.accounts], plans: [...alias.only.plans] },
    ...shownStored(parts, sourceOf(parts, alias, row), row),
  };
}

function sourceOf(
  { setup, snapshots }: AdminParts,
  { id, candidates }: Alias,
  row: EntryRow | null,
): ShownModel['source'] {
  const { config, models } = snapshots.current;
  const by = aliasFor(config.models, id)?.alias;
  if (by !== undefined) return Object.hasOwn(setup.file().models, by) ? 'file' : 'kept';
  if (row !== null && !setup.report().shadowed.has(fragmentKey(row))) return 'kept';
  const listed = models.named.some((alias) => alias.id === id);
  return listed && candidates.some(({ target }) => !target.simulated) ? 'detected' : 'built-in';
}
