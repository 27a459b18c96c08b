import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { datetimeMs } from '../filter/datetime.ts';
import { geoPointOf } from '../filter/geo.ts';
import { readLoneCondition } from '../filter/read-filter.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { kindOf, readObject, refuse } from '../filter/refuse.ts';
import { decayShapes, type Expression, type Formula, oneOperands } from '../formula.ts';
import { optional, readFinite, readList, shown } from './read-scalars.ts';

/** Parts of one formula. */
const partsMax = 1_000;
const partsOfOneMax = 100;
const midpointDefault = 0.5;
const scaleDefault = 1;

const operators = [
  'mult',
  'sum',
  'div',
  'pow',
  ...oneOperands,
  'geo_distance',
  'datetime',
  'datetime_key',
  ...decayShapes.map((shape) => `${shape}_decay` as const),
] as const;

/** `{formula, defaults}`. Throws a FailureError (400), as all of these. */
export function readFormula(json: JsonObject, at: string): Formula {
  const { formula, defaults } = readObject(json, at, ['formula', 'defaults']);
  const read = readDefaults(defaults, `${at}.defaults`);
  return { expression: readExpression(formula, `${at}.formula`, { left: partsMax }), defaults: read };
}

function readDefaults(value: JsonValue | undefined, at: string): Formula['defaults'] {
  if (optional(value)) return {};
  if (!isObject(value)) refuse(at, `expected an object, got ${kindOf(value)}`);
  const entries = Object.entries(value) as [string, JsonValue][];
  for (const [name] of entries) readVariable(name, `${at}.${name.slice(0, 64)}`);
  return Object.fromEntries(entries);
}

function readExpression(value: JsonValue | undefined, at: string, budget: { left: number }): Expression {
  if (--budget.left < 0) refuse(at, `a formula has at most ${partsMax} parts`);
  if (typeof value === 'number') return { kind: 'constant', value: readFinite(value, at) };
  if (typeof value === 'string') return readVariable(value, at);
  if (!isObject(value)) refuse(at, `expected a number, a variable or an expression, got ${kindOf(value)}`);
  const operator = operators.find((one) => one in value);
  if (operator === undefined) return { kind: 'condition', condition: readLoneCondition(value, at) };
  const inner = `${at}.${operator}`;
  const operand = readObject(value, at, [operator])[operator];
  const read = (one: JsonValue | undefined, place: string) => readExpression(one, place, budget);
  switch (operator) {
    case 'mult':
    case 'sum':
      return { kind: operator, parts: readList(operand, inner, { min: 1, max: partsOfOneMax }, read) };
    case 'div': {
      const { left, right, by_zero_default: byZero } = readObject(operand, inner, ['left', 'right', 'by_zero_default']);
      return {
        kind: 'div',
        left: read(left, `${inner}.left`),
        right: read(right, `${inner}.right`),
        byZero: optional(byZero) ? null : readFinite(byZero, `${inner}.by_zero_default`),
      };
    }
    case 'pow': {
      const { base, exponent } = readObject(operand, inner, ['base', 'exponent']);
      return { kind: 'pow', base: read(base, `${inner}.base`), exponent: read(exponent, `${inner}.exponent`) };
    }
    case 'geo_distance': {
      const { origin, to } = readObject(operand, inner, ['origin', 'to']);
      const point = geoPointOf(origin ?? null);
      if (point === null) refuse(`${inner}.origin`, 'expected {"lat", "lon"}');
      return { kind: 'geo-distance', origin: point, to: readKeyPath(to, `${inner}.to`) };
    }
    case 'datetime': {
      const ms = typeof operand === 'string' ? datetimeMs(operand) : null;
      if (ms === null) refuse(inner, `expected an RFC 3339 time, got ${shown(operand)}`);
      return { kind: 'datetime', text: operand as string, seconds: ms / 1_000 };
    }
    case 'datetime_key':
      return { kind: 'datetime-key', key: readKeyPath(operand, inner) };
    case 'lin_decay':
    case 'exp_decay':
    case 'gauss_decay':
      return readDecay(operator.slice(0, -'_decay'.length) as (typeof decayShapes)[number], operand, inner, read);
    default:
      return { kind: operator, of: read(operand, inner) };
  }
}

/** `$score`, `$score[1]`, or the path of a payload key. */
function readVariable(text: string, at: string): Extract<Expression, { kind: 'score' | 'payload' }> {
  if (!text.startsWith('$')) return { kind: 'payload', key: readKeyPath(text, at) };
  const found = /^\$score(?:\[(\d{1,4})\])?$/.exec(text);
  if (found === null) refuse(at, `expected $score, $score[0] or a payload key, got ${shown(text)}`);
  return { kind: 'score', prefetch: Number(found[1] ?? 0) };
}

function readDecay(
  shape: (typeof decayShapes)[number],
  json: JsonValue | undefined,
  at: string,
  read: (value: JsonValue | undefined, at: string) => Expression,
): Expression {
  const { x, target, midpoint: middle, scale: width } = readObject(json, at, ['x', 'target', 'midpoint', 'scale']);
  const midpoint = optional(middle) ? midpointDefault : readFinite(middle, `${at}.midpoint`);
  const scale = optional(width) ? scaleDefault : readFinite(width, `${at}.scale`);
  const linear = shape === 'lin';
  if (midpoint < 0 || midpoint > 1 || (!linear && (midpoint === 0 || midpoint === 1))) {
    refuse(`${at}.midpoint`, `expected a number ${linear ? 'from 0 to 1' : 'between 0 and 1'}, got ${midpoint}`);
  }
  if (scale <= 0) refuse(`${at}.scale`, `expected a number above 0, got ${scale}`);
  return {
    kind: 'decay',
    shape,
    x: read(x, `${at}.x`),
    target: optional(target) ? null : read(target, `${at}.target`),
    midpoint,
    scale,
  };
}
