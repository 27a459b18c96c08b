import type { Config } from '../config/schema.ts';
import type { Snapshot } from '../inference/pipeline/services.ts';

/** What commands need of rooms that only the composition root knows. */
export interface CliParts {
  version: string;
  /** Runs until a signal ends it; resolves to the exit code. */
  start(options: { config: string | undefined; host: string | undefined; port: number | undefined }): Promise<number>;
  mock(options: MockOptions): Promise<{ url: string; close(): Promise<void> }>;
  /** Every fault of `culvert mock` with a line. */
  mockHelp(): Promise<string>;
  /** What a start would serve, from the configuration and what the data folder remembers; nobody is asked. */
  snapshotOf(config: Config): Promise<{ snapshot: Snapshot; problems: readonly string[] }>;
}

export interface MockOptions {
  host: string;
  port: number;
  name: string;
  /** Told of every request once it has ended. */
  onEnded(request: MockedRequest): void;
}

export interface MockedRequest {
  method: string;
  path: string;
  aborted: boolean;
  bytesSent: number;
  ms: number;
}
