import type { Config } from '../config/schema.ts';
import { StartRefused } from '../processes/lifetime.ts';
import { type BucketParts, bucketOpener } from './buckets.ts';
import { checkMail } from './reports.ts';

/** Why a start would be refused although the configuration is valid: packages and keys that it lacks. Opens nothing. */
export function startRefusals(config: Config, parts: BucketParts): string[] {
  const { storage, telemetry } = config;
  const buckets: [url: string, field: string][] = [
    ...(storage.files === 'local' ? [] : [[storage.files, 'storage.files'] satisfies [string, string]]),
    ...telemetry.sinks.flatMap(({ name, s3 }): [string, string][] =>
      s3 === undefined ? [] : [[s3, `telemetry.sinks ${name}`]],
    ),
  ];
  const checks = [
    () => checkMail(config),
    ...buckets.map(
      ([url, field]) =>
        () =>
          bucketOpener(url, storage.s3, field, parts),
    ),
  ];
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      if (error instanceof StartRefused) return [error.message];
      throw error;
    }
  });
}
