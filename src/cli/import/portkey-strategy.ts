import { isObject, listIn, objectIn } from '../../kernel/json.ts';
import { noteLeftOut } from './import-fields.ts';
import { listOfTexts } from './plain-values.ts';
import { type Config, fields, withSnakeCase } from './portkey-fields.ts';

/** A target that names a provider, and when it is asked. */
export interface Leaf extends Config {
  priority: number;
  weight: number;
}

/** Settings that targets have of what surrounds them. */
const inherited = ['request_timeout', 'custom_host'];
/** Settings that it has too, unless it names a provider itself: a key must not go to another one. */
const credentials = ['provider', 'virtual_key', 'api_key'];

/** Weights below it are as good as none. */
const weightMin = 1e-6;

/**
 * The models that a config becomes. A conditional one has several: one for each model that a condition names, and for
 * each target whose condition Culvert cannot decide, which callers then name themselves.
 */
export function branchesOf(config: Config): Config[] {
  const { fields: of, path, name, values } = config;
  const strategy = objectIn(of.strategy);
  if (strategy.mode !== 'conditional') return [config];
  noteLeftOut(of, fields, path, values.notes);
  // The first of a name counts.
  const targets = new Map(
    targetsOf(config)
      .toReversed()
      .map((target) => [target.fields.name, target]),
  );
  const branches: Config[] = [];
  const undecided = new Set<unknown>();
  for (const [index, condition] of listIn(strategy.conditions).entries()) {
    const at = [...path, 'strategy', 'conditions', index];
    const { query, then } = objectIn(condition);
    const target = targets.get(then);
    const models = modelsOfQuery(query);
    if (target === undefined) values.notes.add(at, `not carried over: there is no target ${String(then)}`);
    else if (models !== null) branches.push(...models.map((model) => ({ ...target, name: model })));
    else if (!undecided.has(then)) {
      undecided.add(then);
      const alias = `${name}/${String(then)}`;
      values.notes.add(at, `Culvert has no such condition: callers choose the model ${alias} themselves`);
      branches.push({ ...target, name: alias });
    }
  }
  const otherwise = targets.get(strategy.default);
  return otherwise === undefined ? branches : [...branches, { ...otherwise, name }];
}

/** Names of the models that it asks for, with a `*` behind a beginning; null where it asks for anything else. */
function modelsOfQuery(query: unknown): string[] | null {
  const [[member, condition] = [], second] = Object.entries(objectIn(query));
  if (second !== undefined) return null;
  if (member === '$or' && Array.isArray(condition)) {
    const all = condition.map(modelsOfQuery);
    return all.includes(null) ? null : all.flatMap((one) => one ?? []);
  }
  if (member !== 'params.model') return null;
  if (typeof condition === 'string') return [condition];
  const [[operator, value] = [], another] = Object.entries(objectIn(condition));
  if (another !== undefined) return null;
  if (operator === '$eq' && typeof value === 'string') return [value];
  if (operator === '$in' && Array.isArray(value)) return listOfTexts(value);
  const beginning = operator === '$regex' ? /^\^([\w./:-]+)(\.\*\$?)?$/.exec(String(value))?.[1] : undefined;
  return beginning === undefined ? null : [`${beginning}*`];
}

/**
 * Targets in the order of a strategy: of `fallback` one priority after the other, of `loadbalance` one priority with
 * weights, also inside each other. What surrounds a target holds for it where it says nothing itself.
 */
export function leavesOf(at: Leaf): { leaves: Leaf[]; next: number } {
  const { path, priority, weight } = at;
  const { notes } = at.values;
  const { mode, default: otherwise } = objectIn(at.fields.strategy);
  const targets = targetsOf(at);
  if (targets.length === 0) return { leaves: [at], next: priority + 1 };
  noteLeftOut(at.fields, fields, path, notes);
  const leaves: Leaf[] = [];
  let next = priority;
  if (mode === 'loadbalance') {
    const shares = targets.map(({ fields: { weight } }) => (typeof weight === 'number' && weight >= 0 ? weight : 1));
    const sum = shares.reduce((all, share) => all + share, 0);
    for (const [index, target] of targets.entries()) {
      const share = shares[index] ?? 0;
      if (share === 0) {
        notes.add(target.path, 'this target is not carried over: its weight is 0');
        continue;
      }
      const inner = leavesOf({ ...target, priority, weight: Math.max(weightMin, (weight * share) / sum) });
      leaves.push(...inner.leaves);
      if (inner.next > priority + 1) {
        notes.add(target.path, 'its fallbacks come after all targets of the load balancer, not after this one');
      }
      next = Math.max(next, inner.next);
    }
    return { leaves, next };
  }
  if (mode === 'conditional') {
    notes.add([...path, 'strategy'], 'a condition inside another strategy is not carried over: its default is taken');
  }
  if (mode === 'sample') {
    notes.add([...path, 'strategy'], 'changed: its targets are asked one after the other, and not all at once');
  }
  const taken = mode === 'conditional' ? targets.filter(({ fields: { name } }) => name === otherwise) : targets;
  for (const target of mode === undefined || mode === 'single' ? taken.slice(0, 1) : taken) {
    const inner = leavesOf({ ...target, priority: next, weight });
    leaves.push(...inner.leaves);
    next = inner.next;
  }
  return { leaves, next };
}

function targetsOf(config: Config): Config[] {
  const { fields: outer, path } = config;
  return listIn(outer.targets).flatMap((target, index) => {
    if (!isObject(target)) return [];
    const inner = withSnakeCase(target);
    const names = credentials.some((name) => inner[name] != null) ? inherited : [...inherited, ...credentials];
    const from = Object.fromEntries(Object.entries(outer).filter(([name]) => names.includes(name)));
    const params = { ...objectIn(outer.override_params), ...objectIn(inner.override_params) };
    return [{ ...config, fields: { ...from, ...inner, override_params: params }, path: [...path, 'targets', index] }];
  });
}
