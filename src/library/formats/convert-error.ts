import type { JsonObject } from '../../kernel/json.ts';
import { callerFormat, providerFormat, refusedBy } from './known-formats.ts';
import type { Body, CallerFormat, ErrorOptions, ProviderFormat } from './types.ts';

/** A provider's error body in the format of a caller. A body that holds no error of that format has a plain message. */
export function convertError(from: ProviderFormat, to: CallerFormat, body: unknown, options: ErrorOptions = {}): Body {
  const caller = callerFormat(to);
  const error = providerFormat(from).readError(body as JsonObject);
  const { status = 502, id = 'converted' } = options;
  const failure = refusedBy(from, error?.message ?? 'gave an error without a message', status);
  const facts = { ...failure, param: error?.param ?? null, ...(error?.code && { code: error.code }) };
  return caller.errorBody(facts, { requestId: id, nowMs: 0 });
}
