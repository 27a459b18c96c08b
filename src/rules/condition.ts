import { didYouMean } from '../kernel/nearest.ts';
import { requireNow } from '../kernel/require-now.ts';
import type { ASTNode } from './cel.ts';
import { compiled, NotInConditions } from './compile.ts';
import { factTypes, type LateFact, type RuleFacts } from './rule-facts.ts';

/** A checked condition. */
export interface Condition {
  /** Its parts between `&&`, in order: all of them must hold. */
  parts: readonly ConditionPart[];
  /** Names that it compares `model` with, so that they alone make it true or help to. */
  models: readonly string[];
}

export interface ConditionPart {
  /** Text as the operator wrote it. */
  text: string;
  /** Facts that must be looked up first. */
  late: readonly LateFact[];
  /** False also for what cannot be known, such as the value of a header that is not there. Never throws. */
  holds(facts: RuleFacts): boolean;
  /** The same where only some facts are known; undefined: the others decide. */
  judge(facts: Partial<RuleFacts>): boolean | undefined;
}

export interface ConditionFault {
  /** Within the expression; both count from 1. */
  line: number;
  column: number;
  message: string;
}

export const conditionCharsMax = 4_000;

let language: ReturnType<typeof import('./cel.ts').openLanguage> | null = null;

/** Reads a condition, with its place where it is wrong. The library is loaded with the first one. */
export function readCondition(text: string): Condition | ConditionFault {
  const cel = requireNow<typeof import('./cel.ts')>(new URL('./cel.ts', import.meta.url));
  language ??= cel.openLanguage();
  const fault = (message: string, start: number): ConditionFault => ({ ...placeIn(text, start), message });
  let root: ASTNode;
  try {
    const parsed = language.parse(text);
    const checked = parsed.check();
    if (!checked.valid) throw checked.error;
    if (checked.type !== 'bool') return fault(`expected a condition that is true or false, not a ${checked.type}`, 0);
    root = parsed.ast;
  } catch (error) {
    const found = cel.syntaxProblem(error);
    if (found === null) return fault('this is no expression of CEL', 0);
    return fault(problemText(found, text), found.start);
  }
  try {
    return { parts: partsOf(root).map((node) => partOf(node)), models: [...new Set(modelsIn(root))] };
  } catch (error) {
    if (error instanceof NotInConditions) return fault(error.message, error.node.start);
    throw error;
  }
}

export function isFault(read: Condition | ConditionFault): read is ConditionFault {
  return 'message' in read;
}

function partsOf(node: ASTNode): ASTNode[] {
  return node.op === '&&' ? node.args.flatMap(partsOf) : [node];
}

function partOf(node: ASTNode): ConditionPart {
  const late = new Set<LateFact>();
  const code = compiled(node, late);
  const text = node.input.slice(node.start, node.end).replace(/\s+/g, ' ');
  return {
    text,
    late: [...late],
    holds: (facts) => code(facts) === true,
    judge(facts) {
      const value = code(facts);
      return value === undefined ? undefined : value === true;
    },
  };
}

/** Texts of `model == "auto"` and `model in ["auto"]`, but for those below a `!`. */
function modelsIn(node: ASTNode): string[] {
  switch (node.op) {
    case '&&':
    case '||':
      return node.args.flatMap(modelsIn);
    case '==': {
      const [left, right] = node.args;
      return isModel(left) ? textsOf(right) : isModel(right) ? textsOf(left) : [];
    }
    case 'in': {
      const [item, holder] = node.args;
      return isModel(item) && holder.op === 'list' ? holder.args.flatMap(textsOf) : [];
    }
    default:
      return [];
  }
}

function isModel({ op, args }: ASTNode): boolean {
  return op === 'id' && args === 'model';
}

function textsOf({ op, args }: ASTNode): string[] {
  return op === 'value' && typeof args === 'string' && args !== '' ? [args] : [];
}

function placeIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

const functionNames = ['has', 'size', 'double', 'int', 'string', 'timeOfDay'];
const methodNames = `startsWith endsWith contains matches lowerAscii upperAscii trim size exists all
  getHours getMinutes getDayOfWeek getDate getMonth`.split(/\s+/);

function problemText(
  { code, summary, start, end }: { code: string; summary: string; start: number; end: number },
  text: string,
) {
  if (code === 'unknown_variable') {
    const name = text.slice(start, end);
    const hint = didYouMean(name, Object.keys(factTypes));
    return `there is no '${name}' in conditions${hint === '' ? `; there are ${Object.keys(factTypes).join(', ')}` : hint}`;
  }
  const called = /^found no matching overload for '(?:(.+)\.)?(\w+)\(/.exec(summary);
  if (called !== null) {
    const [, receiver, name = ''] = called;
    const known = receiver === undefined ? functionNames : methodNames;
    const hint = known.includes(name) ? '' : didYouMean(name, known);
    return `${summary.replace('found no matching overload for', 'there is no function')}${hint}`;
  }
  if (code === 'no_such_overload') return summary.replace('no such overload:', 'these types do not fit:');
  return summary.charAt(0).toLowerCase() + summary.slice(1);
}
