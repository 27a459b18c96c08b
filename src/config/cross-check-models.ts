import { didYouMean } from '../kernel/nearest.ts';
import { aliasFor } from './alias-pattern.ts';
import { builtInModels, builtInProvider } from './built-in-models.ts';
import { promptRef, versionNumber, versionsOf } from './cross-check-prompts.ts';
import type { PathProblem } from './problem.ts';
import type { Config, ModelConfig } from './schema.ts';

/**
 * Targets name providers, fallbacks name aliases without going round, and vector spaces do not mix. Implicit providers
 * exist only where the file names none itself.
 */
export function checkModels(config: Config, implicitProviders: readonly string[]): PathProblem[] {
  const problems: PathProblem[] = [];
  const providerNames = Object.keys(config.providers);
  const providers = providerNames.length > 0 ? providerNames : implicitProviders;
  const named = new Set(providers);
  for (const [alias, model] of Object.entries(config.models)) {
    model.targets.forEach((target, index) => {
      const path = ['models', alias, 'targets', index];
      if (target.provider === builtInProvider) {
        if (!builtInModels.includes(target.model)) {
          problems.push({
            path,
            message: `${builtInProvider} itself has no such model, only ${builtInModels.join(', ')}`,
          });
        }
      } else if (!named.has(target.provider)) {
        problems.push({ path, message: `there is no such provider${didYouMean(target.provider, providers)}` });
      }
      if (target.model.includes('*') && !alias.includes('*')) {
        problems.push({ path, message: 'a * in a target needs a * in the alias, because it repeats the match' });
      }
    });
    problems.push(...checkVariants(config, alias, model, providers), ...checkShadow(config, alias, model, providers));
    problems.push(...checkFallbacks(config, alias, model), ...checkSpaces(config, alias, model));
    problems.push(...checkSemantic(config, alias, model), ...checkSharedAnswers(config, alias, model));
  }
  return problems;
}

/** Answers that a caller's own subscription gave are no others'. */
function checkSharedAnswers({ providers }: Config, alias: string, { cache, targets }: ModelConfig): PathProblem[] {
  if (cache === undefined || cache.scope === 'key') return [];
  const found = targets.find(({ provider }) => providers[provider]?.caller_credential === true);
  if (found === undefined) return [];
  const message = `must be key: provider ${found.provider} is asked with callers' own credentials`;
  return [{ path: ['models', alias, 'cache', 'scope'], message }];
}

function checkVariants(
  config: Config,
  alias: string,
  { type, variants = {}, rollback }: ModelConfig,
  providers: readonly string[],
): PathProblem[] {
  const path = ['models', alias, 'variants'];
  const all = Object.entries(variants);
  const problems: PathProblem[] = [];
  if (Object.hasOwn(variants, shadowVariant)) {
    problems.push({ path: [...path, shadowVariant], message: 'give it another name: this one is of `shadow`' });
  }
  if (rollback !== undefined && all.length < 2) {
    problems.push({ path: ['models', alias, 'rollback'], message: 'needs at least two variants to compare' });
  }
  if (all.length > 0 && type !== 'chat') problems.push({ path, message: 'only a model of type chat has variants' });
  if (all.length > 0 && all.every(([, { weight }]) => weight === 0)) {
    problems.push({ path, message: 'at least one variant needs a weight above 0' });
  }
  for (const [name, { targets = [], prompt }] of all) {
    targets.forEach(({ provider, model }, index) => {
      const at = [...path, name, 'targets', index];
      const isBuiltIn = provider === builtInProvider && builtInModels.includes(model);
      if (!isBuiltIn && !providers.includes(provider)) {
        problems.push({ path: at, message: `there is no such provider${didYouMean(provider, providers)}` });
      }
      if (model.includes('*') && !alias.includes('*')) {
        problems.push({ path: at, message: 'a * in a target needs a * in the alias, because it repeats the match' });
      }
    });
    const problem = prompt === undefined ? null : promptProblem(config, prompt);
    if (problem !== null) problems.push({ path: [...path, name, 'prompt'], message: problem });
  }
  return problems;
}

/** The variant of requests that are shadows. */
export const shadowVariant = 'shadow';

