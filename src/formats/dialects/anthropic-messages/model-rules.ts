/**
 * Features that a Claude model refuses, by its id. Anthropic answers 400 to whole fields by generation, so one body cannot suit
 * all; a caller who spoke OpenAI's format never chose these fields and must not be refused for them.
 *
 * Sources: Anthropic's migration guides for 4.7, 5 and 5.5 (sampling parameters removed; `thinking.type.enabled`
 * removed; forced tool choice removed; structured outputs from 4.5 on) and the 400 messages that users report.
 */
export interface ModelRules {
  /** Form of a request for reasoning: a token budget, an effort word, or none. */
  thinking: 'none' | 'budget' | 'adaptive';
  /** `thinking` of type adaptive: some models take that and a budget. */
  adaptive: 'accepted' | 'refused';
  /** `output_config.effort`. */
  effort: 'accepted' | 'refused';
  /** Value for "don't think" on a model that thinks unasked; `absent`: leaving the field out does. */
  thinkingOff: 'absent' | 'disabled' | 'between_tools' | 'effort-low';
  /** Thoughts of the turn that waits for a tool's result: refused in a request that asks for none, or not. */
  thoughtsInLoop: 'while-thinking' | 'accepted';
  /** Members of temperature, top_p, top_k that it accepts. */
  sampling: 'all' | 'one-of-temperature-and-top-p' | 'none';
  /** `tool_choice` of type any or tool. */
  forcedTool: 'accepted' | 'refused';
  /** `output_config.format` of type json_schema. */
  jsonSchema: 'native' | 'none';
  /** A conversation that ends with the assistant's turn. */
  prefill: 'accepted' | 'refused';
  /** A message of role `system` among the turns, as Claude Code sends it to any model. */
  systemInMessages: 'accepted' | 'refused';
}

/** An id that is not a Claude's belongs to a server that imitates the older format: the oldest widely spoken form. */
const imitator: ModelRules = {
  thinking: 'budget',
  adaptive: 'accepted',
  effort: 'accepted',
  thinkingOff: 'absent',
  thoughtsInLoop: 'accepted',
  sampling: 'all',
  forcedTool: 'accepted',
  jsonSchema: 'none',
  prefill: 'accepted',
  systemInMessages: 'refused',
};

/** Rules for an upstream model id, `claude-sonnet-4-5-20250929` and `anthropic/claude-opus-5` alike. */
export function rulesOf(model: string): ModelRules {
  const parsed = parse(model);
  if (parsed === null) return imitator;
  const { family, version } = parsed;
  // Families born with 5 (fable, mythos, whatever follows) never had the older form.
  const older = version < 4 || family === 'opus' || family === 'sonnet' || family === 'haiku' || family === '';
  const adaptive = !older || version >= adaptiveSince(family);
  const either = adaptive || (version >= 4.06 && family !== 'haiku');
  return {
    thinking: adaptive ? 'adaptive' : version >= 3.07 ? 'budget' : 'none',
    adaptive: either ? 'accepted' : 'refused',
    effort: either || (family === 'opus' && version >= 4.05) ? 'accepted' : 'refused',
    thinkingOff: !adaptive ? 'absent' : thinkingOff(family, version),
    thoughtsInLoop: adaptive ? 'accepted' : 'while-thinking',
    sampling: adaptive ? 'none' : version >= 4.05 ? 'one-of-temperature-and-top-p' : 'all',
    forcedTool: refusesForcedTool(family, version) ? 'refused' : 'accepted',
    jsonSchema: adaptive || version >= 4.05 ? 'native' : 'none',
    prefill: adaptive || version >= 4.06 ? 'refused' : 'accepted',
    systemInMessages: version >= (family === 'opus' ? 4.08 : 5) ? 'accepted' : 'refused',
  };
}

/** True for ids that say which Claude it is. */
export function isClaude(model: string): boolean {
  return parse(model) !== null;
}

/** Haiku kept the older form one generation longer. */
function adaptiveSince(family: string): number {
  return family === 'haiku' ? 5.05 : family === 'opus' ? 4.07 : 5;
}

function thinkingOff(family: string, version: number): ModelRules['thinkingOff'] {
  if (family === 'opus') return version < 5 ? 'absent' : version < 5.05 ? 'disabled' : 'effort-low';
  if (family === 'sonnet') return version < 5.05 ? 'disabled' : 'between_tools';
  return family === 'haiku' ? 'disabled' : 'effort-low';
}

function refusesForcedTool(family: string, version: number): boolean {
  if (family === 'opus' || family === 'sonnet') return version >= 5.05;
  return family !== 'haiku' && family !== '' && version >= 5.01;
}

const named = /(?:^|[/.])claude-([a-z]+)-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)/;
const numbered = /(?:^|[/.])claude-(?:v|instant-)?(\d)(?:[.-](\d{1,2}))?(?!\d)(?:-([a-z]+))?/;

/** `version` is major + minor/100, so that 4.10 is above 4.9. A date after the family is not a version. */
function parse(model: string): { family: string; version: number } | null {
  const id = model.toLowerCase();
  const [, name, ...nameVersion] = named.exec(id) ?? [];
  if (name !== undefined) return { family: name, version: versionOf(...nameVersion) };
  const byNumber = numbered.exec(id);
  return byNumber && { family: byNumber[3] ?? '', version: versionOf(byNumber[1], byNumber[2]) };
}

function versionOf(major?: string, minor?: string): number {
  return Number(major) + (minor === undefined ? 0 : Number(minor) / 100);
}
