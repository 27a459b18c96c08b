import { withFirst } from '../gemini/path-members.ts';

/** Member that says by which path a body came: each path has a separate form of answers. */
export const pathForm = 'form of the path';

/** A body of `POST /api/generate` with what its path says as its first member. */
export function asGenerate(raw: Buffer): Buffer {
  return withFirst(raw, `"${pathForm}":"generate"`);
}
