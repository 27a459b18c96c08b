import { isObject, type JsonValue } from '../kernel/json.ts';
import { type ConfigPath, formatPath } from './problem.ts';

export type Env = Readonly<Record<string, string | undefined>>;

interface Stand {
  variable: string;
  path: readonly [string, ...string[]];
  /** Its value as the file would have it. */
  read(text: string): JsonValue;
}

const asText = (text: string) => text;

/** Variables that a container sets instead of a file. Each replaces one key that the file leaves out. */
const stands: readonly Stand[] = [
  { variable: 'CULVERT_HOST', path: ['server', 'host'], read: asText },
  { variable: 'PORT', path: ['server', 'port'], read: (text) => (/^\d+$/.test(text) ? Number(text) : text) },
  { variable: 'CULVERT_DATA_DIR', path: ['storage', 'data_dir'], read: asText },
  { variable: 'CULVERT_ADMIN_KEY', path: ['admin', 'key'], read: asText },
  { variable: 'CULVERT_SIMULATOR', path: ['simulator'], read: asText },
  // The identity of the key that a first start makes: it takes the place of that one.
  { variable: 'CULVERT_API_KEY', path: ['keys'], read: (key) => [{ key, account: 'default', name: 'first' }] },
];

/** The variables that replace keys of the file; an empty one counts as unset. */
export const environmentVariables: readonly string[] = stands.map(({ variable }) => variable);

export function isInEnvironment(env: Env): boolean {
  return environmentVariables.some((variable) => Boolean(env[variable]));
}

/**
 * Fills in what `written`, as it came from the file, leaves out. Returns a function that names the variable behind a
 * place, or null.
 */
export function fillFromEnvironment(written: unknown, env: Env): (path: ConfigPath) => string | null {
  const filled: { variable: string; place: string }[] = [];
  for (const { variable, path, read } of stands) {
    const text = env[variable];
    if (!text || !fill(written, path, read(text))) continue;
    filled.push({ variable, place: formatPath(path) });
  }
  return (path) => {
    const text = formatPath(path);
    const from = filled.find(({ place }) => text === place || text.startsWith(`${place}[`));
    return from?.variable ?? null;
  };
}

/** False when the file has a value there, or something other than a mapping above it. */
function fill(written: unknown, path: readonly string[], value: JsonValue): boolean {
  let at = written;
  for (const step of path.slice(0, -1)) {
    if (!isObject(at)) return false;
    if (at[step] === undefined) at[step] = {};
    at = at[step];
  }
  const last = path.at(-1);
  if (last === undefined || !isObject(at) || at[last] !== undefined) return false;
  at[last] = value;
  return true;
}
