import { requireNow } from '../kernel/require-now.ts';
import type { ASTNode } from './cel.ts';
import { isTimeZone, type LocalTime, localTime } from './local-time.ts';
import { type LateFact, lateFacts, type RuleFacts, secretHeaders } from './rule-facts.ts';

type Value = string | number | boolean | readonly (string | number | boolean)[];
/** Undefined: it cannot be known, as of a header that is not there, or of a fact that nobody has given. */
type Code = (facts: Partial<RuleFacts>) => Value | undefined;

/** A part of CEL that conditions do not have, with its place. */
export class NotInConditions extends Error {
  readonly node: Pick<ASTNode, 'start' | 'end'>;

  constructor(message: string, node: Pick<ASTNode, 'start' | 'end'>) {
    super(message);
    this.node = node;
  }
}

/** Where a checked expression is compiled. */
interface Scope {
  /** Variables of `exists` and `all`. */
  bound: ReadonlyMap<string, { value: Value }>;
  /** The late facts that it names are added here. */
  late: Set<LateFact>;
}

const patternCharsMax = 500;

/**
 * An expression that passed CEL's checks, as a function. Its work is at most its own size, times the lengths of lists in
 * it: lists are short, patterns run in linear time, and no loop holds another one. It never throws.
 */
export function compiled(node: ASTNode, late: Set<LateFact>): Code {
  return codeOf(node, { bound: new Map(), late });
}

function codeOf(node: ASTNode, scope: Scope): Code {
  switch (node.op) {
    case 'value':
      return literal(node);
    case 'id':
      return variable(node, scope);
    case 'list':
      return list(node.args, scope);
    case '.':
      return header(node.args[0], node, constant(node.args[1]), node.args[1], scope);
    case '[]':
      return header(node.args[0], node, codeOf(node.args[1], scope), textOf(node.args[1]), scope);
    case '&&':
      return both(codeOf(node.args[0], scope), codeOf(node.args[1], scope), false);
    case '||':
      return both(codeOf(node.args[0], scope), codeOf(node.args[1], scope), true);
    case '!_':
      return mapped(codeOf(node.args, scope), (value) => !value);
    case '-_':
      return mapped(codeOf(node.args, scope), (value) => -value);
    case '?:':
      return choice(node.args, scope);
    case 'in':
      return membership(node.args, scope);
    case 'call':
      return call(node, scope);
    case 'rcall':
      return method(node, scope);
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '+':
    case '-':
    case '*':
      return operation(node.op, codeOf(node.args[0], scope), codeOf(node.args[1], scope), node);
    default:
      throw new NotInConditions(`${shownOf(node)} is not available in conditions`, node);
  }
}

function shownOf({ op, input, start, end }: ASTNode): string {
  const text = input.slice(start, end);
  return op === '/' || op === '%' || text.length > 40 ? `the operator ${op}` : text;
}

function literal(node: ASTNode & { op: 'value' }): Code {
  const { args: value } = node;
  if (typeof value === 'bigint') return constant(Number(value));
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return constant(value);
  throw new NotInConditions('null, bytes and unsigned numbers are not available in conditions', node);
}

function constant(value: Value): Code {
  return () => value;
}

/** The text of a literal; null: it is none. */
function textOf(node: ASTNode): string | null {
  return node.op === 'value' && typeof node.args === 'string' ? node.args : null;
}

function variable(node: ASTNode & { op: 'id' }, { bound, late }: Scope): Code {
  const name = node.args;
  const cell = bound.get(name);
  if (cell !== undefined) return () => cell.value;
  if (name === 'headers') throw new NotInConditions(`write headers["x-team"], with the name of a header`, node);
  if (name === 'now') {
    throw new NotInConditions(
      'write timeOfDay("Europe/Berlin"), or now with a method, such as now.getHours("Europe/Berlin")',
      node,
    );
  }
  if (lateFacts.includes(name)) late.add(name as LateFact);
  const fact = name as Exclude<keyof RuleFacts, 'header'>;
  return (facts) => facts[fact];
}

function list(items: readonly ASTNode[], scope: Scope): Code {
  const codes = items.map((item) => codeOf(item, scope));
  const isFixed = items.every(({ op }) => op === 'value');
  const whole: Code = (facts) => {
    const values: (string | number | boolean)[] = [];
    for (const code of codes) {
      const value = code(facts);
      if (value === undefined || typeof value === 'object') return undefined;
      values.push(value);
    }
    return values;
  };
  if (!isFixed) return whole;
  const values = whole({});
  return () => values;
}

