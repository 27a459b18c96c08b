import { type FaultName, faultTable } from './fault-table.ts';
import { BadFaultValue } from './fault-values.ts';

/** Faults of a spec; an absent one is not named. Durations are ms, sizes bytes. */
export type FaultSpec = { readonly [Name in FaultName]?: ReturnType<(typeof faultTable)[Name]['read']> } & {
  /** From `header.<name>=value`. */
  readonly headers?: Readonly<Record<string, string>>;
};

export type ParsedFaultSpec = { ok: true; spec: FaultSpec } | { ok: false; message: string };

export const healthy: FaultSpec = {};

const specCharsMax = 8_192;
const rememberedMax = 256;
const remembered = new Map<string, ParsedFaultSpec>();

/**
 * Reads `name`, `name=value` and `header.<name>=value`, parted by `;`. Values may be percent-encoded, `%3B` being a
 * semicolon. The empty spec is a healthy answer.
 */
export function parseFaultSpec(source: string): ParsedFaultSpec {
  const known = remembered.get(source);
  if (known !== undefined) return known;
  const parsed = parse(source);
  if (remembered.size >= rememberedMax) remembered.clear();
  if (source.length <= specCharsMax) remembered.set(source, parsed);
  return parsed;
}

function parse(source: string): ParsedFaultSpec {
  if (source.length > specCharsMax) return bad(`longer than ${specCharsMax} characters`);
  const values: Record<string, unknown> = {};
  const headers: Record<string, string> = {};
  for (const part of source.split(';')) {
    const item = part.trim();
    if (item === '') continue;
    const equals = item.indexOf('=');
    const name = (equals < 0 ? item : item.slice(0, equals)).trim().toLowerCase();
    const value = equals < 0 ? null : percentDecoded(item.slice(equals + 1).trim());
    if (value === undefined) return bad(`'${name}' has a broken percent escape (write %25 for %)`);
    if (name.startsWith('header.')) {
      const header = name.slice('header.'.length);
      if (!/^[a-z0-9-]+$/.test(header)) return bad(`'${header}' is no header name`);
      if (value === null || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return bad(`'${name}' needs =value in Latin-1`);
      headers[header] = value;
      continue;
    }
    if (!isFaultName(name)) return bad(`'${name}' is unknown; GET /_mock lists all faults`);
    if (Object.hasOwn(values, name)) return bad(`'${name}' is given twice`);
    try {
      values[name] = faultTable[name].read(value);
    } catch (error) {
      if (!(error instanceof BadFaultValue)) throw error;
      return bad(`'${name}' must be ${error.message}`);
    }
  }
  // These two become header values unchanged.
  for (const name of ['retry-after', 'redirect'] as const) {
    const value = values[name];
    if (typeof value === 'string' && !/^[\x20-\x7e]*$/.test(value)) return bad(`'${name}' must be ASCII`);
  }
  if (Object.keys(headers).length > 0) values.headers = headers;
  return { ok: true, spec: values as FaultSpec };
}

/** The rest of a spec for the requests that it lets pass. */
export function withoutFailures(spec: FaultSpec): FaultSpec {
  return Object.fromEntries(
    Object.entries(spec).filter(([name]) => !isFaultName(name) || faultTable[name].kind === 'shape'),
  );
}

/** True when the spec names what becomes of the requests that it picks. */
export function namesFailure(spec: FaultSpec): boolean {
  return Object.keys(spec).some((name) => isFaultName(name) && faultTable[name].kind === 'failure');
}

function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(faultTable, name);
}

function bad(why: string): ParsedFaultSpec {
  return { ok: false, message: `Cannot read the fault spec: ${why}.` };
}

function percentDecoded(value: string): string | undefined {
  if (!value.includes('%')) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
