import type { Resource } from '@opentelemetry/resources';
import type { DataPoint, Histogram, HistogramMetricData, MetricProducer } from '@opentelemetry/sdk-metrics';
import type { TracedAttempt } from '../../kernel/trace.ts';
import { Buckets, seriesCellsMax } from '../metrics.ts';
import { metricBounds, metricNames, names, operationOf, providerOf } from './semantic-conventions.ts';
import { serverOf } from './span-parts.ts';

/**
 * GenAI metrics of every attempt, sampled or not. The SDK's instruments look labels up for 6 µs a request; here one
 * combination of labels is a few numbers, and the SDK's reader fetches them when it exports.
 */
export interface GenAiMetrics {
  attempt(attempt: TracedAttempt): void;
}

interface Cells {
  of: TracedAttempt;
  attributes: Record<string, string | number>;
  duration: Buckets;
  input: Buckets;
  output: Buckets;
  firstChunk: Buckets;
}

type Words = typeof import('@opentelemetry/sdk-metrics');

export class AttemptMetrics implements GenAiMetrics {
  readonly #cells = new Map<string, Cells>();
  #last: Cells | null = null;

  attempt(attempt: TracedAttempt): void {
    if (this.#last === null || !areOf(this.#last.of, attempt)) this.#last = this.#find(attempt);
    const cells = this.#last;
    cells.duration.observe(attempt.ms / 1_000);
    const { usage, firstTokenMs } = attempt;
    // The conventions want what providers count.
    if (usage !== null && attempt.usageSource === 'upstream') {
      cells.input.observe(usage.inputTokens);
      cells.output.observe(usage.outputTokens);
    }
    if (attempt.streamed && firstTokenMs !== null) cells.firstChunk.observe(firstTokenMs / 1_000);
  }

  /** For the SDK's reader. Counts begin with this process. */
  producer(sdk: Words, resource: Resource, version: string): MetricProducer {
    const startTime = hrTime(Date.now());
    return {
      collect: async () => {
        const all = [...this.#cells.values()];
        const endTime = hrTime(Date.now());
        const points = (pick: (cells: Cells) => Buckets, more: Record<string, string> = {}) =>
          all
            .filter((cells) => pick(cells).count > 0)
            .map((cells): DataPoint<Histogram> => {
              const { bounds, counts, sum, count } = pick(cells);
              const value = { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count };
              return { startTime, endTime, attributes: { ...cells.attributes, ...more }, value };
            });
        const metric = (
          name: string,
          description: string,
          unit: string,
          dataPoints: DataPoint<Histogram>[],
        ): HistogramMetricData => ({
          descriptor: { name, description, unit, valueType: doubles },
          aggregationTemporality: sdk.AggregationTemporality.CUMULATIVE,
          dataPointType: sdk.DataPointType.HISTOGRAM,
          dataPoints,
        });
        const tokens = [
          ...points(({ input }) => input, { [names.tokenType]: 'input' }),
          ...points(({ output }) => output, { [names.tokenType]: 'output' }),
        ];
        const metrics = [
          metric(
            metricNames.duration,
            'GenAI operation duration.',
            's',
            points(({ duration }) => duration),
          ),
          metric(metricNames.tokens, 'Number of input and output tokens used.', '{token}', tokens),
          metric(
            metricNames.firstChunk,
            'Time to receive the first chunk.',
            's',
            points((cells) => cells.firstChunk),
          ),
        ].filter(({ dataPoints }) => dataPoints.length > 0);
        const scopeMetrics = metrics.length === 0 ? [] : [{ scope: { name: 'culvert', version }, metrics }];
        return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
      },
    };
  }

  #find(attempt: TracedAttempt): Cells {
    const attributes = {
      [names.operation]: operationOf(attempt.endpoint).name,
      [names.provider]: providerOf(attempt.type),
      [names.requestModel]: attempt.model,
      ...(attempt.answeredAs !== null && { [names.responseModel]: attempt.answeredAs }),
      ...serverOf(attempt.origin),
      ...(attempt.class !== 'ok' && { [names.errorType]: attempt.class }),
    };
    const key = JSON.stringify(attributes);
    const known = this.#cells.get(key);
    if (known !== undefined) return { ...known, of: attempt };
    // Names that upstreams give themselves have no bound.
    const shown = this.#cells.size < seriesCellsMax ? attributes : { [names.operation]: 'other' };
    const shownKey = JSON.stringify(shown);
    const cells = this.#cells.get(shownKey) ?? {
      of: attempt,
      attributes: shown,
      duration: new Buckets({}, metricBounds.duration),
      input: new Buckets({}, metricBounds.tokens),
      output: new Buckets({}, metricBounds.tokens),
      firstChunk: new Buckets({}, metricBounds.firstChunk),
    };
    this.#cells.set(shownKey, cells);
    return { ...cells, of: attempt };
  }
}

/** `ValueType.DOUBLE` of the API, which is an enum that nothing else here needs. */
const doubles = 1;

/** Labels of the attempt before, which are mostly the same. */
function areOf(a: TracedAttempt, b: TracedAttempt): boolean {
  return (
    a.endpoint === b.endpoint &&
    a.provider === b.provider &&
    a.model === b.model &&
    a.answeredAs === b.answeredAs &&
    a.class === b.class &&
    a.origin === b.origin
  );
}

function hrTime(ms: number): [number, number] {
  return [Math.floor(ms / 1_000), (ms % 1_000) * 1e6];
}
