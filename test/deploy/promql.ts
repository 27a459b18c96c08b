import { parser } from '@prometheus-io/lezer-promql';

/** Metrics and labels of a query in PromQL. */
export interface Named {
  metric: string;
  /** Of its selector, and those by which it is grouped. */
  labels: readonly string[];
}

/** The metrics of a query with their labels, by Prometheus' own grammar. Throws when it cannot be read. */
export function namedIn(query: string): Named[] {
  const named: { metric: string; labels: string[]; at: number }[] = [];
  const groupings: { label: string; from: number; to: number }[] = [];
  parser.parse(query).iterate({
    enter({ type, from, to, node }) {
      const text = query.slice(from, to);
      if (type.isError) throw new Error(`not PromQL at ${from}: ${query}`);
      if (type.name === 'VectorSelector') named.push({ metric: '', labels: [], at: from });
      else if (type.name === 'Identifier') named.at(-1)!.metric = text;
      else if (type.name === 'LabelName' && node.parent?.name === 'GroupingLabels') {
        // `by (label)` of an aggregation: of everything that it adds up.
        const whole = node.parent.parent!.parent!;
        groupings.push({ label: text, from: whole.from, to: whole.to });
      } else if (type.name === 'LabelName') named.at(-1)!.labels.push(text);
    },
  });
  return named.map(({ metric, labels, at }) => {
    const grouped = groupings.filter(({ from, to }) => at >= from && at < to).map(({ label }) => label);
    return { metric, labels: [...labels, ...grouped] };
  });
}

/** Names of metrics in /metrics, with the labels of their series. */
export function exposed(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, metric, labels] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = found.get(metric!) ?? new Set();
    for (const [, label] of (labels ?? '').matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label!);
    found.set(metric!, known);
  }
  return found;
}
