import type { JsonObject } from '../../kernel/json.ts';
import { type Deployment, isModelName, nameRule } from './litellm-deployment.ts';
import type { Settings } from './litellm-settings.ts';
import type { Notes } from './notes.ts';
import { plain } from './plain-values.ts';

/** The schema's own. */
const targetsMax = 100;
const weightMin = 0.001;
export const attemptsMax = 8;
export const attemptsDefault = 4;

/** By alias, as `models:` holds them: names first, then patterns, the narrowest first, since the first that fits is taken. */
export function importModels(
  deployments: readonly Deployment[],
  settings: Settings,
  providerOf: (deployment: Deployment) => string,
  notes: Notes,
): Record<string, JsonObject> {
  const groups = new Map<string, Deployment[]>();
  for (const deployment of deployments)
    groups.set(deployment.alias, [...(groups.get(deployment.alias) ?? []), deployment]);
  for (const { alias, of, path } of settings.aliases) {
    const group = groups.get(of);
    if (group === undefined) notes.add(path, `not carried over: there is no model ${of} here`);
    else if (!isModelName(alias)) notes.add(path, `not carried over: ${nameRule}`);
    else if (!alias.includes('*') && group.some(({ model }) => model.includes('*'))) {
      notes.add(path, 'not carried over: a pattern can only be called by a pattern');
    } else if (groups.has(alias)) notes.add(path, 'not carried over: a model has this name');
    else groups.set(alias, group);
  }
  const models: Record<string, JsonObject> = {};
  for (const [alias, group] of [...groups].toSorted(([a], [b]) => narrowestFirst(a, b))) {
    models[alias] = modelOf(alias, group, settings, providerOf, notes);
  }
  return models;
}

function narrowestFirst(a: string, b: string): number {
  const width = (alias: string) => (alias.includes('*') ? 1_000 - alias.length : 0);
  return width(a) - width(b);
}

function modelOf(
  alias: string,
  group: readonly Deployment[],
  { attempts }: Settings,
  providerOf: (deployment: Deployment) => string,
  notes: Notes,
): JsonObject {
  const type = group.find(({ facts }) => facts.type !== null)?.facts.type ?? 'chat';
  const alike = group.filter((deployment) => {
    if (deployment.facts.type === type || deployment.facts.type === null) return true;
    notes.add(deployment.path, `this model is not carried over: the others of ${alias} are of type ${type}`);
    return false;
  });
  const targets = type === 'embedding' ? ofOneSpace(alias, alike, notes) : alike;
  for (const { path } of targets.slice(targetsMax)) {
    notes.add(path, `this model is not carried over: a model has at most ${targetsMax} targets`);
  }
  const limited = targets.slice(0, targetsMax);
  const dimensions = limited.find(({ facts }) => facts.dimensions !== null)?.facts.dimensions ?? null;
  return {
    ...(type !== 'chat' && { type }),
    targets: limited.map((target) =>
      targetOf(target, priorityOf(target, limited), weightOf(target, limited, notes), providerOf(target)),
    ),
    ...(attempts !== null && { attempts }),
    ...(dimensions !== null && { dimensions }),
    ...(type === 'embedding' && limited.length > 1 && { space: alias.replace('*', 'any').slice(0, 64) }),
  };
}

function targetOf(deployment: Deployment, priority: number, weight: number, provider: string): string | JsonObject {
  const { model, timeouts, body, facts } = deployment;
  const more: JsonObject = {
    ...(priority !== 1 && { priority }),
    ...(weight !== 1 && { weight }),
    ...(Object.keys(facts.price).length > 0 ? { price: { ...facts.price } } : pricedAs(deployment)),
    ...(facts.contextWindow !== null && { context_window: facts.contextWindow }),
    ...(facts.maxOutputTokens !== null && { max_output_tokens: facts.maxOutputTokens }),
    ...(Object.keys(facts.capabilities).length > 0 && { capabilities: { ...facts.capabilities } }),
    ...(Object.keys(timeouts).length > 0 && { timeouts: { ...timeouts } }),
    ...(Object.keys(body).length > 0 && { body }),
  };
  return Object.keys(more).length === 0 ? `${provider}/${model}` : { provider, model, ...more };
}

/** LiteLLM takes the price of `base_model`, which may begin with the name of its service. */
function pricedAs({ baseModel, model }: Deployment): JsonObject {
  const name = baseModel?.replace(/^.*\//, '') ?? '';
  return name === '' || name === model || !isModelName(name) ? {} : { priced_as: plain(name) };
}

/** Rank of its order. LiteLLM asks those without one last. */
function priorityOf({ order }: Deployment, all: readonly Deployment[]): number {
  const before = all.flatMap((other) => (other.order !== null && other.order < (order ?? Infinity) ? other.order : []));
  return new Set(before).size + 1;
}

/** Relative to the largest of its model. The first one of an order says what counts, as at LiteLLM; 1 where it has nothing. */
function weightOf({ share, order, path }: Deployment, all: readonly Deployment[], notes: Notes): number {
  const by = all.find((other) => other.order === order)?.share?.by;
  if (by === undefined) return 1;
  const largest = Math.max(...all.map((other) => (other.share?.by === by ? other.share.amount : 0)));
  if (share?.by !== by) notes.add(path, `without a ${by}, LiteLLM asks it in need alone: its weight is ${weightMin}`);
  const amount = share?.by === by ? share.amount : 0;
  return largest > 0 ? Math.max(weightMin, Math.round((amount / largest) * 1_000) / 1_000) : 1;
}

/** Vectors of different models cannot be compared, so only copies of one model replace each other. */
function ofOneSpace(alias: string, group: readonly Deployment[], notes: Notes): readonly Deployment[] {
  const [first] = group;
  if (first === undefined) return group;
  const spaceOf = ({ baseModel, model }: Deployment) => (baseModel ?? model).replace(/^.*\//, '');
  const free = ({ provider, baseModel }: Deployment) => provider.type === 'azure-openai' && baseModel === null;
  return group.filter((deployment) => {
    if (spaceOf(deployment) === spaceOf(first)) return true;
    if (free(deployment) || free(first)) {
      notes.add(
        deployment.path,
        `taken to be the same model as the others of ${alias}, since Azure's names do not say`,
      );
      return true;
    }
    notes.add(deployment.path, `this model is not carried over: its vectors are not those of the others of ${alias}`);
    return false;
  });
}
