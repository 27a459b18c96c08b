import { didYouMean } from '../kernel/nearest.ts';
import { aliasFor } from './alias-pattern.ts';
import type { PathProblem } from './problem.ts';
import type { Config, PromptConfig, PromptVersion } from './schema.ts';

/** Places of variables in the text of a prompt. */
export const placeholder = /\{\{\s*(\w+)\s*\}\}/g;

/** The versions of a prompt by their numbers. Other members of the prompt hold for each that does not set them. */
export function versionsOf({ versions, messages, ...ofAll }: PromptConfig): Map<number, PromptVersion> {
  const promptVersions: Record<string, PromptVersion> =
    messages === undefined ? (versions ?? {}) : { 1: { messages, variables: {}, parameters: {} } };
  return new Map(
    Object.entries(promptVersions).map(([number, version]) => {
      const model = version.model ?? ofAll.model;
      const variables = { ...ofAll.variables, ...version.variables };
      const parameters = { ...ofAll.parameters, ...version.parameters };
      return [
        Number(number),
        { messages: version.messages, variables, parameters, ...(model !== undefined && { model }) },
      ];
    }),
  );
}

/** The parts of `NAME@REF`; null: it has no ref. */
export function promptRef(named: string): { name: string; ref: string | null } {
  const [name = '', ...rest] = named.split('@');
  return { name, ref: rest.length === 0 ? null : rest.join('@') };
}

/** `ref`: a number or a label; null: the label `production`, or else the newest version. Undefined: there is none. */
export function versionNumber(prompt: PromptConfig, ref: string | null): number | undefined {
  const { labels } = prompt;
  if (ref === null) return labels.production ?? Math.max(...versionsOf(prompt).keys());
  if (/^\d+$/.test(ref)) return Number(ref);
  return Object.hasOwn(labels, ref) ? labels[ref] : undefined;
}

/** Labels name versions, texts name variables, and models are there. */
export function checkPrompts(config: Config): PathProblem[] {
  return Object.entries(config.prompts).flatMap(([name, prompt]) => {
    const versions = versionsOf(prompt);
    const numbers = [...versions.keys()];
    const path = ['prompts', name];
    const labels = Object.entries(prompt.labels)
      .filter(([, version]) => !versions.has(version))
      .map(([label]) => ({
        path: [...path, 'labels', label],
        message: `there is no such version, only ${numbers.join(', ')}`,
      }));
    const empty =
      numbers.length === 0 ? [{ path: [...path, 'versions'], message: 'expected at least one version' }] : [];
    const bodies = [...versions].flatMap(([number, version]) => {
      const at = prompt.messages === undefined ? [...path, 'versions', String(number)] : path;
      return checkVersion(config, version).map((problem) => ({ ...problem, path: [...at, ...problem.path] }));
    });
    return [...empty, ...labels, ...bodies];
  });
}

function checkVersion({ models, providers }: Config, { messages, variables, model }: PromptVersion): PathProblem[] {
  const problems: PathProblem[] = [];
  const names = Object.keys(variables);
  messages.forEach(({ content }, index) => {
    for (const [, name = ''] of content.matchAll(placeholder)) {
      if (Object.hasOwn(variables, name)) continue;
      const message = `{{${name}}} is no variable of this prompt${didYouMean(name, names)}`;
      problems.push({ path: ['messages', index, 'content'], message });
    }
  });
  for (const [name, variable] of Object.entries(variables)) {
    if (variable.default === undefined || typeof variable.default === variable.type) continue;
    problems.push({ path: ['variables', name, 'default'], message: `expected a ${variable.type}` });
  }
  // Models of the providers' lists count too, which nobody knows yet.
  const listed = Object.keys(models).length === 0 || Object.values(providers).some(({ all_models }) => all_models);
  const isNamed = model === undefined || listed || aliasFor(models, model) !== null;
  if (!isNamed)
    problems.push({ path: ['model'], message: `there is no such model${didYouMean(model, Object.keys(models))}` });
  return problems;
}
