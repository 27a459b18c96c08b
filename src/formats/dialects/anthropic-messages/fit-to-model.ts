import { isObject, type JsonObject, jsonText } from '../../../kernel/json.ts';
import type { NeutralReasoning } from '../../neutral/request.ts';
import { breaksToolLoop } from '../../neutral/tool-loop.ts';
import type { FittedMembers } from '../forward-target.ts';
import { budgetFor, effortWord } from './encode-request.ts';
import { isClaude, rulesOf } from './model-rules.ts';
import { blockKinds, type CallerBody } from './wire.ts';

interface Turn {
  role: string;
  content: string | JsonObject[];
}

/**
 * How to think and to sample, as another Claude takes it than the one that the caller wrote for: a fallback, or a model under
 * another name. One generation answers 400 to the words of another. Null: they can stay.
 */
export function fitToModel(body: CallerBody, messages: readonly Turn[], model: string): FittedMembers | null {
  if (!isClaude(model)) return null;
  const rules = rulesOf(model);
  const fit = { members: {} as JsonObject, without: [] as string[], losses: [] as FittedMembers['losses'] };
  const leave = (...names: string[]) => {
    for (const name of names) {
      fit.without.push(name);
      fit.losses.push({ field: name, why: 'unsupported' });
    }
  };
  const given = (['temperature', 'top_p', 'top_k'] as const).filter((name) => typeof body[name] === 'number');
  const both = given.includes('temperature') && given.includes('top_p');
  if (rules.sampling === 'none') leave(...given);
  else if (rules.sampling === 'one-of-temperature-and-top-p' && both) leave('top_p');

  const { thinking, output_config: output, context_management: management } = body;
  const { effort, ...otherOutput } = isObject(output) ? output : {};
  const reasoning: NeutralReasoning = {
    ...(typeof effort === 'string' && { effort }),
    ...(typeof thinking?.budget_tokens === 'number' && { budgetTokens: thinking.budget_tokens }),
  };
  if (effort !== undefined && rules.effort === 'refused') {
    fit.losses.push({ field: 'output_config.effort', why: 'unsupported' });
    if (Object.keys(otherOutput).length === 0) fit.without.push('output_config');
    else fit.members.output_config = otherOutput;
  }
  if (thinking?.type === 'enabled' && rules.thinking === 'adaptive') {
    fit.members.thinking = { type: 'adaptive', display: thinking.display ?? 'summarized' };
    if (effort === undefined) fit.members.output_config = { ...otherOutput, effort: effortWord(reasoning) };
    fit.losses.push({ field: 'thinking.budget_tokens', why: 'narrowed' });
  }
  if (thinking?.type === 'adaptive' && rules.adaptive === 'refused') {
    const isForced = /^(any|tool)$/.test(jsonText(body.tool_choice?.type));
    const room = rules.thinking === 'budget' && !isForced && !breaksToolLoop(messages, blockKinds);
    const budget = room ? budgetFor(reasoning, body.max_tokens ?? 0) : null;
    fit.members.thinking = budget === null ? { type: 'disabled' } : { type: 'enabled', budget_tokens: budget };
    fit.losses.push({ field: 'thinking', why: budget === null ? 'unsupported' : 'narrowed' });
    if (budget === null && isObject(management)) fit.members.context_management = withoutThoughtEdits(management);
  }
  return fit.losses.length === 0 ? null : fit;
}

/** Anthropic refuses to clear thoughts where there are none. */
export function withoutThoughtEdits(management: JsonObject): JsonObject {
  const { edits } = management;
  if (!Array.isArray(edits)) return management;
  return {
    ...management,
    edits: edits.filter((edit) => !(isObject(edit) && /^clear_thinking/.test(jsonText(edit.type)))),
  };
}
