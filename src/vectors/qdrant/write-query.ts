import type { PointId } from '../point.ts';
import type { PointQuery, VectorInput } from '../store.ts';
import type { Partition } from './partition.ts';
import { selectorOf } from './read-answers.ts';
import { unsupported } from './unsupported.ts';
import { writeFilter } from './write-filter.ts';
import { floatsText } from './write-operations.ts';

/** One of the searches of `points/query/batch`, as JSON text. Throws 501 for what Qdrant cannot do here. */
export function writeQuery(partition: Partition, query: PointQuery): string {
  const target = targetText(partition, query.target);
  const rest = JSON.stringify({
    filter: writeFilter(partition, query.filter),
    limit: query.limit,
    ...(query.offset > 0 && { offset: query.offset }),
    ...(query.scoreThreshold !== null && { score_threshold: query.scoreThreshold }),
    ...(query.exact && { params: { exact: true } }),
    ...selectorOf(query.want),
  });
  return target === null ? rest : `{"query":${target},${rest.slice(1)}`;
}

function targetText(partition: Partition, target: PointQuery['target']): string | null {
  switch (target.kind) {
    case 'nearest':
      if (target.mmr !== null) throw unsupported('mmr');
      return inputText(partition, target.vector);
    case 'recommend': {
      const [positive, negative] = [target.positive, target.negative].map(
        (inputs) => `[${inputs.map((input) => inputText(partition, input)).join(',')}]`,
      );
      return `{"recommend":{"positive":${positive},"negative":${negative},"strategy":"${target.strategy}"}}`;
    }
    case 'order-by':
      throw unsupported('order-by');
    case 'sample':
      return '{"sample":"random"}';
    case 'all':
      return null;
  }
}

function inputText(partition: Partition, input: VectorInput): string {
  return input instanceof Float32Array ? floatsText(input) : `"${partition.pointIdOf(input.id)}"`;
}

/** What is compared: for checks of lengths, and of points that must exist. */
export function inputsOf({ target }: Pick<PointQuery, 'target'>): readonly VectorInput[] {
  if (target.kind === 'nearest') return [target.vector];
  return target.kind === 'recommend' ? [...target.positive, ...target.negative] : [];
}

export function idsOf(queries: readonly PointQuery[]): readonly PointId[] {
  return queries.flatMap(inputsOf).flatMap((input) => (input instanceof Float32Array ? [] : [input.id]));
}
