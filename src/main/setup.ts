import type { AdminParts } from '../admin/parts.ts';
import type { Setup } from '../books/auth/setup.ts';
import { probeGet } from '../formats/providers/probe-get.ts';
import { probeLocalServers } from '../formats/providers/probe-local.ts';
import { sealed } from '../inference/sealed/sealed-columns.ts';
import { createSealedStep, type SealAgainParts } from '../stores/seal-again.ts';
import type { Secrets } from '../stores/storage-secrets.ts';

/** How long a change of a provider waits for its list of models. */
const providersListedMaxMs = 2_000;

/** The admin API's view of it; `look` updates this process from the store. */
export function adminSetup(parts: {
  setup: Setup;
  secrets: Secrets;
  env: Readonly<Record<string, string | undefined>>;
  look(): Promise<unknown>;
  stores: Pick<SealAgainParts, 'sealedTables'>;
  bucket: SealAgainParts['bucket'];
}): Pick<AdminParts, 'refresh' | 'setup' | 'sealedStep'> {
  const { setup, secrets, env, look, stores, bucket } = parts;
  return {
    async refresh() {
      await look();
      await setup.settled();
    },
    sealedStep: createSealedStep({ sealed, ...stores, secrets, bucket }),
    setup: {
      file: setup.file,
      env,
      report: setup.report,
      sealer: () => secrets.sealer('credentials'),
      secrets: { ...secrets, earlier: () => secrets.all().length - 1 },
      applied: () => setup.providersListed(providersListedMaxMs),
      found: async () => (setup.file().autodetect === 'off' ? null : probeLocalServers({ probeGet })),
    },
  };
}
