import { cleanTag } from '../formats/neutral/tag.ts';
import { didYouMean } from '../kernel/nearest.ts';
import { isFault, readCondition } from '../rules/condition.ts';
import { aliasFor } from './alias-pattern.ts';
import { builtInModels } from './built-in-models.ts';
import type { PathProblem } from './problem.ts';
import type { Config, RouteConfig } from './schema.ts';

/** Conditions can be read, and models and targets are there. */
export function checkRoutes(config: Config, implicitProviders: readonly string[]): PathProblem[] {
  return Object.entries(config.routes).flatMap(([name, rule]) =>
    checkRule(config, rule, implicitProviders).map((problem) => ({
      ...problem,
      path: ['routes', name, ...problem.path],
    })),
  );
}

function checkRule(config: Config, rule: RouteConfig, implicitProviders: readonly string[]): PathProblem[] {
  const { when, model, ladder, classify, tag } = rule;
  const problems: PathProblem[] = [];
  if (when !== undefined) {
    const read = readCondition(when);
    if (isFault(read)) {
      const place = `line ${read.line}, column ${read.column} of the condition`;
      problems.push({ path: ['when'], message: `${place}: ${read.message}` });
    }
  }
  if (tag !== undefined && cleanTag(tag) !== tag) {
    problems.push({ path: ['tag'], message: 'a tag has no control characters, and no spaces around it' });
  }
  const unknown = (path: PathProblem['path'], named: string) => {
    if (isThere(config, named)) return;
    problems.push({ path, message: `there is no such model${didYouMean(named, Object.keys(config.models))}` });
  };
  if (model !== undefined) unknown(['model'], model);
  for (const [index, step] of (ladder?.steps ?? []).entries()) unknown(['ladder', 'steps', index, 'model'], step.model);
  for (const [index, one] of (classify?.classes ?? []).entries())
    unknown(['classify', 'classes', index, 'model'], one.model);
  if (classify?.otherwise !== undefined) unknown(['classify', 'otherwise'], classify.otherwise);
  if (classify !== undefined && !builtInModels.includes(classify.embedding_model))
    unknown(['classify', 'embedding_model'], classify.embedding_model);
  return [...problems, ...checkTargets(config, rule, implicitProviders)];
}

/** Models of the providers' lists count too, which nobody knows yet. */
function isThere({ models, providers }: Config, model: string): boolean {
  const listed = Object.keys(models).length === 0 || Object.values(providers).some(({ all_models }) => all_models);
  return !model.includes('*') && (listed || aliasFor(models, model) !== null);
}

function checkTargets({ models, providers }: Config, rule: RouteConfig, implicit: readonly string[]): PathProblem[] {
  const providerNames = Object.keys(providers);
  const known = providerNames.length > 0 ? providerNames : implicit;
  const moved = rule.model === undefined ? null : (aliasFor(models, rule.model)?.model ?? null);
  return (rule.targets ?? []).flatMap((named, index): PathProblem[] => {
    const path = ['targets', index];
    const provider = known.find((each) => named === each || named.startsWith(`${each}/`));
    if (provider === undefined) {
      return [{ path, message: `there is no such provider${didYouMean(named.split('/')[0] ?? '', known)}` }];
    }
    const there = moved?.targets.map((target) => `${target.provider}/${target.model}`) ?? [];
    const fits = moved === null || there.some((target) => isTarget(named, target)) || moved.fallbacks.length > 0;
    if (fits || there.some((target) => target.includes('*'))) return [];
    return [{ path, message: `the model '${rule.model}' has no such target${didYouMean(named, there)}` }];
  });
}

/** Whether a rule's `provider/model` or `provider` names this target. */
export function isTarget(named: string, target: string): boolean {
  return named === target || target.startsWith(`${named}/`);
}
