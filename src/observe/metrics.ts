import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What one finished request says to the metrics. Labels are bounded: never users, keys or request ids. */
export interface MeasuredRequest {
  endpoint: string;
  alias: string;
  /** `provider/model`, or '' when none answered. */
  target: string;
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
  const requests = new Counter({
    name: 'culvert_requests_total',
    help: 'Finished requests.',
    labelNames: ['endpoint', 'model', 'target', 'status', 'class'],
    registers: [registry],
  });
  const tokens = new Counter({
    name: 'culvert_tokens_total',
    help: 'Tokens by direction.',
    labelNames: ['model', 'target', 'direction'],
    registers: [registry],
  });
  const cost = new Counter({
    name: 'culvert_cost_usd_total',
    help: 'Cost of answered requests with a known price.',
    labelNames: ['model', 'target'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'culvert_request_duration_seconds',
    help: 'From arrival to the end of the answer.',
    labelNames: ['endpoint', 'model'],
    buckets: secondsBuckets,
    registers: [registry],
  });
  const firstToken = new Histogram({
    name: 'culvert_first_token_seconds',
    help: 'From dispatch to the first content.',
    labelNames: ['model', 'target'],
    buckets: secondsBuckets,
    registers: [registry],
  });
  let defaults = false;
  // Label lookups cost microseconds a request: the children of each combination are kept.
  const children = new Map<string, Children>();

  function childrenOf(request: MeasuredRequest): Children {
    const { endpoint, alias: model, target, status } = request;
    const key = `${endpoint}\n${model}\n${target}\n${status}\n${request.class}`;
    let found = children.get(key);
    if (found === undefined) {
      if (children.size >= 10_000) children.clear();
      found = {
        requests: requests.labels({ endpoint, model, target, status: String(status), class: request.class }),
        input: tokens.labels({ model, target, direction: 'input' }),
        output: tokens.labels({ model, target, direction: 'output' }),
        cost: cost.labels({ model, target }),
        duration: duration.labels({ endpoint, model }),
        firstToken: firstToken.labels({ model, target }),
      };
      children.set(key, found);
    }
    return found;
  }

  return {
    finished(request) {
      const child = childrenOf(request);
      child.requests.inc();
      child.duration.observe(request.ms / 1_000);
      if (request.inputTokens > 0) child.input.inc(request.inputTokens);
      if (request.outputTokens > 0) child.output.inc(request.outputTokens);
      if (request.costUsd !== null && request.costUsd > 0) child.cost.inc(request.costUsd);
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
      if (!defaults) collectDefaultMetrics({ register: registry });
      defaults = true;
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

interface Children {
  requests: Counter.Internal;
  input: Counter.Internal;
  output: Counter.Internal;
  cost: Counter.Internal;
  duration: Histogram.Internal<string>;
  firstToken: Histogram.Internal<string>;
}
