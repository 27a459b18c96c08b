import type { StoredFile } from '../../../inference/batches/stored-files.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';

const retentionSMin = 3_600;
const retentionSMax = 30 * 24 * 3_600;

/** Form of what `expiryOf` reads. */
export const retentionSchema = {
  type: 'object',
  properties: {
    anchor: { type: 'string', enum: ['created_at'] },
    seconds: { type: 'integer', minimum: retentionSMin, maximum: retentionSMax },
  },
};

/** Ms that a file is kept for; `after` as OpenAI writes it. */
export function expiryOf({ anchor, seconds }: JsonObject, param: string): number | Failure {
  if (anchor !== 'created_at') return invalid(`${param}.anchor`, `'${param}.anchor' must be created_at.`);
  if (
    typeof seconds === 'number' &&
    Number.isInteger(seconds) &&
    seconds >= retentionSMin &&
    seconds <= retentionSMax
  ) {
    return seconds * 1_000;
  }
  const range = `from ${retentionSMin} to ${retentionSMax}`;
  return invalid(`${param}.seconds`, `'${param}.seconds' must be a whole number ${range}.`);
}

/** OpenAI's form of a file. */
export function shownFile({ id, bytes, createdMs, expiresMs, name, purpose }: StoredFile): JsonObject {
  return {
    id,
    object: 'file',
    bytes,
    created_at: Math.floor(createdMs / 1_000),
    expires_at: Math.floor(expiresMs / 1_000),
    filename: name,
    purpose,
    status: 'processed',
  };
}
