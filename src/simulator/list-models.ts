import type { JsonObject } from '../kernel/json.ts';
import { geminiSpeech } from './speak-gemini.ts';
import { messagesSpeech } from './speak-messages.ts';
import type { Speech } from './speech.ts';

// 2026-01-01: models that are made up have no birthday, but the formats want one.
const createdS = 1_767_225_600;
const createdAt = '2026-01-01T00:00:00Z';

/** `GET /v1/models` in the asker's dialect. */
export function modelList(ids: readonly string[], speech: Speech): JsonObject {
  const data = ids.map((id) => oneModel(id, speech));
  if (speech === geminiSpeech) return { models: data };
  if (speech !== messagesSpeech) return { object: 'list', data };
  return { data, has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null };
}

export function oneModel(id: string, speech: Speech): JsonObject {
  if (speech === geminiSpeech) {
    const supportedGenerationMethods = id.includes('embed')
      ? ['embedContent', 'batchEmbedContents']
      : ['generateContent', 'streamGenerateContent'];
    return { name: `models/${id}`, displayName: id, inputTokenLimit: 1_048_576, supportedGenerationMethods };
  }
  return speech === messagesSpeech
    ? { type: 'model', id, display_name: id, created_at: createdAt }
    : { id, object: 'model', created: createdS, owned_by: 'culvert-simulator' };
}
