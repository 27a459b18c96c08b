import { z } from 'zod';
import { routeName, routeSchema } from '../../config/schema/schema-routes.ts';
import type { RouteConfig } from '../../config/schema.ts';
import { partWithin } from '../account-scope.ts';
import type { Operation } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import type { EntryRecords } from './entry-records.ts';
import { entryNamed, shownEntries, storedFields } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';

const shownSchema = z.object({
  name: z.string(),
  order: z.int().describe('Rules with a lower number come first.'),
  enabled: z.boolean(),
  when: z.string().nullable().describe('Condition; null: each request.'),
  effects: z.array(z.string()).describe('Names of its effects, such as model or refuse.'),
  continue: z.boolean().describe('Whether later rules are tried as well.'),
  settings: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('All of it with its defaults; null when the stored entry cannot be used.'),
  ...storedFields,
});
export type RouteReply = z.output<typeof shownSchema>;
type ShownRoute = z.input<typeof shownSchema>;

const newRoute = routeSchema.safeExtend({ name: routeName.describe('Records and refusals name it so.') });

/** `/routes`: rules of the file, and stored ones, in the order in which they are tried. */
export function routeOperations(parts: AdminParts, entryRecords: EntryRecords): Operation[] {
  const entries = entryOperations({ path: '/routes', named: 'name', area: 'models', reply: shownSchema });
  const show = async (name: string) => entryNamed('route', await shownRoutes(parts, entryRecords), name);
  return [
    entries.list({
      summary: 'Lists the rules for routes in the order in which they are tried.',
      rows: async (_query, operator) => ({
        rows: (await shownRoutes(parts, entryRecords)).map((row, index) => ({
          row,
          key: String(index).padStart(5, '0'),
        })),
        textOf: ({ key }) => key,
        shown: ({ row }) => partWithin(row, operator.accounts),
      }),
    }),
    entries.show({
      summary: 'Returns one rule.',
      run: async (name, { operator }) => partWithin(await show(name), operator.accounts),
    }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'route',
      entries,
      show,
      add: { summary: 'Creates a rule, as under `routes` in culvert.yaml. The next request meets it.', body: newRoute },
      change: { summary: 'Changes the stored settings of a rule. Running requests finish as they began.' },
      remove: { summary: 'Removes a stored rule.' },
    }),
  ];
}

const effectNames = ['model', 'ladder', 'classify', 'targets', 'parameters', 'tag', 'refuse'] as const;

/** Rules in force in their order, then stored ones that cannot be used. */
async function shownRoutes(parts: AdminParts, entryRecords: EntryRecords): Promise<ShownRoute[]> {
  const rows = await entryRecords.rows();
  const inForce = Object.entries(parts.snapshots.current.config.routes).sort(([, a], [, b]) => a.order - b.order);
  return shownEntries(parts, rows, 'route', inForce, (name, config, stored, row) => {
    const written = config ?? ((row?.definition ?? {}) as Partial<RouteConfig>);
    return {
      name,
      order: written.order ?? 0,
      enabled: written.enabled ?? true,
      when: written.when ?? null,
      effects: effectNames.filter((effect) => written[effect] !== undefined),
      continue: written.continue ?? false,
      settings: config === null ? null : { ...config },
      ...stored,
    };
  });
}
