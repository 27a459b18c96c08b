import { knownEntry } from '../../kernel/known-entry.ts';
import type { KeyPath } from '../filter/key-path.ts';
import type { Expression, Formula } from '../formula.ts';
import type { PointId } from '../point.ts';
import type { ContextPair, GroupQuery, Lookup, PointQuery, Prefetch, Target, VectorInput } from '../vector-store.ts';
import { keyInPayload, type Partition } from './partition.ts';
import { selectorOf } from './read-answers.ts';
import { writeFilter, writeLoneCondition } from './write-filter.ts';
import { valueText } from './write-operations.ts';

/** Common parts of queries, groups and prefetches. */
export type Searched = Omit<Prefetch, 'limit'>;

/** One of the searches of `points/query/batch`, as JSON text. None of an order by a key (`order-queries`). */
export function writeQuery(partition: Partition, query: PointQuery, lookups: Lookups): string {
  const rest = { ...(query.offset > 0 && { offset: query.offset }), ...selectorOf(query.want) };
  return searchText(partition, query, rest, lookups);
}

/** The body of `points/query/groups`. */
export function writeGroupQuery(partition: Partition, query: GroupQuery, lookups: Lookups): string {
  const rest = { group_by: keyInPayload(query.groupBy), group_size: query.groupSize, ...selectorOf(query.want) };
  return searchText(partition, { ...query, limit: query.groups }, rest, lookups);
}

/** Every search within one looks among this partition's points alone, whatever is around it. */
function searchText(partition: Partition, search: Prefetch, rest: object, lookups: Lookups): string {
  const { prefetch = [], using } = search;
  const from = lookupOf(search);
  const there = from === undefined ? partition : knownEntry(lookups, from.collection);
  const target = targetText(partition, there, search.target);
  const members = [
    ...(target === null ? [] : [`"query":${target}`]),
    ...(prefetch.length === 0
      ? []
      : [`"prefetch":[${prefetch.map((one) => searchText(partition, one, {}, lookups)).join(',')}]`]),
  ];
  const otherMembers = JSON.stringify({
    filter: writeFilter(partition, search.filter),
    limit: search.limit,
    ...(using !== undefined && { using }),
    ...(from !== undefined && { lookup_from: { collection: there.physical, vector: from.vector } }),
    ...(search.scoreThreshold !== null && { score_threshold: search.scoreThreshold }),
    ...(search.exact && { params: { exact: true } }),
    ...rest,
  });
  return `{${[...members, otherMembers.slice(1)].join(',')}`;
}

/** `there`: where the points are that the target names. */
function targetText(partition: Partition, there: Partition, target: Target): string | null {
  const input = (one: VectorInput) => inputText(there, one);
  switch (target.kind) {
    case 'nearest': {
      if (target.mmr === null) return input(target.vector);
      const { diversity, candidates } = target.mmr;
      return `{"nearest":${input(target.vector)},"mmr":{"diversity":${diversity},"candidates_limit":${candidates}}}`;
    }
    case 'recommend': {
      const [positive, negative] = [target.positive, target.negative].map(
        (inputs) => `[${inputs.map(input).join(',')}]`,
      );
      return `{"recommend":{"positive":${positive},"negative":${negative},"strategy":"${target.strategy}"}}`;
    }
    case 'discover':
      return `{"discover":{"target":${input(target.target)},"context":${pairsText(there, target.context)}}}`;
    case 'context':
      return `{"context":${pairsText(there, target.context)}}`;
    case 'fusion': {
      const { method } = target;
      if (method.kind === 'dbsf') return '{"fusion":"dbsf"}';
      return JSON.stringify({ rrf: { k: method.k, ...(method.weights !== null && { weights: method.weights }) } });
    }
    case 'formula':
      return JSON.stringify(writeFormula(partition, target.formula));
    case 'order-by':
      throw new Error('Qdrant has no index to order by');
    case 'sample':
      return '{"sample":"random"}';
    case 'all':
      return null;
  }
}

function pairsText(partition: Partition, pairs: readonly ContextPair[]): string {
  const texts = pairs.map(
    ({ positive, negative }) =>
      `{"positive":${inputText(partition, positive)},"negative":${inputText(partition, negative)}}`,
  );
  return `[${texts.join(',')}]`;
}

function inputText(partition: Partition, input: VectorInput): string {
  return 'id' in input ? `"${partition.pointIdOf(input.id)}"` : valueText(input);
}

/** Partitions of other collections whose points queries name, by the name that the query has for them. */
export type Lookups = ReadonlyMap<string, Partition>;

/** Collection of the points that a search names; undefined: the collection itself. */
export function lookupOf({ target }: Pick<Prefetch, 'target'>): Lookup | undefined {
  for (const input of inputsOf(target)) if ('id' in input && input.from !== undefined) return input.from;
  return undefined;
}

/** The query and all prefetches in it. */
export function searchesOf(query: Searched): readonly Searched[] {
  return [query, ...(query.prefetch ?? []).flatMap(searchesOf)];
}

/** The compared inputs: for checks of lengths, and of points that must exist. */
export function inputsOf(target: Target): readonly VectorInput[] {
  switch (target.kind) {
    case 'nearest':
      return [target.vector];
    case 'recommend':
      return [...target.positive, ...target.negative];
    case 'discover':
      return [target.target, ...target.context.flatMap(({ positive, negative }) => [positive, negative])];
    case 'context':
      return target.context.flatMap(({ positive, negative }) => [positive, negative]);
    default:
      return [];
  }
}

export function idsOf(queries: readonly Searched[]): readonly PointId[] {
  const inputs = queries.flatMap(searchesOf).flatMap(({ target }) => inputsOf(target));
  return inputs.flatMap((input) => ('id' in input && input.from === undefined ? [input.id] : []));
}

/** A formula as Qdrant takes it, its keys those of the caller's payload. */
function writeFormula(partition: Partition, { expression, defaults }: Formula): object {
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
      return { [`${part.shape}_decay`]: { x: of(x), ...(target !== null && { target: of(target) }), midpoint, scale } };
    }
    default:
      return { [part.kind]: of(part.of) };
  }
}
