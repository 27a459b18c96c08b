import type { AdminMethod } from './admin-api.ts';
import type { Operation } from './operation.ts';

export type Found =
  | { kind: 'found'; operation: Operation; params: Readonly<Record<string, string>> }
  | { kind: 'other-method'; allowed: readonly AdminMethod[] }
  | { kind: 'none' };

/** Longer ones name nothing here. */
const pathCharsMax = 2_048;

/**
 * The operation at a path below /admin/v1. Each part between slashes is decoded separately, so that an id may hold a
 * slash (`%2F`). A literal part takes precedence over a parameter.
 */
export function findOperation(operations: readonly Operation[], method: AdminMethod, path: string): Found {
  const parts = partsOf(path);
  if (parts === null) return { kind: 'none' };
  const at = operations.filter((operation) => matches(operation.path, parts));
  const literal = at.filter(({ path }) => !path.endsWith('}'));
  const operation = [...literal, ...at].find((candidate) => candidate.method === method);
  if (operation !== undefined) return { kind: 'found', operation, params: paramsOf(operation.path, parts) };
  return at.length === 0 ? { kind: 'none' } : { kind: 'other-method', allowed: at.map((other) => other.method) };
}

function partsOf(path: string): string[] | null {
  if (path.length > pathCharsMax) return null;
  try {
    return path.split('/').slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** Segments of the patterns of all operations; splitting some 170 of them took a tenth of a call. */
const segments = new Map<string, readonly string[]>();

function segmentsOf(pattern: string): readonly string[] {
  const known = segments.get(pattern);
  if (known !== undefined) return known;
  const its = pattern.split('/').slice(1);
  segments.set(pattern, its);
  return its;
}

function matches(pattern: string, parts: readonly string[]): boolean {
  const patternSegments = segmentsOf(pattern);
  return (
    patternSegments.length === parts.length &&
    patternSegments.every((want, i) => (want.startsWith('{') ? parts[i] !== '' : want === parts[i]))
  );
}

function paramsOf(pattern: string, parts: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  const patternSegments = segmentsOf(pattern);
  for (const [i, part] of parts.entries())
    if (patternSegments[i]?.startsWith('{')) params[patternSegments[i].slice(1, -1)] = part;
  return params;
}
