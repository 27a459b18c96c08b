import type { ConfigPath } from './problem.ts';

/**
 * What the schema knows and this version does not do. Who builds something deletes its lines here.
 * `warn`: the key has no effect yet. `refuse`: it limits, protects or says where data goes, so that leaving it without
 * effect would mislead.
 */
export interface Unbuilt {
  /** Keys from the top; `*` is any name or index. */
  path: readonly string[];
  action: 'warn' | 'refuse';
  /** In words, naming what is missing. */
  reason: string;
  /** Whether this value asks for it. */
  when: (value: unknown) => boolean;
}

const always = () => true;
const warn = (path: string, missing: string, when: Unbuilt['when'] = always): Unbuilt => ({
  path: path.split('.'),
  action: 'warn',
  reason: `has no effect yet: this version ${missing}`,
  when,
});
const refuse = (path: string, reason: string, when: Unbuilt['when']): Unbuilt => ({
  path: path.split('.'),
  action: 'refuse',
  reason: `not accepted yet: ${reason}`,
  when,
});

export const unbuilt: readonly Unbuilt[] = [
  warn('admin.dashboard', 'has no dashboard', (value) => value !== false),
  refuse('storage.files', 'this version keeps files in the data folder alone (local)', isNot('local')),
  warn('telemetry.otlp', 'exports no OpenTelemetry'),
];

export interface UnbuiltFinding {
  path: ConfigPath;
  action: 'warn' | 'refuse';
  message: string;
}

/** What of the file's own values (defaults are not in `value`) is not built. */
export function findUnbuilt(value: unknown): UnbuiltFinding[] {
  return unbuilt.flatMap((rule) =>
    matches(value, rule.path, [])
      .filter((match) => rule.when(match.value))
      .map((match) => ({ path: match.path, action: rule.action, message: rule.reason })),
  );
}

function matches(value: unknown, pattern: readonly string[], path: ConfigPath): { path: ConfigPath; value: unknown }[] {
  const [step, ...rest] = pattern;
  if (step === undefined) return [{ path, value }];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) {
    return step === '*' ? value.flatMap((item, index) => matches(item, rest, [...path, index])) : [];
  }
  return Object.entries(value)
    .filter(([key]) => step === '*' || step === key)
    .flatMap(([key, child]) => matches(child, rest, [...path, key]));
}

function isNot(built: string) {
  return (value: unknown) => value !== built;
}
