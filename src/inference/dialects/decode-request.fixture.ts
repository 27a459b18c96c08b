import type { JsonObject } from '../../kernel/json.ts';
import { scanJson } from '../../kernel/json.ts';
import type { NeutralRequest } from '../neutral/request.ts';
import type { CallerDialect, Result } from './dialect.ts';

/** The neutral form of a body, as `readRequest` gives it where a conversion asks for it. */
export function decodeRequest(
  { readRequest }: Pick<CallerDialect, 'readRequest'>,
  body: JsonObject,
): Result<NeutralRequest> {
  const raw = Buffer.from(JSON.stringify(body));
  const read = readRequest(raw, body, scanJson(raw, 64));
  return read.ok ? { ok: true, value: read.value.neutral() } : read;
}
