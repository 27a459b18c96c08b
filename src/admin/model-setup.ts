import type { z } from 'zod';
import { redactPart } from '../config/redact.ts';
import { modelName, modelSchema } from '../config/schema-models.ts';
import { noQuery } from './fields.ts';
import { type KeptRecords, withRow, writtenOf } from './kept.ts';
import { newRow, nextOf, patchSchema, versionQuery } from './kept-row.ts';
import { patched } from './merge-patch.ts';
import { shownModel, modelSchema as shownSchema } from './models.ts';
import { jsonOperation, type Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';

const newModel = modelSchema.extend({
  id: modelName.describe('The model name that callers use. A * makes it a pattern.'),
});
export type NewModel = z.input<typeof newModel>;

/** `/models`: made, changed and removed while Culvert runs. */
export function modelSetupOperations(parts: AdminParts, kept: KeptRecords): Operation[] {
  const show = (id: string) => shownModel(parts, kept, id);
  const changeOf = (id: string, version: number | undefined, actor: string) =>
    ({ kind: 'model', name: id, version, actor, show: () => show(id) }) as const;

  return [
    jsonOperation({
      method: 'POST',
      path: '/models',
      area: 'models',
      summary: 'Makes a model that callers can name, as under `models` in culvert.yaml.',
      query: noQuery,
      body: newModel,
      status: 201,
      reply: shownSchema,
      async run({ written, operator: { name: actor } }) {
        const { id, ...definition } = written as NewModel;
        const row = newRow(parts, 'model', id, definition, actor);
        const plan = (rows: Parameters<typeof withRow>[0]) => ({
          changes: [{ kind: 'create-kept', row } as const],
          audit: { action: 'model.create', subject: id, before: null, after: redactPart(definition) },
          after: withRow(rows, row),
        });
        await kept.create('model', id, plan, actor);
        return show(id);
      },
    }),
    jsonOperation({
      method: 'PATCH',
      path: '/models/{id}',
      area: 'models',
      summary: 'Changes the stored settings of a model. Running requests finish as they began.',
      query: noQuery,
      body: patchSchema,
      reply: shownSchema,
      async run({ params, body: { version, ...patch }, operator: { name: actor } }) {
        await kept.change(changeOf(params.id, version, actor), (row, rows) => {
          const before = writtenOf(parts, row);
          const after = patched(before, patch);
          const next = nextOf(parts, row, after, actor);
          return {
            changes: [{ kind: 'replace-kept', row: next, was: row.version }],
            audit: { action: 'model.update', subject: row.name, before: redactPart(before), after: redactPart(after) },
            after: withRow(rows, next),
          };
        });
        return show(params.id);
      },
    }),
    jsonOperation({
      method: 'DELETE',
      path: '/models/{id}',
      area: 'models',
      summary: 'Removes the stored settings of a model. Running requests finish.',
      query: versionQuery,
      body: null,
      reply: shownSchema,
      async run({ params, query, operator: { name: actor } }) {
        const shown = await show(params.id);
        await kept.change(changeOf(params.id, query.version, actor), (row, rows) => ({
          changes: [{ kind: 'delete-kept', of: 'model', name: row.name, was: row.version }],
          audit: { action: 'model.delete', subject: row.name, before: redactPart(row.definition), after: null },
          after: { ...rows, kept: rows.kept.filter((other) => other !== row) },
        }));
        return shown;
      },
    }),
  ];
}
