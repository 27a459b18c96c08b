import type { Counter, Registry } from 'prom-client';

/** Figures that one finished request adds to the metrics. */
export interface MeasuredRequest {
  endpoint: string;
  status: number;
  /** `ok` or the failure's class. */
  class: string;
  ms: number;
  firstTokenMs: number | null;
  inputTokens: number;
  outputTokens: number;
  costUsd: number | null;
  /** Source of the usage: `upstream`, `counted`, `estimated`, or `none` (then it is nothing). */
  usageSource: string;
}

export interface Metrics {
  /**
   * `model` and `target` are labels: names that the configuration knows, never what a caller made up, as nothing here is
   * of a user, a key or a request.
   */
  finished(request: MeasuredRequest, model: string, target: string): void;
  /** A request got an error before anything was held for it. */
  refused(refusal: { endpoint: string; status: number; reason: string; limit: string }): void;
  /** An attempt at a target failed, whatever its request came to; `end` is the class of its fault. */
  attemptFailed(target: string, end: string): void;
  /** A search engine was asked; `end` is `ok` or the class of its fault. */
  searched(engine: string, end: string): void;
  /** A kept answer was looked for. `error`: the store was slow or gone, or gave something else: the answer was asked for. */
  cacheLookup(outcome: 'hit' | 'semantic' | 'miss' | 'error', savedUsd: number): void;
  /** A later hit of a semantic cache was compared with what the model says. */
  cacheChecked(isRight: boolean): void;
  /** A guard of the configuration found something, or could not read a part. */
  guarded(guard: string, verdict: string): void;
  /** A number asked for at each scrape. `over`: what several processes make of theirs. */
  gauge(name: string, help: string, over: Over, read: () => number): void;
  /** One for each value of `label`, which must be names of the configuration. */
  gauges(
    name: string,
    help: string,
    label: string,
    over: Over,
    read: () => Iterable<readonly [value: string, number: number]>,
  ): void;
  render(): Promise<{ contentType: string; text: string }>;
  /** The same as data, for `renderSum` in another process. */
  values(): Promise<SeriesValues>;
}

/** How gauges of several processes become one. */
export type Over = 'sum' | 'max';

/** All series of one process, as prom-client has them. */
export type SeriesValues = readonly object[];

/** Metrics of several processes as those of one server. */
export async function renderSum(all: readonly SeriesValues[]): Promise<{ contentType: string; text: string }> {
  const { AggregatorRegistry } = await import('prom-client');
  const registry = AggregatorRegistry.aggregate([...all] as object[]);
  return { contentType: registry.contentType, text: await registry.metrics() };
}

/** Counters and histograms of several processes as those of one; gauges say what is, and are left out. */
export async function sumOfCounts(all: readonly SeriesValues[]): Promise<SeriesValues> {
  const { AggregatorRegistry } = await import('prom-client');
  const series = await AggregatorRegistry.aggregate([...all] as object[]).getMetricsAsJSON();
  return series.filter(({ type }) => String(type) !== 'gauge');
}

const secondsBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

function requestSeries(all: Series[]) {
  return {
    requests: counterSeries(all, 'culvert_requests_total', 'Finished requests.'),
    tokens: counterSeries(all, 'culvert_tokens_total', 'Tokens by direction and by who counted them.'),
    cost: counterSeries(all, 'culvert_cost_usd_total', 'Cost of answered requests with a known price.'),
    duration: histogramSeries(
      all,
      'culvert_request_duration_seconds',
      'From arrival to the end of the answer.',
      secondsBuckets,
    ),
    firstToken: histogramSeries(
      all,
      'culvert_first_token_seconds',
      'From dispatch to the first content.',
      secondsBuckets,
    ),
    refusals: counterSeries(all, 'culvert_refused_requests_total', 'Requests refused before they were run.'),
    failedAttempts: counterSeries(all, 'culvert_failed_attempts_total', 'Attempts at targets that failed.'),
    guards: counterSeries(
      all,
      'culvert_guard_verdicts_total',
      'Requests and answers that a guard did not just let pass.',
    ),
    searches: counterSeries(all, 'culvert_search_attempts_total', 'Questions to search engines.'),
    cacheLooks: counterSeries(all, 'culvert_cache_lookups_total', 'Kept answers that were looked for.'),
    cacheChecks: counterSeries(
      all,
      'culvert_cache_checked_hits_total',
      'Hits of semantic caches that were checked, by what came of it.',
    ),
    cacheSaved: counterSeries(all, 'culvert_cache_saved_usd_total', 'USD that answers from the cache saved.'),
  };
}

