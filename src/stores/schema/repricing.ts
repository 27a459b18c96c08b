import { repricingSums } from '../../books/ledger/repricing.ts';
import type { Ddl } from './ddl.ts';

/** Changes by recalculations (ledger/repricing.ts). Kept for ever, as roll-ups are. */
export const repricingDdl: Ddl = `
  CREATE TABLE @repricing (
    at_ms WHOLE NOT NULL,
    hour WHOLE NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    alias TEXT NOT NULL,
    provider TEXT NOT NULL,
    ${repricingSums.map(({ name }) => `${name} WHOLE NOT NULL`).join(', ')},
    PRIMARY KEY (at_ms, hour, account, key_id, endpoint, alias, provider)
  ) KEYED;
  CREATE INDEX repricing_hour ON @repricing (hour);`;
