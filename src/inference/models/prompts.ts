import { placeholder, versionNumber, versionsOf } from '../../config/cross-check-prompts.ts';
import type { Config, PromptVersion } from '../../config/schema.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { JsonValue } from '../../kernel/json.ts';
import { didYouMean } from '../../kernel/nearest.ts';
import type { PromptMessage } from './prompted-body.ts';

/** The prompts of a configuration. */
export interface PromptTable {
  names: readonly string[];
  /** `ref`: a version or a label; null: the label `production`, or else the newest version. Null: nobody has the prompt. */
  find(name: string, ref: string | null): FoundPrompt | Failure | null;
}

export interface FoundPrompt extends PromptVersion {
  name: string;
  number: number;
}

/** Null: there are none. */
export function promptTable(prompts: Config['prompts']): PromptTable | null {
  const names = Object.keys(prompts);
  if (names.length === 0) return null;
  const all = new Map(
    Object.entries(prompts).map(([name, prompt]) => [name, { prompt, versions: versionsOf(prompt) }]),
  );
  return {
    names,
    find(name, ref) {
      const found = all.get(name);
      if (found === undefined) return null;
      const number = versionNumber(found.prompt, ref);
      const version = number === undefined ? undefined : found.versions.get(number);
      if (number !== undefined && version !== undefined) return { ...version, name, number };
      const known = [...Object.keys(found.prompt.labels), ...[...found.versions.keys()].map(String)];
      const shown = (ref ?? '').slice(0, 64);
      return {
        kind: 'not-found',
        message: `The prompt '${name}' has no version or label '${shown}'${didYouMean(shown, known)}.`,
        param: 'prompt',
      };
    },
  };
}

/** Characters of a filled prompt: a value may be used many times. */
const filledCharsMax = 2_000_000;

/**
 * The messages of a prompt with these values in their places. Each value goes in as text, and nobody reads it for
 * further variables. The failure names the variable.
 */
export function filled(
  { name, messages, variables }: FoundPrompt,
  values: Readonly<Record<string, JsonValue>>,
): PromptMessage[] | Failure {
  const names = Object.keys(variables);
  for (const given of Object.keys(values)) {
    if (Object.hasOwn(variables, given)) continue;
    const shown = given.slice(0, 64);
    return invalid(
      `prompt.variables.${shown}`,
      `The prompt '${name}' has no variable '${shown}'${didYouMean(shown, names)}.`,
    );
  }
  const texts = new Map<string, string>();
  for (const [variable, { type, default: usual }] of Object.entries(variables)) {
    const value = Object.hasOwn(values, variable) ? values[variable] : usual;
    const param = `prompt.variables.${variable}`;
    if (value === undefined) {
      return invalid(param, `The prompt '${name}' needs the variable '${variable}'. Send it in 'prompt.variables'.`);
    }
    if (typeof value !== type)
      return invalid(param, `The variable '${variable}' of the prompt '${name}' is a ${type}.`);
    texts.set(variable, String(value));
  }
  let chars = 0;
  const result: PromptMessage[] = [];
  for (const { role, content } of messages) {
    for (const [, variable = ''] of content.matchAll(placeholder)) chars += texts.get(variable)?.length ?? 0;
    chars += content.length;
    if (chars > filledCharsMax) {
      return invalid(
        'prompt.variables',
        `The prompt '${name}' has more than ${filledCharsMax} characters with these values.`,
      );
    }
    result.push({ role, content: content.replace(placeholder, (_, variable: string) => texts.get(variable) ?? '') });
  }
  return result;
}
