import type { Ddl } from './ddl.ts';

/** Closed statements. Not KEYED: one of many accounts has hundreds of kilobytes. */
export const statementDdl: Ddl = `
  CREATE TABLE @statement (
    month TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    closed_ms WHOLE NOT NULL,
    closed_by TEXT NOT NULL,
    -- JSON.
    body TEXT NOT NULL,
    PRIMARY KEY (month, time_zone)
  ) ROWS;`;
