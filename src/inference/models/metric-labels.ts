import { starOf } from '../../config/alias-pattern.ts';
import type { Config } from '../../config/schema.ts';
import type { Alias } from './model-table.ts';

/**
 * How models and targets are called in metrics: by names that stand in the configuration, or that a provider lists where
 * it names none. Callers name what they like below a pattern; each such name would be a series for ever.
 */
export interface MetricLabels {
  /** Of the configuration. */
  readonly patterns: readonly string[];
  /** The alias itself; of what a pattern matched, the pattern; `other` for what this configuration does not know. */
  modelOf(alias: string): string;
  /** The target itself; `provider/claude-*` for what a pattern made; '' for none. */
  targetOf(target: string | null): string;
}

/** What is in no configuration (any more). */
const unknown = 'other';
/** Labels of made-up names that are kept: working one out again costs a microsecond for each pattern. */
const keptMax = 1_000;

/** `aliases`: all but what patterns matched. */
export function createMetricLabels(models: Config['models'], aliases: Iterable<Alias>): MetricLabels {
  const patterns = Object.entries(models).filter(([id]) => id.includes('*'));
  const ofModels = new Map([['', '']]);
  const ofTargets = new Map<string, string>();
  for (const { id, candidates } of aliases) {
    ofModels.set(id, id);
    for (const { target } of candidates) ofTargets.set(target.id, target.id);
  }
  const madeUp = { models: new Map<string, string>(), targets: new Map<string, string>() };

  function patternOf(alias: string): string {
    return patterns.find(([pattern]) => starOf(pattern, alias) !== null)?.[0] ?? unknown;
  }

  function targetPatternOf(target: string): string {
    const slash = target.indexOf('/');
    const [provider, model] = [target.slice(0, slash), target.slice(slash + 1)];
    for (const [, { targets }] of patterns)
      for (const made of targets)
        if (made.provider === provider && starOf(made.model, model) !== null) return `${provider}/${made.model}`;
    return unknown;
  }

  return {
    patterns: patterns.map(([id]) => id),
    modelOf: (alias) => ofModels.get(alias) ?? kept(madeUp.models, alias, patternOf),
    targetOf: (target) =>
      target === null ? '' : (ofTargets.get(target) ?? kept(madeUp.targets, target, targetPatternOf)),
  };
}

function kept(labels: Map<string, string>, name: string, make: (name: string) => string): string {
  let label = labels.get(name);
  if (label === undefined) {
    if (labels.size >= keptMax) labels.clear();
    label = make(name);
    labels.set(name, label);
  }
  return label;
}
