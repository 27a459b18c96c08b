import { CommandFailed } from './command-failed.ts';

/** A data rule as the admin API merges it into one: what it leaves out of the earlier rule is removed. */
export interface DataRulePatch {
  regions: string[] | null;
  no_training: boolean;
  zero_retention: boolean;
}

/** Form of the words of a data rule, for help and messages. */
export const dataRuleForm = 'region=eu no-training zero-retention';

/** A data rule from words such as `region=eu` and `no-training`; null without a word. */
export function dataRuleOf(words: readonly string[]): DataRulePatch | null {
  if (words.length === 0) return null;
  const regions = words.flatMap((word) => /^region=(.+)$/.exec(word)?.[1] ?? []);
  const unknown = words.find((word) => !/^region=.|^no-training$|^zero-retention$/.test(word));
  if (unknown !== undefined) {
    throw new CommandFailed(`'${unknown}' is no part of a data rule. Write one as ${dataRuleForm}.`, 2);
  }
  return {
    regions: regions.length === 0 ? null : regions,
    no_training: words.includes('no-training'),
    zero_retention: words.includes('zero-retention'),
  };
}

/** The words of a rule as the admin API has it; none for null. */
export function dataRuleWords(rule: unknown): string[] {
  const { regions = [], no_training, zero_retention } = (rule ?? {}) as Partial<DataRulePatch>;
  return [
    ...(regions ?? []).map((region) => `region=${region}`),
    ...(no_training === true ? ['no-training'] : []),
    ...(zero_retention === true ? ['zero-retention'] : []),
  ];
}

/** A data rule from a text whose words have commas between them; null for `none`. */
export function dataRuleIn(text: string): DataRulePatch | null {
  return text === 'none' ? null : dataRuleOf(text.split(',').map((word) => word.trim()));
}

/** The rule as a body has it that replaces an earlier one; undefined for none. */
export function ruleToSet(patch: DataRulePatch | null | undefined) {
  if (patch == null) return undefined;
  const { regions, ...others } = patch;
  return { ...others, ...(regions !== null && { regions }) };
}
