import type { ThinkingLevel } from './wire.ts';

/** Rules that differ between generations of models. */
export interface ModelRules {
  /** Form of a wish to think: none, tokens (2.5), a word (3 and later). */
  thinking: 'none' | 'budget' | 'level';
  /** Bounds of a budget; `min` is what "off" comes down to. */
  budget: { min: number; max: number };
  /** Words for thinking that it takes. */
  levels: readonly ThinkingLevel[];
  /** Gives and demands ids of calls, and a signature on the first call of each step of the running turn. */
  signedCalls: boolean;
  /** Pictures may be inside the result of a tool. */
  mediaInResults: boolean;
  /** Accepts a schema for the answer together with tools. */
  formatBesideTools: boolean;
  systemInstruction: boolean;
  /** `presencePenalty`, `frequencyPenalty`. */
  penalties: boolean;
}

const newest: ModelRules = {
  thinking: 'level',
  budget: { min: 0, max: 0 },
  levels: ['LOW', 'MEDIUM', 'HIGH'],
  signedCalls: true,
  mediaInResults: true,
  formatBesideTools: true,
  systemInstruction: true,
  penalties: false,
};

const older: ModelRules = {
  ...newest,
  thinking: 'none',
  levels: [],
  signedCalls: false,
  mediaInResults: false,
  formatBesideTools: false,
  penalties: true,
};

/** By the upstream's model id; an unknown one is taken to be of the newest generation. */
export function rulesOf(model: string): ModelRules {
  return read(model.slice(model.lastIndexOf('/') + 1).toLowerCase());
}

const numbered = /^gemini-(\d{1,2})(?:\.(\d{1,2}))?-(pro|flash-lite|flash|ultra)/;

function read(id: string): ModelRules {
  // Answers 400 "Developer instruction is not enabled".
  if (id.startsWith('gemma-')) return { ...older, systemInstruction: !/^gemma-[123]/.test(id) };
  const [, whole, minor = 0, size] = numbered.exec(id) ?? [];
  // `gemini-flash-latest` and whatever is called otherwise.
  if (size === undefined) return newest;
  const major = Number(whole);
  const version = major + Number(minor) / 100;
  if (version < 2.05) return older;
  if (major < 3) return { ...older, thinking: 'budget', budget: budgetOf(size), penalties: false };
  return { ...newest, levels: levelsOf(version, size) };
}

/** https://ai.google.dev/gemini-api/docs/thinking: Pro cannot be kept from thinking. */
function budgetOf(size: string): ModelRules['budget'] {
  if (size === 'pro') return { min: 128, max: 32_768 };
  return { min: 0, max: 24_576 };
}

function levelsOf(version: number, size: string): readonly ThinkingLevel[] {
  if (size === 'flash-lite' || (size === 'flash' && version < 3.07)) return ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'];
  return size === 'pro' && version < 3.01 ? ['LOW', 'HIGH'] : newest.levels;
}
