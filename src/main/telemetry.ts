import type { Config } from '../config/schema.ts';
import type { Traces } from '../kernel/trace.ts';
import type { Telemetry } from '../observe/otlp/telemetry.ts';
import type { GatewayOptions } from './gateway.ts';
import { StartRefused } from './stores.ts';

/** Nobody traces, so nothing is loaded. */
const off = { traces: null, close: async () => undefined };

/** How long the last spans may take to be sent, at least and at most. */
const flushMs = { least: 1_000, most: 5_000 };

/** OpenTelemetry, when the configuration or its own variables name a receiver. `close` takes the time left to drain. */
export async function startTelemetry(
  config: Config,
  options: Pick<GatewayOptions, 'env' | 'version' | 'log'>,
): Promise<{ traces: Traces | null; close(leftMs: number): Promise<void> }> {
  const { endpoint, traces, metrics } = config.telemetry.otlp;
  if ((endpoint === undefined && !isNamed(options.env)) || !(traces || metrics)) return off;
  const telemetry = await open(config, options);
  return {
    traces: telemetry.traces,
    close: (leftMs) => telemetry.close(Math.min(flushMs.most, Math.max(flushMs.least, leftMs))),
  };
}

async function open(
  { telemetry, storage }: Config,
  { version, log }: Pick<GatewayOptions, 'version' | 'log'>,
): Promise<Telemetry> {
  const { endpoint, headers, traces, metrics, sample } = telemetry.otlp;
  const { openTelemetry } = await import('../observe/otlp/telemetry.ts');
  try {
    return await openTelemetry({
      endpoint: endpoint ?? null,
      headers,
      traces,
      metrics,
      sample,
      version,
      database: storage.database === 'sqlite' ? 'sqlite' : 'postgresql',
      onTrouble: (message) => log.error(message),
      onBack: (message) => log.warn(message),
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StartRefused(
      'telemetry.otlp needs the packages of OpenTelemetry, which are not installed. Run npm ci without --omit=dev, or start the built package, which holds them.',
    );
  }
}

/** The variables that every OpenTelemetry SDK reads. */
function isNamed(env: GatewayOptions['env']): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  return names.some((name) => (env[name] ?? '') !== '');
}
