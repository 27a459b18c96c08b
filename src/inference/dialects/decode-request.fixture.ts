import type { JsonObject } from '../../kernel/json.ts';
import { scanJson } from '../../kernel/json.ts';
import type { NeutralRequest } from '../neutral/request.ts';
import type { CallerDialect, ForwardTarget, Result } from './dialect.ts';

const ownFormat: ForwardTarget = {
  model: 'up',
  maxOutputTokens: 3,
  body: {},
  streamUsage: 'ask',
  omit: [],
  rename: {},
};

/** The neutral form of a body, as `readRequest` gives it where a conversion asks for it; else why there is none. */
export function decodeRequest(
  { readRequest }: Pick<CallerDialect, 'readRequest'>,
  body: JsonObject,
): Result<NeutralRequest> {
  const raw = Buffer.from(JSON.stringify(body));
  const read = readRequest(raw, body, scanJson(raw, 64));
  if (!read.ok) return read;
  const { extras, forward } = read.value;
  const nativeOnly = extras?.nativeOnly ?? null;
  // Providers of the body's own format accept every body that can be read.
  JSON.parse(forward(ownFormat).bytes.toString());
  return nativeOnly === null ? { ok: true, value: read.value.neutral() } : { ok: false, failure: nativeOnly };
}
