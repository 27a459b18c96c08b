import type { Counter, Registry } from 'prom-client';
import {
  type CounterCell,
  counterSeries,
  gaugeSeries,
  type HistogramCell,
  histogramSeries,
  type Series,
  seriesCellsMax,
} from './series.ts';

/** What one finished request says to the metrics. Labels are bounded: never users, keys or request ids. */
export interface MeasuredRequest {
  endpoint: string;
  alias: string;
  /** `provider/model`, or null when none answered. */
  target: string | null;
  status: number;
  class: string;
  ms: number;
  firstTokenMs: number | null;
  inputTokens: number;
  outputTokens: number;
  costUsd: number | null;
}

export interface Metrics {
  finished(request: MeasuredRequest): void;
  /** A request got an error before anything was held for it. */
  refused(refusal: { endpoint: string; status: number; reason: string; limit: string }): void;
  /** A search engine was asked; `end` is `ok` or the class of its fault. */
  searched(engine: string, end: string): void;
  /** A number asked for at each scrape. */
  gauge(name: string, help: string, read: () => number): void;
  render(): Promise<{ contentType: string; text: string }>;
}

const secondsBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Culvert's Prometheus metrics, in a registry of their own: loaded with the first scrape, since a start needs none. */
export function createMetrics(): Metrics {
  const all: Series[] = [];
  const requests = counterSeries(all, 'culvert_requests_total', 'Finished requests.');
  const tokens = counterSeries(all, 'culvert_tokens_total', 'Tokens by direction.');
  const cost = counterSeries(all, 'culvert_cost_usd_total', 'Cost of answered requests with a known price.');
  const duration = histogramSeries(
    all,
    'culvert_request_duration_seconds',
    'From arrival to the end of the answer.',
    secondsBuckets,
  );
  const firstToken = histogramSeries(
    all,
    'culvert_first_token_seconds',
    'From dispatch to the first content.',
    secondsBuckets,
  );
  const refusals = counterSeries(all, 'culvert_refused_requests_total', 'Requests refused before they were run.');
  const searches = counterSeries(all, 'culvert_search_attempts_total', 'Questions to search engines.');
  let prometheus: Promise<typeof import('prom-client')> | null = null;
  let registry: Registry | null = null;
  let registered = 0;
  // Label lookups cost microseconds a request: the children of each combination are kept.
  const children = new Map<string, Children>();
  let last: { request: MeasuredRequest; children: Children } | null = null;

  /** Mostly the same labels as the request before. */
  function childrenOf(request: MeasuredRequest): Children {
    if (last === null || !sameLabels(last.request, request)) last = { request, children: findChildren(request) };
    return last.children;
  }

  function findChildren(request: MeasuredRequest): Children {
    const { endpoint, alias: model, status } = request;
    const target = request.target ?? '';
    const key = `${endpoint}\n${model}\n${target}\n${status}\n${request.class}`;
    let found = children.get(key);
    if (found === undefined) {
      if (children.size >= seriesCellsMax) children.clear();
      found = {
        requests: requests({ endpoint, model, target, status: String(status), class: request.class }),
        input: tokens({ model, target, direction: 'input' }),
        output: tokens({ model, target, direction: 'output' }),
        cost: cost({ model, target }),
        duration: duration({ endpoint, model }),
        firstToken: firstToken({ model, target }),
      };
      children.set(key, found);
    }
    return found;
  }

  return {
    finished(request) {
      const child = childrenOf(request);
      child.requests.total += 1;
      child.duration.observe(request.ms / 1_000);
      if (request.inputTokens > 0) child.input.total += request.inputTokens;
      if (request.outputTokens > 0) child.output.total += request.outputTokens;
      if (request.costUsd !== null && request.costUsd > 0) child.cost.total += request.costUsd;
      if (request.firstTokenMs !== null) child.firstToken.observe(request.firstTokenMs / 1_000);
    },
    refused({ endpoint, status, reason, limit }) {
      refusals({ endpoint, status: String(status), reason, limit }).total += 1;
    },
    searched(engine, end) {
      searches({ engine, class: end }).total += 1;
    },
    gauge: (name, help, read) => gaugeSeries(all, name, help, read),
    async render() {
      prometheus ??= import('prom-client');
      const { Registry, collectDefaultMetrics } = await prometheus;
      const first = registry === null;
      registry ??= new Registry();
      for (; registered < all.length; registered += 1) registry.registerMetric(all[registered] as unknown as Counter);
      // Its own collectors (event loop, GC) run from the first scrape on: unwatched, they would cost for nothing.
      if (first) collectDefaultMetrics({ register: registry });
      const text = await registry.metrics();
      return { contentType: registry.contentType, text: first ? withoutEventLoopLag(text) : text };
    },
  };
}

/** At the first scrape its histogram is empty, which reads as a lag of 292 years, or of NaN. */
function withoutEventLoopLag(text: string): string {
  return text.replace(/^.*\bnodejs_eventloop_lag_.*\n/gm, '');
}

function sameLabels(a: MeasuredRequest, b: MeasuredRequest): boolean {
  return (
    a.alias === b.alias &&
    a.target === b.target &&
    a.status === b.status &&
    a.class === b.class &&
    a.endpoint === b.endpoint
  );
}

interface Children {
  requests: CounterCell;
  input: CounterCell;
  output: CounterCell;
  cost: CounterCell;
  duration: HistogramCell;
  firstToken: HistogramCell;
}
