import { withFirst } from '../gemini/path-members.ts';
import type { Version } from './wire.ts';

/** A body with what the AI SDK has in headers as its first members, so that it can be read as any other is. */
export function withCallMembers(raw: Buffer, model: string, stream: boolean, version: Version): Buffer {
  const named = JSON.stringify(model.toWellFormed());
  return withFirst(raw, `"model":${named},"stream":${stream},"specification":${version}`);
}
