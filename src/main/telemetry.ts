import type { Config } from '../config/schema.ts';
import type { Traces } from '../kernel/trace.ts';
import type { Telemetry } from '../observe/otlp/telemetry.ts';
import { StartRefused } from '../processes/lifetime.ts';
import type { GatewayOptions } from './gateway-options.ts';

/** Nobody traces, so nothing is loaded. */
const off = { traces: null, close: async () => undefined };

/** How long the last spans may take to be sent, at least and at most. */
const flushMs = { least: 1_000, most: 5_000 };

type Env = GatewayOptions['env'];

/** OpenTelemetry, when the configuration or its own variables name a receiver. `close` takes the time left to drain. */
export async function startTelemetry(
  config: Config,
  options: Pick<GatewayOptions, 'env' | 'version' | 'log'>,
): Promise<{ traces: Traces | null; close(leftMs: number): Promise<void> }> {
  const { endpoint, traces, metrics } = config.telemetry.otlp;
  const isRequested = (signal: 'TRACES' | 'METRICS') =>
    endpoint !== undefined || (options.env[`OTEL_${signal}_EXPORTER`] !== 'none' && isNamed(signal, options));
  const receives = traces && isRequested('TRACES');
  const sends = receives || config.telemetry.loggers.length > 0;
  const signals = { receives, traces: sends, metrics: metrics && isRequested('METRICS') };
  if (!(signals.traces || signals.metrics)) return off;
  const protocol = options.env.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol !== undefined && protocol !== '' && protocol !== 'http/protobuf')
    options.log.warn(
      `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, but Culvert sends http/protobuf. Name a receiver of that, whose port is usually 4318`,
    );
  const telemetry = await open(config, options, signals);
  return {
    traces: telemetry.traces,
    close: (leftMs) => telemetry.close(Math.min(flushMs.most, Math.max(flushMs.least, leftMs))),
  };
}

async function open(
  { telemetry, storage }: Config,
  { version, log }: Pick<GatewayOptions, 'version' | 'log'>,
  signals: { receives: boolean; traces: boolean; metrics: boolean },
): Promise<Telemetry> {
  const { endpoint, headers, sample } = telemetry.otlp;
  const { openTelemetry } = await import('../observe/otlp/telemetry.ts');
  try {
    return await openTelemetry({
      ...{ endpoint: endpoint ?? null, headers, loggers: telemetry.loggers, sample, version },
      ...signals,
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

/** Whether variables that every OpenTelemetry SDK reads name a receiver of this signal. One that is no URL is none. */
function isNamed(signal: 'TRACES' | 'METRICS', { env, log }: { env: Env; log: GatewayOptions['log'] }): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  const names = [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, 'OTEL_EXPORTER_OTLP_ENDPOINT'];
  const [name, value = ''] =
    names.map((each) => [each, (env[each] ?? '').trim()]).find(([, text]) => text !== '') ?? [];
  if (name === undefined) return false;
  if (/^https?:\/\/./.test(value) && URL.canParse(value)) return true;
  log.error(
    `${name} is not a URL such as http://127.0.0.1:4318, so no ${signal.toLowerCase()} are sent by OpenTelemetry`,
  );
  return false;
}