/** A member of `headers`. `text`: its name, where that is a literal. */
function header(of: ASTNode, node: ASTNode, name: Code, text: string | null, scope: Scope): Code {
  if (of.op !== 'id' || of.args !== 'headers' || scope.bound.has('headers')) {
    throw new NotInConditions('only headers have members, such as headers["x-team"]', node);
  }
  if (text === null) {
    return (facts) => {
      const found = name(facts);
      return typeof found === 'string' ? facts.header?.(found.toLowerCase()) : undefined;
    };
  }
  const lower = text.toLowerCase();
  if (secretHeaders.has(lower))
    throw new NotInConditions(`the header ${lower} holds secrets, and no condition sees it`, node);
  return (facts) => facts.header?.(lower);
}

/** `decides`: the value of one side that decides, whatever the other is. */
function both(left: Code, right: Code, decides: boolean): Code {
  return (facts) => {
    const first = left(facts);
    if (first === decides) return decides;
    const second = right(facts);
    return second === decides ? decides : first === undefined ? undefined : second;
  };
}

function mapped(code: Code, change: (value: never) => Value | undefined): Code {
  return (facts) => {
    const value = code(facts);
    return value === undefined ? undefined : change(value as never);
  };
}

function choice([condition, then, otherwise]: readonly [ASTNode, ASTNode, ASTNode], scope: Scope): Code {
  const [when, yes, no] = [codeOf(condition, scope), codeOf(then, scope), codeOf(otherwise, scope)];
  return (facts) => {
    const value = when(facts);
    return value === undefined ? undefined : value === true ? yes(facts) : no(facts);
  };
}

function membership([item, holder]: readonly [ASTNode, ASTNode], scope: Scope): Code {
  const value = codeOf(item, scope);
  if (holder.op === 'id' && holder.args === 'headers' && !scope.bound.has('headers')) {
    const named = header(holder, holder, value, textOf(item), scope);
    return present(named);
  }
  const all = codeOf(holder, scope);
  return (facts) => {
    const [sought, values] = [value(facts), all(facts)];
    if (sought === undefined || !Array.isArray(values)) return undefined;
    return values.includes(sought);
  };
}

type Scalar = string | number | boolean;

const operations: Readonly<Record<string, (a: Scalar, b: Scalar) => Value>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  // The library has checked that both are numbers, or texts to be joined.
  '+': (a, b) => (a as number) + (b as number),
  '-': (a, b) => Number(a) - Number(b),
  '*': (a, b) => Number(a) * Number(b),
};

function operation(op: string, left: Code, right: Code, node: ASTNode): Code {
  const apply = operations[op];
  if (apply === undefined) throw new NotInConditions(`the operator ${op} is not available in conditions`, node);
  return (facts) => {
    const [a, b] = [left(facts), right(facts)];
    if (a === undefined || b === undefined || typeof a === 'object' || typeof b === 'object') return undefined;
    return apply(a, b);
  };
}

function call(node: ASTNode & { op: 'call' }, scope: Scope): Code {
  const [name, given] = node.args;
  const [first] = given;
  if (name === 'has' && first !== undefined) return present(codeOf(first, scope));
  if (name === 'timeOfDay') return timeCode(node, first, ({ clock }) => clock);
  if (name === 'size' && first !== undefined) return mapped(codeOf(first, scope), sizeOf);
  if (name === 'double' && first !== undefined) return mapped(codeOf(first, scope), numberOf);
  if (name === 'int' && first !== undefined) return mapped(codeOf(first, scope), wholeOf);
  if (name === 'string' && first !== undefined) return mapped(codeOf(first, scope), (value) => String(value));
  throw new NotInConditions(`${name}() is not available in conditions`, node);
}

/** Whether a header is there. */
function present(code: Code): Code {
  return (facts) => (facts.header === undefined ? undefined : code(facts) !== undefined);
}

const sizeOf = (value: Value) => (typeof value === 'string' ? [...value].length : (value as readonly unknown[]).length);
const numberOf = (value: Scalar) => {
  const number = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value);
  return Number.isNaN(number) ? undefined : number;
};
const wholeOf = (value: Scalar) => {
  const number = numberOf(value);
  return number === undefined || !Number.isFinite(number) ? undefined : Math.trunc(number);
};