function checkShadow(
  { models }: Config,
  alias: string,
  { type, shadow }: ModelConfig,
  providers: readonly string[],
): PathProblem[] {
  if (shadow === undefined) return [];
  const path = ['models', alias, 'shadow'];
  const { targets, model } = shadow;
  if (type !== 'chat') return [{ path, message: 'only a model of type chat has a shadow' }];
  if ((targets === undefined) === (model === undefined)) return [{ path, message: 'expected either targets or model' }];
  const other = model === undefined ? null : aliasFor(models, model);
  if (model !== undefined && (other === null || other.model.type !== 'chat')) {
    const message =
      other === null ? `there is no such model${didYouMean(model, Object.keys(models))}` : 'it is not of type chat';
    return [{ path: [...path, 'model'], message }];
  }
  return (targets ?? []).flatMap(({ provider, model: id }, index) => {
    const isBuiltIn = provider === builtInProvider && builtInModels.includes(id);
    if (isBuiltIn || providers.includes(provider)) return [];
    const message = `there is no such provider${didYouMean(provider, providers)}`;
    return [{ path: [...path, 'targets', index], message }];
  });
}

function promptProblem({ prompts }: Config, named: string): string | null {
  const { name, ref } = promptRef(named);
  const prompt = Object.hasOwn(prompts, name) ? prompts[name] : undefined;
  if (prompt === undefined) return `there is no such prompt${didYouMean(name, Object.keys(prompts))}`;
  const number = versionNumber(prompt, ref);
  const version = number === undefined ? undefined : versionsOf(prompt).get(number);
  if (version === undefined) return `the prompt has no version or label '${ref}'`;
  const lacking = Object.entries(version.variables).find(([, variable]) => variable.default === undefined);
  return lacking === undefined ? null : `the variable '${lacking[0]}' of this prompt needs a default`;
}

function checkFallbacks(config: Config, alias: string, model: ModelConfig): PathProblem[] {
  const problems: PathProblem[] = [];
  model.fallbacks.forEach((fallback, index) => {
    const path = ['models', alias, 'fallbacks', index];
    if (fallback.includes('*') && !alias.includes('*')) {
      problems.push({ path, message: 'a * in a fallback needs a * in the alias, because it repeats the match' });
      return;
    }
    const found = aliasFor(config.models, fallback);
    if (found === null) {
      problems.push({ path, message: `there is no such model${didYouMean(fallback, Object.keys(config.models))}` });
    } else if (found.alias === alias || reaches(config, found.alias, alias)) {
      problems.push({ path, message: 'this fallback leads back to the model itself' });
    } else if (found.model.type !== model.type) {
      problems.push({
        path,
        message: `a model of type ${model.type} cannot fall back to one of type ${found.model.type}`,
      });
    }
  });
  return problems;
}

function checkSemantic(config: Config, alias: string, { type, cache }: ModelConfig): PathProblem[] {
  const { semantic } = cache ?? {};
  if (semantic === undefined) return [];
  const path = ['models', alias, 'cache', 'semantic'];
  if (type !== 'chat') return [{ path, message: 'only a model of type chat answers similar questions' }];
  return (['model', 'judge'] as const).flatMap((member): PathProblem[] => {
    const name = semantic[member];
    if (name === undefined) return [];
    const found = aliasFor(config.models, name);
    const requiredKind = member === 'model' ? 'embedding' : 'chat';
    if (found === null) {
      const message = `there is no such model${didYouMean(name, Object.keys(config.models))}`;
      return [{ path: [...path, member], message }];
    }
    return found.model.type === requiredKind
      ? []
      : [{ path: [...path, member], message: `needs a model of type ${requiredKind}` }];
  });
}

function reaches(config: Config, from: string, goal: string): boolean {
  const seen = new Set([from]);
  // A set also visits what is added while it is walked, so this visits every model that `from` can fall back to, once.
  for (const alias of seen) {
    for (const fallback of config.models[alias]?.fallbacks ?? []) {
      const next = aliasFor(config.models, fallback)?.alias ?? null;
      if (next === goal) return true;
      if (next !== null) seen.add(next);
    }
  }
  return false;
}

/** Vectors of different models cannot be compared: with several places to run, all must say the same space. */
function checkSpaces(config: Config, alias: string, model: ModelConfig): PathProblem[] {
  if (model.type !== 'embedding') return [];
  const spaces = spacesOf(model);
  const problems: PathProblem[] = [];
  if (model.targets.length > 1 && (spaces.size > 1 || spaces.has(undefined))) {
    problems.push({
      path: ['models', alias, 'targets'],
      message: 'several targets of an embedding model must declare the same space, on the model or on each',
    });
  }
  model.fallbacks.forEach((fallback, index) => {
    const other = aliasFor(config.models, fallback)?.model;
    if (other === undefined || other.type !== 'embedding') return;
    const both = new Set([...spaces, ...spacesOf(other)]);
    if (both.size === 1 && !both.has(undefined)) return;
    problems.push({
      path: ['models', alias, 'fallbacks', index],
      message: 'an embedding model and its fallback must declare the same space',
    });
  });
  return problems;
}

function spacesOf(model: ModelConfig): Set<string | undefined> {
  return new Set(model.targets.map((target) => target.space ?? model.space));
}