/** Culvert's Prometheus metrics, in a separate registry. */
export function createMetrics(): Metrics {
  const all: Series[] = [];
  const counted = requestSeries(all);
  // Label lookups cost microseconds a request: the children of each combination are kept.
  const children = new Map<string, Children>();
  let last: Children | null = null;

  function findChildren(request: MeasuredRequest, model: string, target: string): Children {
    const { endpoint, status, class: end, usageSource } = request;
    const key = `${endpoint}\n${model}\n${target}\n${status}\n${end}\n${usageSource}`;
    let found = children.get(key);
    if (found === undefined) {
      if (children.size >= seriesCellsMax) children.clear();
      found = {
        endpoint,
        model,
        target,
        status,
        class: end,
        usageSource,
        requests: counted.requests({ endpoint, model, target, status: String(status), class: end }),
        input: counted.tokens({ model, target, direction: 'input', usage_source: usageSource }),
        output: counted.tokens({ model, target, direction: 'output', usage_source: usageSource }),
        cost: counted.cost({ model, target, usage_source: usageSource }),
        duration: counted.duration({ endpoint, model }),
        firstToken: counted.firstToken({ model, target }),
      };
      children.set(key, found);
    }
    return found;
  }

  return {
    finished(request, model, target) {
      // Labels of the request before, which are mostly the same.
      const isLike =
        last?.model === model &&
        last.target === target &&
        last.status === request.status &&
        last.class === request.class &&
        last.usageSource === request.usageSource &&
        last.endpoint === request.endpoint;
      const child = last !== null && isLike ? last : findChildren(request, model, target);
      last = child;
      child.requests.total += 1;
      child.duration.observe(request.ms / 1_000);
      if (request.inputTokens > 0) child.input.total += request.inputTokens;
      if (request.outputTokens > 0) child.output.total += request.outputTokens;
      if (request.costUsd !== null && request.costUsd > 0) child.cost.total += request.costUsd;
      if (request.firstTokenMs !== null) child.firstToken.observe(request.firstTokenMs / 1_000);
    },
    refused({ endpoint, status, reason, limit }) {
      counted.refusals({ endpoint, status: String(status), reason, limit }).total += 1;
    },
    attemptFailed(target, end) {
      counted.failedAttempts({ target, class: end }).total += 1;
    },
    guarded(guard, verdict) {
      counted.guards({ guard, verdict }).total += 1;
    },
    searched(engine, end) {
      counted.searches({ engine, class: end }).total += 1;
    },
    cacheLookup(outcome, savedUsd) {
      counted.cacheLooks({ outcome }).total += 1;
      if (savedUsd > 0) counted.cacheSaved({}).total += savedUsd;
    },
    cacheChecked(isRight) {
      counted.cacheChecks({ outcome: isRight ? 'right' : 'wrong' }).total += 1;
    },
    gauge(name, help, over, read) {
      all.push(series('gauge', name, help, () => [{ labels: {}, value: read() }], over));
    },
    gauges(name, help, label, over, read) {
      const samples = () => [...read()].map(([value, number]) => ({ labels: { [label]: value }, value: number }));
      all.push(series('gauge', name, help, samples, over));
    },
    ...scrapesOf(all),
  };
}

/** Scrapes of the series. The library is loaded with the first one, since a start needs none. */
function scrapesOf(all: readonly Series[]): Pick<Metrics, 'render' | 'values'> {
  let prometheus: Promise<typeof import('prom-client')> | null = null;
  let registry: Registry | null = null;
  let registered = 0;

  async function scraped(): Promise<{ registry: Registry; first: boolean }> {
    prometheus ??= import('prom-client');
    const { Registry, collectDefaultMetrics } = await prometheus;
    const first = registry === null;
    registry ??= new Registry();
    for (; registered < all.length; registered += 1) registry.registerMetric(all[registered] as unknown as Counter);
    // Its own collectors (event loop, GC) run from the first scrape on: unwatched, they would cost for nothing.
    if (first) collectDefaultMetrics({ register: registry });
    return { registry, first };
  }

  return {
    async render() {
      const { registry, first } = await scraped();
      const text = await registry.metrics();
      return { contentType: registry.contentType, text: first ? withoutEventLoopLag(text) : text };
    },
    async values() {
      const { registry, first } = await scraped();
      const values = await registry.getMetricsAsJSON();
      return first ? values.filter(({ name }) => !name.startsWith(eventLoopLag)) : values;
    },
  };
}

