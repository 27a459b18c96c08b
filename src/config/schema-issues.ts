import { z } from 'zod';
import { didYouMean, nearest } from '../kernel/nearest.ts';
import type { ConfigPath, PathProblem } from './problem.ts';
import { otherWay, settingMeant } from './schema/names-elsewhere.ts';
import { configSchema } from './schema.ts';

type Issue = z.core.$ZodIssue;

/** Checks `value`. Messages hold no values, only names of keys and what was expected. */
export function checkSchema(
  value: unknown,
): { ok: true; config: z.output<typeof configSchema> } | { ok: false; problems: PathProblem[] } {
  const checked = checkAgainst(configSchema, value);
  return checked.ok ? { ok: true, config: checked.value } : checked;
}

/** The same for any schema, with the same words. */
export function checkAgainst<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { ok: true; value: z.output<Schema> } | { ok: false; problems: PathProblem[] } {
  // Compiled code pays for itself after many values; a file is one, and compiling cost its start 11 ms.
  const result = schema.safeParse(value, { error: wording, jitless: true });
  if (result.success) return { ok: true, value: result.data };
  const problems = result.error.issues.flatMap((issue) => problemsOf(schema, issue, []));
  return {
    ok: false,
    problems: problems.map((problem) =>
      isMissing(value, problem.path) ? { ...problem, message: 'is required' } : problem,
    ),
  };
}

function isMissing(value: unknown, path: ConfigPath): boolean {
  let at: unknown = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return false;
    at = (at as Record<string | number, unknown>)[step];
  }
  return at === undefined;
}

function problemsOf(schema: z.ZodType, issue: Issue, above: ConfigPath): PathProblem[] {
  const path = [...above, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key], message: unknownKey(schema, [...path, key]) }));
    case 'invalid_key':
      return issue.issues.map((inner) => ({ path, message: otherWay(path) ?? inner.message }));
    case 'invalid_union':
      return unionProblems(schema, issue, path);
    case 'invalid_type':
      return [{ path, message: `${issue.message}${rightForm(schema, issue.expected, path)}` }];
    default:
      return [{ path, message: issue.message }];
  }
}

/** The setting of the only mapping at `path` that has it: a key's `budget` belongs to its `limits`. Null: none, or a typing error. */
function memberMeant(schema: z.ZodType, path: ConfigPath, key: string): string | null {
  const known = knownKeys(schema, path);
  if (path.length === 0 || nearest(key, known) !== null) return null;
  // An item of a list or a table may have the key as well: then no mapping is meant.
  if (known.some((name) => knownKeys(schema, [...path, name, 0]).includes(key))) return null;
  const members = known.flatMap((name) => {
    const setting = settingMeant(key, knownKeys(schema, [...path, name]));
    return setting === null ? [] : [`${name}.${setting}`];
  });
  const [member, second] = members;
  return second === undefined ? (member ?? null) : null;
}

/** Keys of earlier versions, and what they are called now. */
const movedKeys: Readonly<Record<string, string>> = { 'telemetry.alerts.smtp': 'server.smtp' };

function unknownKey(schema: z.ZodType, path: ConfigPath): string {
  const moved = movedKeys[path.join('.')];
  if (moved !== undefined) return `unknown key; it is ${moved} now`;
  const instead = otherWay(path);
  if (instead !== null) return `unknown key: ${instead}`;
  const [key, above] = [String(path.at(-1)), path.slice(0, -1)];
  const known = knownKeys(schema, above);
  const meant = settingMeant(key, known) ?? memberMeant(schema, above, key);
  if (meant !== null) return `unknown key (did you mean '${meant}'?)`;
  const hint = didYouMean(key, known) || inAPart(schema, path, known) || inAnotherSection(schema, key);
  return hint === '' && known.length > 0 ? `unknown key; allowed: ${known.join(', ')}` : `unknown key${hint}`;
}

/** The only list next to the key that may hold it in its items: `price` belongs to a model's `targets`. */
function inAPart(schema: z.ZodType, path: ConfigPath, known: readonly string[]): string {
  const [key, ...above] = [String(path.at(-1)), ...path.slice(0, -1)];
  const lists = known.filter((name) => knownKeys(schema, [...above, name, 0]).includes(key));
  return lists.length === 1 ? ` (did you mean '${key}' of an item of '${lists[0]}'?)` : '';
}

