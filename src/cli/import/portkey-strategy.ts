import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { Notes, Path } from './notes.ts';
import { listOfTexts, objectOf } from './plain-values.ts';

/** Model of ours that one condition of a config leads to. */
export interface Branch {
  alias: string;
  config: JsonObject;
  path: Path;
}

/** A target that names a provider, and when it is asked. */
export interface Leaf {
  config: JsonObject;
  path: Path;
  priority: number;
  weight: number;
}

/** Members of configs and targets that have no place here, and what does their work. */
const leftOut: Readonly<Record<string, string>> = {
  cache: 'models.NAME.cache caches answers (docs/caching.md)',
  input_guardrails: 'guards of a model, a plan or server check texts (docs/guards.md)',
  output_guardrails: 'guards of a model, a plan or server check texts (docs/guards.md)',
  default_input_guardrails: 'guards of a model, a plan or server check texts (docs/guards.md)',
  default_output_guardrails: 'guards of a model, a plan or server check texts (docs/guards.md)',
  before_request_hooks: 'guards of a model, a plan or server check texts (docs/guards.md)',
  after_request_hooks: 'guards of a model, a plan or server check texts (docs/guards.md)',
  forward_headers: 'providers get only the headers of the configuration',
  metadata: 'callers send x-culvert-tag',
  model_pricing_config: 'write price into the target',
};

/** Weights below it are as good as none. */
const weightMin = 1e-6;

/** Portkey takes `overrideParams` and `override_params`. */
export function withSnakeCase(config: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  );
}

/**
 * The models that a config becomes. A conditional one has several: one for each model that a condition names, and for
 * each target whose condition Culvert cannot decide, which callers then name themselves.
 */
export function branchesOf(config: JsonObject, path: Path, name: string, notes: Notes): Branch[] {
  const strategy = objectOf(config.strategy);
  if (strategy.mode !== 'conditional') return [{ alias: name, config, path }];
  noteLeftOut(config, path, notes);
  const targets = targetsOf(config, path);
  const targetNamed = (targetName: unknown) => targets.find(({ config: { name } }) => name === targetName);
  const branches: Branch[] = [];
  const taken = new Set<unknown>();
  const conditions = Array.isArray(strategy.conditions) ? strategy.conditions : [];
  for (const [index, condition] of conditions.entries()) {
    const at = [...path, 'strategy', 'conditions', index];
    const { query, then } = objectOf(condition);
    const target = targetNamed(then);
    if (target === undefined) {
      notes.add(at, `not carried over: there is no target ${String(then)}`);
      continue;
    }
    const aliases = modelsOfQuery(query);
    if (aliases !== null) branches.push(...aliases.map((alias) => ({ ...target, alias })));
    else if (!taken.has(then)) {
      const alias = `${name}/${String(then)}`;
      notes.add(at, `Culvert has no such condition: callers choose the model ${alias} themselves`);
      branches.push({ ...target, alias });
      taken.add(then);
    }
  }
  const otherwise = targetNamed(strategy.default);
  return otherwise === undefined ? branches : [...branches, { ...otherwise, alias: name }];
}

/** Names of the models that it asks for, with a `*` behind a beginning; null where it asks for anything else. */
function modelsOfQuery(query: unknown): string[] | null {
  const entries = Object.entries(objectOf(query));
  const [[member, condition] = []] = entries;
  if (entries.length !== 1 || member !== 'params.model') {
    const inner =
      member === '$or' && entries.length === 1 && Array.isArray(condition) ? condition.map(modelsOfQuery) : [null];
    return inner.some((one) => one === null) ? null : inner.flatMap((one) => one ?? []);
  }
  if (typeof condition === 'string') return [condition];
  const operators = Object.entries(objectOf(condition));
  const [[operator, value] = []] = operators;
  if (operators.length !== 1) return null;
  if (operator === '$eq' && typeof value === 'string') return [value];
  if (operator === '$in' && Array.isArray(value)) return listOfTexts(value);
  const beginning = operator === '$regex' ? /^\^([\w./:-]+)(\.\*\$?)?$/.exec(String(value))?.[1] : undefined;
  return beginning === undefined ? null : [`${beginning}*`];
}

/**
 * Targets in the order of a strategy: of `fallback` one priority after the other, of `loadbalance` one priority with
 * weights, also inside each other. What surrounds a target holds for it where it says nothing itself.
 */
export function leavesOf({ config, path }: Branch, notes: Notes): Leaf[] {
  return spread({ config, path, priority: 1, weight: 1 }, notes).leaves;
}

function spread(at: Leaf, notes: Notes): { leaves: Leaf[]; next: number } {
  const { config, path, priority, weight } = at;
  noteLeftOut(config, path, notes);
  const targets = targetsOf(config, path);
  if (targets.length === 0) return { leaves: [at], next: priority + 1 };
  const { mode, on_status_codes: codes } = objectOf(config.strategy);
  if (codes !== undefined) {
    notes.add([...path, 'strategy', 'on_status_codes'], 'not carried over: which failures count is built in');
  }
  const leaves: Leaf[] = [];
  let next = priority;
  if (mode === 'loadbalance') {
    const shareOf = ({ config: { weight } }: (typeof targets)[0]) =>
      typeof weight === 'number' && weight >= 0 ? weight : 1;
    const sum = targets.reduce((all, target) => all + shareOf(target), 0);
    for (const target of targets) {
      const share = shareOf(target);
      if (share === 0) notes.add(target.path, 'this target is not carried over: its weight is 0');
      else {
        const inner = spread({ ...target, priority, weight: Math.max(weightMin, (weight * share) / sum) }, notes);
        leaves.push(...inner.leaves);
        if (inner.next > priority + 1) {
          notes.add(target.path, 'its fallbacks come after all targets of the load balancer, not after this one');
        }
        next = Math.max(next, inner.next);
      }
    }
    return { leaves, next };
  }
  if (mode === 'conditional') {
    notes.add([...path, 'strategy'], 'a condition inside another strategy is not carried over: its default is taken');
  }
  const { default: otherwise } = objectOf(config.strategy);
  const single = mode === 'single' || mode === undefined;
  const first = mode === 'conditional' ? targets.filter(({ config: { name } }) => name === otherwise) : targets;
  for (const target of single ? first.slice(0, 1) : first) {
    const inner = spread({ ...target, priority: next, weight }, notes);
    leaves.push(...inner.leaves);
    next = inner.next;
  }
  return { leaves, next };
}

/** Settings that targets have of what surrounds them. */
const inherited = ['request_timeout', 'custom_host', 'provider', 'virtual_key', 'api_key', 'override_params'];

function targetsOf(config: JsonObject, path: Path): { config: JsonObject; path: Path }[] {
  const from = Object.fromEntries(
    inherited.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])),
  );
  return (Array.isArray(config.targets) ? config.targets : []).flatMap((target, index) =>
    isObject(target) ? [{ config: { ...from, ...withSnakeCase(target) }, path: [...path, 'targets', index] }] : [],
  );
}

function noteLeftOut(config: JsonObject, path: Path, notes: Notes): void {
  for (const [name, why] of Object.entries(leftOut)) {
    if (config[name] !== undefined) notes.add([...path, name], `not carried over: ${why}`);
  }
  if (objectOf(config.retry).on_status_codes !== undefined) {
    notes.add([...path, 'retry', 'on_status_codes'], 'not carried over: which failures count is built in');
  }
}
