/**
 * Combinations of labels that one metric keeps. What comes beyond is counted in one cell whose labels all say `other`,
 * so that sums stay right.
 */
export const seriesCellsMax = 4_000;

/** One combination of labels of a counter: a plain number, so that counting costs an addition. */
export interface CounterCell {
  total: number;
}

/** One combination of labels of a histogram. */
export interface HistogramCell {
  observe(value: number): void;
}

interface Sample {
  labels: Record<string, string | number>;
  value: number;
  metricName?: string;
}

/** All that prom-client's registry asks of a metric when it is scraped; its own classes cost 4 µs a request. */
export interface Series {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram' | 'gauge';
  readonly aggregator: 'sum';
  get(): { name: string; help: string; type: Series['type']; values: Sample[] };
}

/** Adds a counter of which this gives out the cells; equal labels give equal cells. */
export function counterSeries(
  into: Series[],
  name: string,
  help: string,
): (labels: Record<string, string>) => CounterCell {
  const cells = new Map<string, CounterCell & { labels: Record<string, string> }>();
  into.push(
    series('counter', name, help, () => [...cells.values()].map(({ labels, total }) => ({ labels, value: total }))),
  );
  return (labels) => cellOf(cells, labels, (shown) => ({ labels: shown, total: 0 }));
}

/** Likewise a histogram; `bounds` are the upper ones, rising, without infinity. */
export function histogramSeries(
  into: Series[],
  name: string,
  help: string,
  bounds: readonly number[],
): (labels: Record<string, string>) => HistogramCell {
  const cells = new Map<string, Buckets>();
  into.push(series('histogram', name, help, () => [...cells.values()].flatMap((cell) => cell.samples(name))));
  return (labels) => cellOf(cells, labels, (shown) => new Buckets(shown, bounds));
}

/** A number asked for at each scrape. */
export function gaugeSeries(into: Series[], name: string, help: string, read: () => number): void {
  into.push(series('gauge', name, help, () => [{ labels: {}, value: read() }]));
}

/** The same for each value of one label. */
export function gaugesSeries(
  into: Series[],
  name: string,
  help: string,
  label: string,
  read: () => Iterable<readonly [value: string, number: number]>,
): void {
  into.push(
    series('gauge', name, help, () =>
      [...read()].map(([value, number]) => ({ labels: { [label]: value }, value: number })),
    ),
  );
}

class Buckets implements HistogramCell {
  readonly #labels: Record<string, string>;
  readonly #bounds: readonly number[];
  /** By bound, and above the last one. */
  readonly #counts: number[];
  #sum = 0;

  constructor(labels: Record<string, string>, bounds: readonly number[]) {
    this.#labels = labels;
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > this.#bounds[at]!) at += 1;
    this.#counts[at]! += 1;
    this.#sum += value;
  }

  samples(name: string): Sample[] {
    const samples: Sample[] = [];
    let below = 0;
    for (let at = 0; at < this.#counts.length; at += 1) {
      below += this.#counts[at]!;
      const labels = { le: this.#bounds[at] ?? '+Inf', ...this.#labels };
      samples.push({ labels, value: below, metricName: `${name}_bucket` });
    }
    samples.push({ labels: this.#labels, value: this.#sum, metricName: `${name}_sum` });
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

function series(type: Series['type'], name: string, help: string, samples: () => Sample[]): Series {
  return { name, help, type, aggregator: 'sum', get: () => ({ name, help, type, values: samples() }) };
}
