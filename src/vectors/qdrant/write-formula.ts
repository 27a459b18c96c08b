import type { KeyPath } from '../filter/key-path.ts';
import type { Expression, Formula } from '../formula.ts';
import { keyInPayload, type Partition } from './partition.ts';
import { writeLoneCondition } from './write-filter.ts';

/** A formula as Qdrant takes it, its keys those of the caller's payload. */
export function writeFormula(partition: Partition, { expression, defaults }: Formula): object {
  const named = Object.entries(defaults).map(([name, value]) => [variable(name), value]);
  return { formula: writeExpression(partition, expression), defaults: Object.fromEntries(named) };
}

function variable(name: string): string {
  return name.startsWith('$') ? name : keyInPayload(name);
}

function writeExpression(partition: Partition, part: Expression): unknown {
  const of = (one: Expression) => writeExpression(partition, one);
  const keyOf = ({ text }: KeyPath) => keyInPayload(text);
  switch (part.kind) {
    case 'constant':
      return part.value;
    case 'score':
      return `$score[${part.prefetch}]`;
    case 'payload':
      return keyOf(part.key);
    case 'condition':
      return writeLoneCondition(partition, part.condition);
    case 'geo-distance':
      return { geo_distance: { origin: part.origin, to: keyOf(part.to) } };
    case 'datetime':
      return { datetime: part.text };
    case 'datetime-key':
      return { datetime_key: keyOf(part.key) };
    case 'mult':
    case 'sum':
      return { [part.kind]: part.parts.map(of) };
    case 'div':
      return {
        div: {
          left: of(part.left),
          right: of(part.right),
          ...(part.byZero !== null && { by_zero_default: part.byZero }),
        },
      };
    case 'pow':
      return { pow: { base: of(part.base), exponent: of(part.exponent) } };
    case 'decay': {
      const { x, target, midpoint, scale } = part;
      return {
        [`${part.shape}_decay`]: { x: of(x), ...(target !== null && { target: of(target) }), midpoint, scale },
      };
    }
    default:
      return { [part.kind]: of(part.of) };
  }
}
