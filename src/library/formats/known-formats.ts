import type { CallerDialect, UpstreamDialect } from '../../formats/dialects/dialect.ts';
import { dialects } from '../../formats/dialects/dialect-table.ts';
import type { Failure } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { FormatError } from './format-error.ts';
import { callerFormats, providerFormats } from './format-names.ts';
import type { Body, CallerFormat, ProviderFormat } from './types.ts';

/** The format of a caller by its name; throws a `FormatError` for any other. */
export function callerFormat(name: CallerFormat): CallerDialect {
  if (!callerFormats.includes(name)) throw unknownFormat(name, 'an application', callerFormats);
  return dialects[name];
}

/** The format of a provider by its name; throws a `FormatError` for any other. */
export function providerFormat(name: ProviderFormat): UpstreamDialect {
  if (!providerFormats.includes(name)) throw unknownFormat(name, 'a provider', providerFormats);
  return dialects[name];
}

function unknownFormat(name: unknown, who: string, known: readonly string[]): FormatError {
  return new FormatError(`'${String(name)}' is no format of ${who}. Use one of ${known.join(', ')}.`, {
    param: null,
    status: 400,
  });
}

export function errorOf(failure: Failure): FormatError {
  const { message, param, status } = factsOf(failure, 0);
  return new FormatError(message, { param, status });
}

/** The failure of an answer that a provider refused or broke off, in its own words. */
export function refusedBy(provider: string, message: string, status = 502): Failure & { kind: 'upstream-refused' } {
  return { kind: 'upstream-refused', status, provider, message, param: null };
}

/** Throws a `FormatError` for what is no JSON object. */
export function checkBody(body: unknown): asserts body is Body {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return;
  throw new FormatError('The body must be a JSON object, as JSON.parse gives it.', { param: null, status: 400 });
}
