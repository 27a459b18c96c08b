import type { LocalFingerprint } from './local-fingerprint.ts';
import { listedFingerprints } from './local-fingerprints-listed.ts';
import { mediaFingerprints } from './local-fingerprints-media.ts';
import { textFingerprints } from './local-fingerprints-text.ts';

/** Everything that is looked for on this machine, in the order in which it is told. */
export const localFingerprints: readonly LocalFingerprint[] = [
  ...textFingerprints,
  ...mediaFingerprints,
  ...listedFingerprints,
];
