import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type CounterCell, counterSeries, type HistogramCell, histogramSeries, seriesCellsMax } from './series.ts';

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
  /** A number asked for at each scrape. */
  gauge(name: string, help: string, read: () => number): void;
  render(): Promise<{ contentType: string; text: string }>;
}

const secondsBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Culvert's Prometheus metrics, in a registry of their own. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const requests = counterSeries(registry, 'culvert_requests_total', 'Finished requests.');
  const tokens = counterSeries(registry, 'culvert_tokens_total', 'Tokens by direction.');
  const cost = counterSeries(registry, 'culvert_cost_usd_total', 'Cost of answered requests with a known price.');
  const duration = histogramSeries(
    registry,
    'culvert_request_duration_seconds',
    'From arrival to the end of the answer.',
    secondsBuckets,
  );
  const firstToken = histogramSeries(
    registry,
    'culvert_first_token_seconds',
    'From dispatch to the first content.',
    secondsBuckets,
  );
  let defaults = false;
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
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(read());
        },
      });
    },
    async render() {
      // Its own collectors (event loop, GC) run from the first scrape on: unwatched, they would cost for nothing.
      const first = !defaults;
      if (first) collectDefaultMetrics({ register: registry });
      defaults = true;
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