const textMethods: Readonly<Record<string, (text: string, other: string) => Value>> = {
  startsWith: (text, other) => text.startsWith(other),
  endsWith: (text, other) => text.endsWith(other),
  contains: (text, other) => text.includes(other),
};
const plainMethods: Readonly<Record<string, (text: string) => Value>> = {
  lowerAscii: (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  upperAscii: (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
  trim: (text) => text.trim(),
};
const timeMethods: Readonly<Record<string, (time: LocalTime) => Value>> = {
  getHours: ({ hours }) => hours,
  getMinutes: ({ minutes }) => minutes,
  getDayOfWeek: ({ weekday }) => weekday,
  getDate: ({ day }) => day,
  getDayOfMonth: ({ day }) => day - 1,
  getMonth: ({ month }) => month,
  getFullYear: ({ year }) => year,
};

function method(node: ASTNode & { op: 'rcall' }, scope: Scope): Code {
  const [name, of, given] = node.args;
  const [first, second] = given;
  if (of.op === 'id' && of.args === 'now' && !scope.bound.has('now')) {
    const read = timeMethods[name];
    if (read === undefined) throw new NotInConditions(`now.${name}() is not available in conditions`, node);
    return timeCode(node, first, read);
  }
  if ((name === 'exists' || name === 'all') && first?.op === 'id' && second !== undefined) {
    return loop(name, codeOf(of, scope), first.args, second, scope);
  }
  const text = codeOf(of, scope);
  if (name === 'matches' && first !== undefined) return matching(text, first);
  if (name === 'size') return mapped(text, sizeOf);
  const plain = plainMethods[name];
  if (plain !== undefined) return mapped(text, plain);
  const apply = textMethods[name];
  if (apply === undefined || first === undefined) {
    throw new NotInConditions(`${name}() is not available in conditions`, node);
  }
  const other = codeOf(first, scope);
  return (facts) => {
    const [subject, given] = [text(facts), other(facts)];
    return typeof subject === 'string' && typeof given === 'string' ? apply(subject, given) : undefined;
  };
}

function loop(name: 'exists' | 'all', all: Code, item: string, predicate: ASTNode, scope: Scope): Code {
  if (scope.bound.size > 0) throw new NotInConditions('exists and all cannot be inside one another', predicate);
  // Conditions run from their beginning to their end at once, so one place for the value is enough.
  const cell: { value: Value } = { value: '' };
  const holds = codeOf(predicate, { ...scope, bound: new Map([[item, cell]]) });
  const decides = name === 'exists';
  return (facts) => {
    const values = all(facts);
    if (!Array.isArray(values)) return undefined;
    let result: boolean | undefined = !decides;
    for (const value of values as Scalar[]) {
      cell.value = value;
      const one = holds(facts);
      if (one === decides) return decides;
      if (one === undefined) result = undefined;
    }
    return result;
  };
}

function matching(text: Code, pattern: ASTNode): Code {
  const written = textOf(pattern);
  if (written === null) throw new NotInConditions('matches() takes a pattern in quotes', pattern);
  if (written.length > patternCharsMax) {
    throw new NotInConditions(`a pattern has at most ${patternCharsMax} characters`, pattern);
  }
  const { linearPattern } = requireNow<typeof import('./linear-pattern.ts')>(
    new URL('./linear-pattern.ts', import.meta.url),
  );
  let finds: (text: string) => boolean;
  try {
    finds = linearPattern(written);
  } catch (error) {
    const why = error instanceof Error ? `: ${error.message}` : '';
    throw new NotInConditions(`this is no regular expression of RE2${why}`, pattern);
  }
  return mapped(text, (value: string) => finds(value));
}

function timeCode(node: ASTNode, zone: ASTNode | undefined, read: (time: LocalTime) => Value): Code {
  const name = zone === undefined ? 'UTC' : textOf(zone);
  if (name === null || !isTimeZone(name)) {
    throw new NotInConditions('expected a time zone in quotes, such as "Europe/Berlin"', zone ?? node);
  }
  const at = localTime(name);
  return ({ atMs }) => (atMs === undefined ? undefined : read(at(atMs)));
}
