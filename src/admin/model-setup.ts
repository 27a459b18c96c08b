import type { z } from 'zod';
import { modelName, modelSchema } from '../config/schema-models.ts';
import { noQuery } from './fields.ts';
import type { KeptRecords } from './kept.ts';
import { creation, patching, patchSchema, removal, versionQuery } from './kept-row.ts';
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
        const identity = { kind: 'model', name: id } as const;
        await kept.create('model', id, (rows) => creation(parts, rows, identity, definition, actor), actor);
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
        await kept.change(changeOf(params.id, version, actor), patching(parts, patch, actor));
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
        await kept.change(changeOf(params.id, query.version, actor), removal);
        return shown;
      },
    }),
  ];
}