const eventLoopLag = 'nodejs_eventloop_lag_';

/** At the first scrape its histogram is empty, which reads as a lag of 292 years, or of NaN. */
function withoutEventLoopLag(text: string): string {
  return text.replace(/^.*\bnodejs_eventloop_lag_.*\n/gm, '');
}

/** The cells of one combination of labels. */
interface Children extends Pick<MeasuredRequest, 'endpoint' | 'status' | 'class' | 'usageSource'> {
  model: string;
  target: string;
  requests: CounterCell;
  input: CounterCell;
  output: CounterCell;
  cost: CounterCell;
  duration: HistogramCell;
  firstToken: HistogramCell;
}

/**
 * Most combinations of labels of one metric. Further ones are counted in one cell whose labels are all `other`, so that
 * sums stay right.
 */
export const seriesCellsMax = 4_000;

/** One combination of labels of a counter: a plain number, so that counting costs an addition. */
interface CounterCell {
  total: number;
}

/** One combination of labels of a histogram. */
interface HistogramCell {
  observe(value: number): void;
}

interface Sample {
  labels: Record<string, string | number>;
  value: number;
  metricName?: string;
}

/** All that prom-client's registry asks of a metric when it is scraped; its own classes cost 4 µs a request. */
interface Series {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram' | 'gauge';
  readonly aggregator: Over;
  get(): { name: string; help: string; type: Series['type']; aggregator: Over; values: Sample[] };
}

/** Adds a counter of which this gives out the cells; equal labels give equal cells. */
function counterSeries(into: Series[], name: string, help: string): (labels: Record<string, string>) => CounterCell {
  const cells = new Map<string, CounterCell & { labels: Record<string, string> }>();
  into.push(
    series('counter', name, help, () => [...cells.values()].map(({ labels, total }) => ({ labels, value: total }))),
  );
  return (labels) => cellOf(cells, labels, (shown) => ({ labels: shown, total: 0 }));
}

/** Likewise a histogram; `bounds` are the upper ones, rising, without infinity. */
function histogramSeries(
  into: Series[],
  name: string,
  help: string,
  bounds: readonly number[],
): (labels: Record<string, string>) => HistogramCell {
  const cells = new Map<string, Buckets>();
  into.push(series('histogram', name, help, () => [...cells.values()].flatMap((cell) => cell.samples(name))));
  return (labels) => cellOf(cells, labels, (shown) => new Buckets(shown, bounds));
}

/** Values by size. */
export class Buckets implements HistogramCell {
  readonly bounds: readonly number[];
  /** By bound, and above the last one. */
  readonly counts: number[];
  sum = 0;
  readonly #labels: Record<string, string>;

  constructor(labels: Record<string, string>, bounds: readonly number[]) {
    this.#labels = labels;
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  get count(): number {
    return this.counts.reduce((all, one) => all + one, 0);
  }

  observe(value: number): void {
    let at = 0;
    for (const bound of this.bounds) {
      if (value <= bound) break;
      at += 1;
    }
    this.counts[at]! += 1;
    this.sum += value;
  }

  samples(name: string): Sample[] {
    const samples: Sample[] = [];
    let below = 0;
    for (const [at, count] of this.counts.entries()) {
      below += count;
      const labels = { le: this.bounds[at] ?? '+Inf', ...this.#labels };
      samples.push({ labels, value: below, metricName: `${name}_bucket` });
    }
    samples.push({ labels: this.#labels, value: this.sum, metricName: `${name}_sum` });
    samples.push({ labels: this.#labels, value: below, metricName: `${name}_count` });
    return samples;
  }
}

function cellOf<T>(
  cells: Map<string, T>,
  labels: Record<string, string>,
  make: (labels: Record<string, string>) => T,
): T {
  const known = cells.get(JSON.stringify(labels));
  if (known !== undefined) return known;
  const shown = cells.size < seriesCellsMax ? labels : otherLabels(labels);
  const key = JSON.stringify(shown);
  let cell = cells.get(key);
  if (cell === undefined) {
    cell = make(shown);
    cells.set(key, cell);
  }
  return cell;
}

function otherLabels(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(labels).map((name) => [name, 'other']));
}

function series(type: Series['type'], name: string, help: string, samples: () => Sample[], over: Over = 'sum'): Series {
  return { name, help, type, aggregator: over, get: () => ({ name, help, type, aggregator: over, values: samples() }) };
}
