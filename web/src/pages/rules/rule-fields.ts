import type { Written } from '../../parts/forms/changed-meanwhile.tsx';
import { listIn, numberOrText } from '../../parts/forms/typed.ts';

/** Which model answers, or whether none does. */
export type Answer = 'requested' | 'model' | 'ladder' | 'classify' | 'refuse';

export interface Step {
  at_least: string;
  at_most: string;
  model: string;
}

/** Classes as a form has them; `examples` has one on each line. */
export interface ClassifyDraft {
  embedding_model: string;
  classes: readonly { model: string; examples: string }[];
  otherwise: string;
  margin: string;
  observe: boolean;
  /** The value of the definition: the form has no field for it. */
  deadline: string | undefined;
}

/** A rule as its form has it: texts. */
export interface RuleDraft {
  when: string;
  order: string;
  enabled: boolean;
  answer: Answer;
  model: string;
  by: string;
  steps: readonly Step[];
  classify: ClassifyDraft;
  /** Names with commas between them. */
  targets: string;
  temperature: string;
  top_p: string;
  max_tokens: string;
  reasoning_effort: string;
  tag: string;
  message: string;
  status: string;
  continue: boolean;
}

/** A rule as the admin API takes it, without its name. */
export interface RuleDefinition {
  when?: string;
  order?: number;
  enabled?: boolean;
  model?: string;
  ladder?: { by: string; steps: { at_least?: number; at_most?: number; model: string }[] };
  classify?: {
    embedding_model: string;
    classes: { model: string; examples: string[] }[];
    otherwise?: string;
    margin?: number;
    observe?: boolean;
    deadline?: string;
  };
  targets?: string[];
  parameters?: { temperature?: number; top_p?: number; max_tokens?: number; reasoning_effort?: string };
  tag?: string;
  refuse?: { message: string; status?: number };
  continue?: boolean;
}

export const blankClass = { model: '', examples: '' };
export const blankStep: Step = { at_least: '', at_most: '', model: '' };

export const ladderBy: Readonly<Record<string, string>> = {
  budget_left: 'Share of the budget that is left',
  units_left: 'Share of the units that is left',
  tokens: 'Input tokens',
};

export function draftOf(rule: RuleDefinition): RuleDraft {
  const { parameters = {}, ladder, classify, refuse } = rule;
  const text = (value: string | number | undefined) => (value === undefined ? '' : String(value));
  return {
    when: text(rule.when),
    order: text(rule.order),
    enabled: rule.enabled ?? true,
    answer: answerOf(rule),
    model: text(rule.model),
    by: ladder?.by ?? 'budget_left',
    steps: ladder?.steps.map(({ at_least, at_most, model }) => {
      return { at_least: text(at_least), at_most: text(at_most), model };
    }) ?? [blankStep],
    classify: {
      embedding_model: text(classify?.embedding_model),
      classes: classify?.classes.map(({ model, examples }) => ({
        model,
        examples: examples.map(lineOf).join('\n'),
      })) ?? [blankClass, blankClass],
      otherwise: text(classify?.otherwise),
      margin: text(classify?.margin),
      observe: classify?.observe ?? false,
      deadline: classify?.deadline,
    },
    targets: rule.targets?.join(', ') ?? '',
    temperature: text(parameters.temperature),
    top_p: text(parameters.top_p),
    max_tokens: text(parameters.max_tokens),
    reasoning_effort: text(parameters.reasoning_effort),
    tag: text(rule.tag),
    message: text(refuse?.message),
    status: text(refuse?.status ?? 403),
    continue: rule.continue ?? false,
  };
}

function answerOf({ refuse, ladder, classify, model }: RuleDefinition): Answer {
  if (refuse !== undefined) return 'refuse';
  if (ladder !== undefined) return 'ladder';
  if (classify !== undefined) return 'classify';
  return model === undefined ? 'requested' : 'model';
}

/** A rule as it is typed: the server says where something is no number. */
export function definitionOf(draft: RuleDraft): Written {
  const { order } = draft;
  return {
    ...(draft.when.trim() !== '' && { when: draft.when.trim() }),
    ...numbers({ order }),
    ...(!draft.enabled && { enabled: false }),
    ...(draft.answer === 'refuse' ? refusalOf(draft) : effectsOf(draft)),
  };
}

function refusalOf({ message, status }: RuleDraft): Written {
  return { refuse: { message, ...numbers({ status }) } };
}

function effectsOf(draft: RuleDraft): Written {
  const { answer, model, by, steps, tag, temperature, top_p, max_tokens, reasoning_effort } = draft;
  const targets = listIn(draft.targets, ',');
  const parameters = {
    ...numbers({ temperature, top_p, max_tokens }),
    ...(reasoning_effort !== '' && { reasoning_effort }),
  };
  return {
    ...(answer === 'model' && { model: model.trim() }),
    ...(answer === 'ladder' && {
      ladder: {
        by,
        steps: steps.map(({ at_least, at_most, ...step }) => {
          return { ...numbers({ at_least, at_most }), model: step.model.trim() };
        }),
      },
    }),
    ...(answer === 'classify' && { classify: classifyOf(draft.classify) }),
    ...(targets.length > 0 && { targets }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(tag.trim() !== '' && { tag: tag.trim() }),
    ...(draft.continue && { continue: true }),
  };
}

function classifyOf({ classes, otherwise, margin, observe, deadline, ...draft }: ClassifyDraft) {
  return {
    embedding_model: draft.embedding_model.trim(),
    classes: classes.map(({ model, examples }) => ({
      model: model.trim(),
      examples: listIn(examples, '\n').map(exampleOf),
    })),
    ...(otherwise.trim() !== '' && { otherwise: otherwise.trim() }),
    ...numbers({ margin }),
    ...(observe && { observe }),
    ...(deadline !== undefined && { deadline }),
  };
}

/** A line break in an example: each example is typed on one line. */
const lineBreak = '⏎';

function lineOf(example: string): string {
  return example.replaceAll('\n', lineBreak);
}

function exampleOf(line: string): string {
  return line.replaceAll(lineBreak, '\n');
}

/** The typed numbers. */
function numbers(typed: Readonly<Record<string, string>>): Written {
  const some = Object.entries(typed).filter(([, text]) => text.trim() !== '');
  return Object.fromEntries(some.map(([name, text]) => [name, numberOrText(text)]));
}