/** The one place where the file may have the key, at its top or in a section: `data_dir` belongs to `storage`. */
function inAnotherSection(schema: z.ZodType, key: string): string {
  const top = knownKeys(schema, []);
  const sections = top.filter((section) => knownKeys(schema, [section]).includes(key));
  const atTop = top.filter((name) => name === key).map((name) => `'${name}' at the top of the file`);
  const places = [...atTop, ...sections.map((section) => `'${section}.${key}'`)];
  return places.length === 1 ? ` (did you mean ${places[0]}?)` : '';
}

/** Entries of the tables that people name themselves, as the first pages write them. */
const entryForms: Readonly<Record<string, string>> = {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as culvert.yaml has it
  providers: 'openai: { type: openai, api_key: "${OPENAI_API_KEY}" }',
  models: 'smart: { targets: [openai/gpt-6.1-sol] }',
  plans: 'team: { rpm: 60 }',
  accounts: 'dev: { plan: team }',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as culvert.yaml has it
  keys: '{ key: "${DEV_KEY}", account: dev }',
  tiers: 'premium: { rpm: 20 }',
};

/** The right form of a mapping, where something else was given; '' for other kinds of values. */
function rightForm(schema: z.ZodType, expected: string, path: ConfigPath): string {
  if (expected !== 'object' && expected !== 'record') return '';
  const example = path.length <= 2 ? entryForms[String(path[0])] : undefined;
  if (example !== undefined) return `, such as ${example}`;
  const known = knownKeys(schema, path);
  return known.length === 0 ? '' : ` with ${known.join(', ')}`;
}

/** The intended branch of a union is the one whose kind of value was given. */
function unionProblems(
  schema: z.ZodType,
  issue: Extract<Issue, { code: 'invalid_union' }>,
  path: ConfigPath,
): PathProblem[] {
  const meant = issue.errors.find((issues) => issues.length > 0 && !issues.some((inner) => isOfAnotherKind(inner)));
  if (meant === undefined) return [{ path, message: issue.message }];
  return meant.flatMap((inner) => problemsOf(schema, inner, path));
}

function isOfAnotherKind(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping (key: value)',
  record: 'a mapping (key: value)',
  array: 'a list',
};

/** A longer list hides the name that was probably meant. */
const shownMax = 12;

/** Wording for whatever the schema itself has no words for. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${kinds[issue.expected] ?? issue.expected}`;
    case 'invalid_value': {
      const allowed = issue.values.map(String);
      const hint = typeof issue.input === 'string' ? didYouMean(issue.input, allowed) : '';
      if (hint !== '' && allowed.length > shownMax) return `expected one of ${allowed.length} words${hint}`;
      return `expected ${allowed.length > 1 ? 'one of ' : ''}${allowed.join(', ')}${hint}`;
    }
    case 'too_small':
    case 'too_big':
      return bound(issue);
    default:
      return undefined;
  }
}

function bound(issue: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig>): string {
  const low = issue.code === 'too_small';
  const limit = String(issue.code === 'too_small' ? issue.minimum : issue.maximum);
  const relation = issue.inclusive === false ? (low ? 'above' : 'below') : low ? 'at least' : 'at most';
  switch (issue.origin) {
    case 'string':
      return `expected ${relation} ${limit} character${limit === '1' ? '' : 's'}`;
    case 'array':
      return `expected ${relation} ${limit} item${limit === '1' ? '' : 's'}`;
    default:
      return `expected a number ${relation === 'at least' || relation === 'at most' ? `of ${relation}` : relation} ${limit}`;
  }
}

/** The schema without optional, default and transformation around it; a pipe gives the side that people write. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap());
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.in) : schema;
}

/** The keys that the object at `path` may have. */
export function knownKeys(schema: z.core.$ZodType, path: ConfigPath): string[] {
  return schemasAt(schema, path).flatMap((at) => (at instanceof z.ZodObject ? Object.keys(at.shape) : []));
}

/** Several when a union leads there. */
function schemasAt(schema: z.core.$ZodType, path: ConfigPath): z.core.$ZodType[] {
  const at = unwrap(schema);
  if (at instanceof z.ZodUnion) return at.options.flatMap((option) => schemasAt(option, path));
  const [step, ...rest] = path;
  if (step === undefined) return [at];
  if (at instanceof z.ZodObject) {
    const child = at.shape[String(step)];
    return child === undefined ? [] : schemasAt(child, rest);
  }
  if (at instanceof z.ZodRecord) return schemasAt(at.valueType, rest);
  if (at instanceof z.ZodArray) return schemasAt(at.element, rest);
  return [];
}
