import { Environment, ParseError, TypeError as TypeFault } from '@marcbachmann/cel-js';
import { factTypes } from './rule-facts.ts';

export type { ASTNode } from '@marcbachmann/cel-js';

/** Bounds of one condition. */
const limits = { maxAstNodes: 400, maxDepth: 40, maxListElements: 200, maxMapEntries: 0, maxCallArguments: 4 };

/** The language of conditions: CEL's grammar and types over the facts of a request. */
export function openLanguage(): Environment {
  // A list may have numbers with and without a point.
  const language = new Environment({ limits, homogeneousAggregateLiterals: true });
  for (const [name, type] of Object.entries(factTypes)) language.registerVariable(name, type);
  const unused = () => '';
  language.registerFunction('timeOfDay(string): string', unused);
  language.registerFunction('timeOfDay(): string', unused);
  return language;
}

/** Problem that the library found, with its place as offsets; null: it is another error. */
export function syntaxProblem(error: unknown): { code: string; summary: string; start: number; end: number } | null {
  if (!(error instanceof ParseError || error instanceof TypeFault)) return null;
  const { code, summary, range } = error;
  return { code, summary, start: range?.start ?? 0, end: range?.end ?? range?.start ?? 0 };
}
