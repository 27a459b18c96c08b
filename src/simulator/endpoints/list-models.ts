import type { JsonObject } from '../../kernel/json.ts';

// 2026-01-01: models that are made up have no birthday, but the formats want one.
const createdS = 1_767_225_600;
const createdAt = '2026-01-01T00:00:00Z';

/** How a format lists models, and shows one. */
export interface ModelForm {
  list(models: readonly JsonObject[], ids: readonly string[]): JsonObject;
  one(id: string): JsonObject;
}

export const openAiModels: ModelForm = {
  list: (data) => ({ object: 'list', data: [...data] }),
  one: (id) => ({ id, object: 'model', created: createdS, owned_by: 'culvert-simulator' }),
};

export const anthropicModels: ModelForm = {
  list: (data, ids) => ({ data: [...data], has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null }),
  one: (id) => ({ type: 'model', id, display_name: id, created_at: createdAt }),
};

/** `GET /v1/models` in the asker's dialect. */
export function modelList(ids: readonly string[], form: ModelForm): JsonObject {
  return form.list(ids.map(form.one), ids);
}
