import { dirname, resolve } from 'node:path';
import { culvert } from '../kernel/command-form.ts';
import { cautionsOf } from './cautions.ts';
import { crossCheck } from './cross-check.ts';
import { type Env, fillFromEnvironment } from './environment.ts';
import { readWithIncluded } from './include.ts';
import { type ConfigPath, type ConfigProblem, type ConfigWarning, formatPath, type PathProblem } from './problem.ts';
import { withoutValue } from './reference-forms.ts';
import { secretFilePaths } from './references.ts';
import type { Config } from './schema.ts';
import { checkSchema } from './schema-issues.ts';
import type { YamlSource } from './yaml-source.ts';

/** A checked configuration, or why there is none; never both. */
export type ConfigResult =
  | {
      ok: true;
      config: Config;
      /** Settings that may work otherwise than intended, ordered as in the file. */
      warnings: readonly ConfigWarning[];
      /** Absolute; null when there is no file and everything is a default. */
      file: string | null;
      /** The file, those that it includes and the secret files they name, absolute: whatever a change of should lead to a reload. */
      sources: readonly string[];
    }
  | {
      ok: false;
      /** At least one, ordered as in the file. */
      errors: readonly ConfigProblem[];
      sources: readonly string[];
    };

export interface CheckOptions {
  /** Providers that exist without standing in the file, such as those of keys in the environment. */
  implicitProviders?: readonly string[];
  /** Name of the file in messages. Default: the given name. */
  shownAs?: string;
}

/** Whether `error` asks for a member of its mapping that is written there, and could not be read. */
function needsUnread(error: ConfigProblem, unread: readonly ConfigProblem[]): boolean {
  return unread.some(({ path }) => {
    const member = path.startsWith(`${error.path}.`) ? path.slice(error.path.length + 1) : null;
    return member !== null && error.message.includes(` needs ${member}`);
  });
}

/** Checks a text as if it were the file `fileName`: relative `${file:…}` paths start at that file's folder. */
export function checkConfigText(text: string, fileName: string, env: Env, options: CheckOptions = {}): ConfigResult {
  const directory = dirname(resolve(fileName));
  const yaml = readWithIncluded(text, { env, directory });
  const sources = [...new Set([resolve(fileName), ...secretFilePaths(text, directory), ...yaml.sources])];
  const variableOf = fillFromEnvironment(yaml.value, env);
  const problem = (path: ConfigPath, message: string, at = yaml.find(path)): ConfigProblem => {
    const variable = variableOf(path);
    if (variable !== null) return { file: 'environment', line: 0, column: 0, path: variable, message };
    const { line, column } = at.place;
    return { file: at.file ?? options.shownAs ?? fileName, line, column, path: formatPath(path), message };
  };
  const refuse = (errors: ConfigProblem[]): ConfigResult => ({ ok: false, errors: inFileOrder(errors), sources });

  const unread = yaml.problems.map(({ path, message, ...at }) => problem(path, message, at));
  if (yaml.value === undefined) return refuse(unread);

  const foreign = foreignSection(yaml.value);
  if (foreign !== null) {
    const message = `this is a configuration of LiteLLM; "${culvert} import litellm ${options.shownAs ?? fileName}" makes one for Culvert from it`;
    return refuse([problem([foreign], message)]);
  }
  const expanded = new Set(yaml.expanded.map(({ path }) => formatPath(path)));
  const shown = ({ path, message }: PathProblem) =>
    problem(path, expanded.has(formatPath(path)) ? withoutValue(message) : message);
  const checked = checkWithTypes(yaml);
  if (!checked.ok) {
    // A value that could not be read is missing for the schema too; only the first of the two is worth saying.
    const unreadPaths = new Set(unread.map((error) => error.path));
    return refuse([...unread, ...checked.problems.map(shown).filter((error) => !unreadPaths.has(error.path))]);
  }
  const crossed = crossCheck(checked.config, { implicitProviders: options.implicitProviders ?? [] })
    .map(shown)
    .filter((error) => !needsUnread(error, unread));
  const errors = [...unread, ...crossed];
  if (errors.length > 0) return refuse(errors);
  const warnings = inFileOrder(cautionsOf(checked.config).map(({ fix, ...caution }) => ({ ...shown(caution), fix })));
  const config = variableOf(['keys']) === null ? checked.config : withEnvironmentKey(checked.config);
  return { ok: true, config, warnings, file: resolve(fileName), sources };
}

/** The section that only LiteLLM's config.yaml has; null where there is none. */
function foreignSection(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  return ['model_list', 'litellm_settings'].find((section) => Object.hasOwn(value, section)) ?? null;
}

/** Its one key is that of CULVERT_API_KEY. */
function withEnvironmentKey(config: Config): Config {
  return { ...config, keys: config.keys.map((key) => ({ ...key, from: 'environment' })) };
}

/**
 * References give text, and only the schema knows where it wants a number or a boolean. When it refuses a text that
 * came from a reference, the same text is tried as the value that YAML would have made of it.
 */
function checkWithTypes(yaml: YamlSource): ReturnType<typeof checkSchema> {
  const first = checkSchema(yaml.value);
  if (first.ok || yaml.expanded.length === 0) return first;
  const refused = new Set(first.problems.map(({ path }) => formatPath(path)));
  let changed = false;
  for (const { path, text } of yaml.expanded) {
    const typed = asPlainScalar(text);
    if (typed === undefined || !refused.has(formatPath(path))) continue;
    put(yaml.value, path, typed);
    changed = true;
  }
  return changed ? checkSchema(yaml.value) : first;
}

function asPlainScalar(text: string): number | boolean | undefined {
  if (/^(true|True|TRUE)$/.test(text)) return true;
  if (/^(false|False|FALSE)$/.test(text)) return false;
  return /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : undefined;
}

function put(root: unknown, path: ConfigPath, value: unknown): void {
  let at = root as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = path.at(-1);
  if (last !== undefined) at[last] = value;
}

function inFileOrder<P extends ConfigProblem>(problems: P[]): P[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  return problems.sort(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
}
